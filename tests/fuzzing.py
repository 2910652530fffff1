"""Requests that nobody wrote: `python -m tests.fuzzing SECONDS [SEED]` sends what the OpenAPI document allows and what it does not.

A live server with two workers answers schemathesis: values at the edges, values at random, and chains of calls whose
answers feed the next. Nothing may be a 5xx, have a status or a form that the document does not name, pass without a token, or
be there after its deletion.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from contextpack.demo.server import SOURCE_DIR, Server, throwaway_server

CHECKS: Final = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "ignored_auth", "use_after_free",
)  # fmt: skip
SETTINGS: Final = {"CORTEX_THROTTLE": ""}
TEXTS: Final = (
    "Zebulon keeps the ledger",
    "Zebulon's limit is 60 a minute",
    "Zebulon's limit is 600 a minute",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of a run."""

    report: Mapping[str, Any]
    told: str  # by the fuzzer, for people

    @property
    def requests(self) -> int:
        return int(self.report["test_cases"]["generated"])

    @property
    def failures(self) -> Sequence[Mapping[str, Any]]:
        return list(self.report["failures"])

    @property
    def faults(self) -> Sequence[str]:
        """What is wrong with the server, or with what the fuzzer could make of its document."""
        unmade = [str(error["title"]) for error in self.report["errors"]]
        return [f"{found['title']}: {', '.join(found['operations'])}" for found in self.failures] + unmade

    @property
    def operations(self) -> tuple[int, int]:
        """How many operations were asked, and how many there are."""
        counted = self.report["operations"]
        return int(counted["tested"]), int(counted["total"])


def fuzz(
    server: Server, *, seed: int, bound: Mapping[str, int], phases: str = "examples,coverage,fuzzing,stateful"
) -> Run:
    """Send requests.

    Args:
        bound: when to end, as the fuzzer's own options: `max-time` in seconds, `max-examples` for each operation.
    """
    client = server.client()
    for text in TEXTS:
        client.post("/v1/memories", {"content": text, "entities": ["Zebulon"]}, expect=201)
    client.close()
    report = server.folder / "fuzzing.json"
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/v1/schema",
        "--header", f"Authorization: Bearer {server.token}", "--checks", ",".join(CHECKS), "--phases", phases,
        "--seed", str(seed), "--continue-on-failure", "--no-shrink", "--warnings", "off",
        "--suppress-health-check", "all", "--report", "json", "--report-json-path", str(report), "--no-color",
        "--output-truncate", "true", "--request-timeout", "30",
        *(f"--{name}={value}" for name, value in bound.items()),
    ]  # fmt: skip
    hooks = {"SCHEMATHESIS_HOOKS": "tests.fuzzing_hooks", "PYTHONPATH": str(SOURCE_DIR)}
    ended = subprocess.run(
        command,
        env={**os.environ, **hooks},
        capture_output=True,
        text=True,
        timeout=bound.get("max-time", 0) + 240,
        check=False,
        cwd=server.folder,
    )
    if not report.exists():
        raise RuntimeError(f"the fuzzer gave no report: {ended.stderr[-500:]}{ended.stdout[-500:]}")
    return Run(report=json.loads(report.read_text()), told=ended.stdout)


def main(arguments: list[str]) -> int:
    seconds, seed = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1
    with throwaway_server(workers=2, settings=SETTINGS) as server:
        run = fuzz(server, seed=seed, bound={"max-time": seconds})
    asked, of = run.operations
    if run.faults:
        sys.stdout.write(run.told + "\n")
    sys.stdout.write(
        f"{run.requests:,} requests to {asked} of {of} operations, seed {seed}: {len(run.faults)} kinds of fault\n"
    )
    return 1 if run.faults or asked < of else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
