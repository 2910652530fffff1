"""The same requests within this process: how many statements each route makes, and where its time goes.

Django is set up on the database of the running throw-away server; import nothing of the product before that.
"""

import cProfile
import importlib
import io
import json
import os
import pstats
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from contextpack.demo.client import ServerTrouble
from contextpack.demo.server import throwaway_settings

# (stage, module, name there); an indented stage is part of the one above it.
STAGES: Final = (
    ("authenticate", "memories.access", "caller_for"),
    ("gather", "contextpack.answering", "gather_candidates"),
    ("  catalogue", "contextpack.retrieval", "catalogue_of"),
    ("  eligible rows", "contextpack.retrieval", "newest_first"),
    ("  heads of chains", "contextpack.retrieval", "universe_of"),
    ("  rank", "contextpack.retrieval", "rank"),
    ("    lexical", "contextpack.retrieval", "fulltext.score_terms"),
    ("    vector", "contextpack.retrieval", "vectors.compare"),
    ("    names", "contextpack.retrieval", "naming.mentioned"),
    ("  fetch", "contextpack.retrieval", "load_candidates"),
    ("  count what waits", "contextpack.retrieval", "_waiting"),
    ("assemble", "contextpack.answering", "assemble"),
    ("  fold", "contextpack.core.assembly", "fold_claims"),
    ("  pack", "contextpack.core.assembly", "_pack"),
    ("record", "contextpack.answering", "_record"),
    ("  delta", "contextpack.answering", "advance"),
    ("render", "contextpack.answering", "render"),
)
TOTAL: Final = "whole request"

Send = Callable[..., None]


def enter(folder: Path, settings: Mapping[str, str]) -> None:
    """Set Django up in this process, on the database in a folder."""
    chosen = throwaway_settings(folder, settings)
    os.environ.clear()
    os.environ.update(chosen, DJANGO_SETTINGS_MODULE="cortex.settings")
    importlib.import_module("django").setup()


def caller(token: str) -> Send:
    """Return what sends one request through the whole stack, without a socket."""
    from django.test import Client

    client = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {token}"})

    def send(method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        response = client.generic(method, path, content, content_type="application/json")
        if response.status_code >= 400:
            raise ServerTrouble(
                f"{method} {path} answered {response.status_code}: {response.content[:300]!r}"
            )

    return send


Route = tuple[str, str, Mapping[str, Any] | None]


def count_statements(send: Send, routes: Mapping[str, Route]) -> dict[str, int]:
    """Return how many SQL statements each route makes once caches are warm.

    Args:
        routes: name → method, path, body.
    """
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = {}
    for name, (method, path, body) in routes.items():
        send(method, path, body)
        with CaptureQueriesContext(connection) as captured:
            send(method, path, body)
        counts[name] = len(captured)
    return counts


def stage_times(send: Send, bodies: list[dict[str, Any]]) -> dict[str, float]:
    """Return the mean milliseconds of each stage of `POST /v1/context`; a stage that is not found is left out."""
    spent: defaultdict[str, float] = defaultdict(float)
    restore = [_watch(stage, module, name, spent) for stage, module, name in STAGES]
    try:
        for number, body in enumerate((bodies[0], *bodies)):
            if number == 1:
                spent.clear()  # the first call fills caches
            started = time.perf_counter()
            send("POST", "/v1/context", body)
            spent[TOTAL] += time.perf_counter() - started
    finally:
        for undo in restore:
            undo()
    order = [*(stage for stage, _, _ in STAGES), TOTAL]
    return {stage: round(spent[stage] * 1_000 / len(bodies), 3) for stage in order if stage in spent}


def hottest(send: Send, bodies: list[dict[str, Any]], *, lines: int = 30) -> str:
    """Return the functions in which `POST /v1/context` spends most time of their own."""
    profile = cProfile.Profile()
    profile.enable()
    for body in bodies:
        send("POST", "/v1/context", body)
    profile.disable()
    told = io.StringIO()
    pstats.Stats(profile, stream=told).sort_stats("tottime").print_stats(lines)
    return told.getvalue()


def _watch(stage: str, module: str, name: str, spent: defaultdict[str, float]) -> Callable[[], None]:
    """Put a stop-watch around one function where it is looked up; return what takes it off again."""
    *path, last = name.split(".")
    owner: Any = importlib.import_module(module)
    for part in path:
        owner = getattr(owner, part)
    original = getattr(owner, last, None)
    if original is None:
        return lambda: None

    def timed(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            spent[stage] += time.perf_counter() - started

    setattr(owner, last, timed)
    return lambda: setattr(owner, last, original)
