"""Whether the process lives, and whether it can serve; open without a token, free of anybody's data."""

from collections.abc import Callable, Mapping
from typing import Final

from django.apps import apps
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from memories.proposing import backlog as captures
from memories.proposing.chat import active_model
from memories.proposing.worker import worker as extractor
from memories.search import backlog, embedding, fulltext
from memories.search.worker import worker

OK: Final = "ok"
_TOLD_ONLY: Final = frozenset({"embedder"})  # no reason to send requests elsewhere
_PENDING: Final = "pending_vectors"
_WAITING: Final = "waiting_captures"
_PENDING_SECONDS: Final = 5  # anybody may ask, and counting takes time
_COUNTING_SECONDS: Final = 0.1  # of very many vaults some are left out


def healthz(request: HttpRequest) -> JsonResponse:
    """The process lives; no database is asked, so a database that is down restarts nothing."""
    return JsonResponse({"status": OK})


def readyz(request: HttpRequest) -> JsonResponse:
    """Every part that an answer needs, each with its state; 503 where one is not there."""
    parts = {name: _state(check) for name, check in _CHECKS.items()}
    ready = all(state == OK for name, state in parts.items() if name not in _TOLD_ONLY)
    pending = pending_vectors() if ready else None
    told = {
        **parts,
        "vectors": _vectors(pending),
        "pending_vectors": pending,
        "extraction": _extraction(ready),
    }
    return JsonResponse({"status": OK if ready else "unavailable", **told}, status=200 if ready else 503)


def _state(check: Callable[[], str]) -> str:
    try:
        return check()
    except DatabaseError as error:
        return f"failed: {type(error).__name__}"


def _database() -> str:
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))
    missing = sorted({model._meta.db_table for model in apps.get_models(include_auto_created=True)} - there)
    return f"without {', '.join(missing)}" if missing else OK


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    graph, ours = executor.loader.graph, executor.loader.migrated_apps
    if waiting := executor.migration_plan(graph.leaf_nodes()):
        return f"{len(waiting)} to apply"
    newer = [key for key in executor.loader.applied_migrations if key[0] in ours and key not in graph.nodes]
    return f"{len(newer)} of a newer version" if newer else OK


def _indexes() -> str:
    fulltext.check()
    return OK


def _embedder() -> str:
    active = embedding.active_embedder()
    return active.name if active else "none"


def pending_vectors() -> int | None:
    """Return how many memories of all vaults wait for a vector, counted moments ago; None where nobody knows."""
    return cache.get_or_set(_PENDING, _counted, _PENDING_SECONDS)


def _counted() -> int | None:
    try:
        return backlog.count_everywhere(seconds=_COUNTING_SECONDS)
    except DatabaseError:
        return None


def _vectors(pending: int | None) -> str:
    """Say whether all is searchable by meaning; what waits for its vector is found by its words meanwhile."""
    if pending is None:
        return "unknown"
    if not pending:
        return OK
    return f"waiting: {worker.trouble}" if worker.trouble else "indexing"


def _extraction(ready: bool) -> str:
    """Say whether a language model reads captures, and how many wait for it; they are served as rules read them."""
    if active_model() is None:
        return "off"
    try:
        count = cache.get_or_set(_WAITING, _captures_counted, _PENDING_SECONDS) if ready else None
    except DatabaseError:
        count = None
    if not count:
        return "unknown" if count is None else OK
    return f"{count} waiting" + (f": {extractor.trouble}" if extractor.trouble else "")


def _captures_counted() -> int:
    return captures.count_everywhere(seconds=_COUNTING_SECONDS)


_CHECKS: Final[Mapping[str, Callable[[], str]]] = {
    "database": _database,
    "migrations": _migrations,
    "indexes": _indexes,
    "embedder": _embedder,
}
