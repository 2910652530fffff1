"""Run the measurements, print them, and keep them as JSON."""

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import corpus, inside, sessions
from bench.timing import Timings, interleave
from contextpack.demo.client import Client, Reply, ServerTrouble
from contextpack.demo.server import SOURCE_DIR, Server, end_on_terminate, throwaway_server
from cortex_client import CortexError

WORKERS: Final = 2  # as `make serve`
BULK_SIZE: Final = 500
SINGLE_WRITES: Final = 100
WARM_UP: Final = 10
TURNS_OF_A_SESSION: Final = 10
PROFILED: Final = 40
TARGET_RATIO: Final = 8.0
INDEX_LIMIT_SECONDS: Final = 600.0

# A token of its own, counted for one second only: what is measured is the server, not its limit.
SETTINGS: Final = {"CORTEX_THROTTLE": "100000/s"}
# The cheapest answer that needs a token: authentication, one indexed statement, an empty page.
EMPTY: Final = "/v1/sessions?limit=1"
CONTEXT: Final = {"format": "smp", "model": "claude", "token_budget": 3_000}
OUTPUT: Final = SOURCE_DIR / "var" / "bench.json"
HEADLINE: Final = "context, content words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    memories: int
    rounds: int
    profile: bool
    output: Path


def main() -> int:
    options = _options()
    end_on_terminate()
    try:
        with throwaway_server(workers=WORKERS, settings=SETTINGS) as server:
            figures = _measure(server, options)
        figures["sessions"] = _sessions()
    except (ServerTrouble, CortexError) as trouble:
        print(f"bench: {trouble}", file=sys.stderr)
        return 1
    _keep(figures, options.output)
    return 0


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000, help="in the vault (default: 1,000)")
    parser.add_argument("--rounds", type=int, default=200, help="of interleaved calls (default: 200)")
    parser.add_argument("--profile", action="store_true", help="also show where one request spends its time")
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"default: {OUTPUT}")
    given = parser.parse_args()
    if given.memories < 1 or given.rounds < 2:
        parser.error("at least 1 memory and 2 rounds are needed")
    return Options(memories=given.memories, rounds=given.rounds, profile=given.profile, output=given.output)


def _measure(server: Server, options: Options) -> dict[str, Any]:
    client = server.client()
    figures: dict[str, Any] = {
        "memories": options.memories,
        "rounds": options.rounds,
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "empty_request": f"GET {EMPTY}",
        "context_request": CONTEXT,
        "seconds_to_ready": round(server.seconds_to_ready, 2),
    }
    figures["writes"] = _write(client, options.memories)
    _print_writes(figures)
    timings = _latency(client, options.rounds)
    empty = timings["empty"].p50
    figures["latency"] = {
        name: {**timed.as_json(), "ratio": round(timed.p50 / empty, 2)} for name, timed in timings.items()
    }
    _print_latency(timings)
    some_ref = client.get("/v1/memories", limit=1).json()["results"][0]["ref"]
    client.close()
    inside.enter(server.folder, SETTINGS)
    send = inside.caller(server.token)
    figures["statements"] = inside.count_statements(send, _routes(some_ref))
    _print_statements(figures["statements"])
    if options.profile:
        figures["stages_ms"] = _profile(send)
    return figures


# -- Writing -------------------------------------------------------------------------------------


def _write(client: Client, count: int) -> dict[str, float]:
    bodies = corpus.memories(count + SINGLE_WRITES)
    started = time.perf_counter()
    for portion in corpus.in_portions(bodies[:count], BULK_SIZE):
        results = client.post("/v1/memories/bulk", {"memories": portion}).json()["results"]
        refused = [result for result in results if result["status"] >= 400]
        if refused:
            raise ServerTrouble(f"{len(refused)} memories were refused, the first with {refused[0]}")
    bulk = time.perf_counter() - started
    _wait_for_index(client)
    indexed = time.perf_counter() - started
    started = time.perf_counter()
    for body in bodies[count:]:
        client.post("/v1/memories", body, expect=None)
    single = time.perf_counter() - started
    return {
        "bulk_per_second": round(count / bulk, 1),
        "searchable_per_second": round(count / indexed, 1),
        "single_per_second": round(SINGLE_WRITES / single, 1),
    }


def _wait_for_index(client: Client) -> None:
    started = time.monotonic()
    while client.get("/v1/stats").json()["pending_vectors"]:
        if time.monotonic() - started > INDEX_LIMIT_SECONDS:
            raise ServerTrouble("the vectors were not all there after ten minutes")
        time.sleep(0.1)


# -- Reading -------------------------------------------------------------------------------------


def _latency(client: Client, rounds: int) -> dict[str, Timings]:
    total = rounds + WARM_UP
    content, common = corpus.content_questions(total), corpus.common_questions(total)

    def ask(task: str, **more: Any) -> Reply:
        return client.post("/v1/context", {**CONTEXT, "task": task, **more})

    calls = {
        "empty": lambda number: client.get(EMPTY),
        HEADLINE: lambda number: ask(content[number]),
        "context, common words": lambda number: ask(common[number]),
        "context, content words, session": lambda number: ask(
            content[number], session_id=f"bench-{number // TURNS_OF_A_SESSION}"
        ),
        "context, common words, session": lambda number: ask(
            common[number], session_id=f"bench-common-{number // TURNS_OF_A_SESSION}"
        ),
        "query, content words": lambda number: client.post("/v1/query", {"find": content[number]}),
    }
    return interleave(calls, rounds=rounds, warm_up=WARM_UP)


def _routes(ref: str) -> dict[str, inside.Route]:
    task = corpus.content_questions(1)[0]
    return {
        "GET /v1/sessions": ("GET", EMPTY, None),
        "GET /v1/memories/{ref}": ("GET", f"/v1/memories/{ref}", None),
        "GET /v1/memories": ("GET", "/v1/memories?limit=50", None),
        "POST /v1/context": ("POST", "/v1/context", {**CONTEXT, "task": task}),
        "POST /v1/context, session": (
            "POST",
            "/v1/context",
            {**CONTEXT, "task": task, "session_id": "counted"},
        ),
        "POST /v1/query": ("POST", "/v1/query", {"find": task}),
        "GET /v1/expand, neighbors": ("GET", f"/v1/expand?ref={ref}&direction=neighbors", None),
        "GET /v1/stats": ("GET", "/v1/stats", None),
    }


def _profile(send: inside.Send) -> dict[str, dict[str, float]]:
    plain = [{**CONTEXT, "task": task} for task in corpus.content_questions(PROFILED)]
    common = [{**CONTEXT, "task": task} for task in corpus.common_questions(PROFILED)]
    session = [
        {**body, "session_id": f"profile-{number // TURNS_OF_A_SESSION}"} for number, body in enumerate(plain)
    ]
    stages = {
        "content words": inside.stage_times(send, plain),
        "common words": inside.stage_times(send, common),
        "content words, session": inside.stage_times(send, session),
    }
    _print_stages(stages)
    print(inside.hottest(send, plain))
    return stages


def _sessions() -> list[dict[str, Any]]:
    costs = sessions.measure([sessions.DATA])
    sessions.show(costs, turns=sessions.TURNS, budget=sessions.BUDGET)
    return [cost.as_json() for cost in costs]


# -- Telling -------------------------------------------------------------------------------------


def _print_writes(figures: dict[str, Any]) -> None:
    writes = figures["writes"]
    print(
        f"{figures['memories']:,} memories in one vault; Python {figures['python']}, {figures['cpus']} CPUs\n"
    )
    print(f"written in bulk      {writes['bulk_per_second']:>9,.0f} a second")
    print(f"  until searchable   {writes['searchable_per_second']:>9,.0f} a second")
    print(f"written one by one   {writes['single_per_second']:>9,.0f} a second\n")


def _print_latency(timings: dict[str, Timings]) -> None:
    empty = timings["empty"].p50
    print(f"one client, connection kept alive; empty = GET {EMPTY}")
    print(f"{'':34}{'p50 ms':>9}{'p95 ms':>9}{'ratio':>8}{'bytes':>9}")
    for name, timed in timings.items():
        told = timed.as_json()
        print(f"{name:34}{timed.p50:9.2f}{timed.p95:9.2f}{timed.p50 / empty:8.1f}{told['bytes']:9,.0f}")
    ratio = timings[HEADLINE].p50 / empty
    verdict = "within" if ratio <= TARGET_RATIO else "OVER"
    print(f"p50({HEADLINE}) / p50(empty) = {ratio:.1f}, {verdict} the target of {TARGET_RATIO:.0f}\n")


def _print_statements(counts: dict[str, int]) -> None:
    print("SQL statements")
    for name, count in counts.items():
        print(f"  {name:32}{count:4d}")
    print()


def _print_stages(stages: dict[str, dict[str, float]]) -> None:
    print("milliseconds within one process, mean")
    print(f"{'':24}" + "".join(f"{name:>24}" for name in stages))
    for stage in next(iter(stages.values())):
        print(f"{stage:24}" + "".join(f"{times.get(stage, 0.0):24.2f}" for times in stages.values()))
    print()


def _keep(figures: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"kept in {path}")


if __name__ == "__main__":
    sys.exit(main())
