"""`make conformance`: the suite of the Model Context Protocol against a live server, and what it may not like.

    python -m tests.outside.conformance node_modules

Ends with 1 where a check fails that `expected.toml` does not name, or passes that it names; with 2 where nothing ran.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from contextpack.demo.server import HOST, Server, end_on_terminate, throwaway_server

REVISIONS: Final = ("2025-11-25", "2026-07-28")
EXPECTED: Final = Path(__file__).with_name("expected.toml")
OLDEST_NODE: Final = 22
LIMIT_SECONDS: Final = 300

_HOPS: Final = {"connection", "keep-alive", "transfer-encoding", "content-length"}
_STAMP: Final = re.compile(r"^server-(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    revision: str
    scenario: str
    name: str
    status: str  # SUCCESS, FAILURE, WARNING, SKIPPED or INFO
    message: str


def main(modules: Path) -> int:
    if trouble := _trouble(modules):
        sys.stdout.write(f"conformance: {trouble}\n")
        return 2
    end_on_terminate()
    with throwaway_server(settings={"CORTEX_THROTTLE": ""}) as server, _with_its_token(server) as url:
        checks = [check for revision in REVISIONS for check in _run(modules, url, revision)]
    return _report(checks, _expected())


def _trouble(modules: Path) -> str | None:
    node = shutil.which("node")
    if node is None:
        return "node is not here"
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(told.strip().lstrip("v").partition(".")[0]) < OLDEST_NODE:
        return f"the suite needs node {OLDEST_NODE}, and this is {told.strip()}"
    return None if _suite(modules).exists() else f"{_suite(modules)} is not there"


def _suite(modules: Path) -> Path:
    return modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


def _run(modules: Path, url: str, revision: str) -> Iterator[Check]:
    """Run what a revision requires; the suite writes a file for each scenario, whose name ends in the time."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--url", url, "--requirements", revision, "--output-dir", folder]
        subprocess.run(
            ["node", str(_suite(modules)), "server", *options],
            capture_output=True,
            timeout=LIMIT_SECONDS,
            check=False,  # it ends with 1 where anything failed, expected or not
        )
        for file in sorted(Path(folder).glob("*/checks.json")):
            named = _STAMP.match(file.parent.name)
            for check in json.loads(file.read_text()):
                yield Check(
                    revision=revision,
                    scenario=named.group(1) if named else file.parent.name,
                    name=check["id"],
                    status=check["status"],
                    message=check.get("errorMessage") or "",
                )


def _report(checks: Sequence[Check], expected: Mapping[str, str]) -> int:
    """Print a table of the scenarios and what was not expected, and return the exit code."""
    if not checks:
        sys.stdout.write("conformance: the suite ran nothing\n")
        return 2
    rows = Counter((check.revision, check.scenario, _verdict(check, expected)) for check in checks)
    for revision, scenario in sorted({(check.revision, check.scenario) for check in checks}):
        counts = {word: rows[revision, scenario, word] for word in ("passed", "expected", "FAILED")}
        told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        sys.stdout.write(f"{revision}  {scenario:46} {told or 'nothing to check'}\n")
    failed = [check for check in checks if _verdict(check, expected) == "FAILED"]
    for check in failed:
        sys.stdout.write(f"FAILED   {check.revision} {check.scenario} {check.name}: {check.message[:200]}\n")
    failing = {check.name for check in checks if check.status == "FAILURE"}
    stale = [pattern for pattern in expected if not any(fnmatchcase(name, pattern) for name in failing)]
    for pattern in stale:
        sys.stdout.write(f"PASSES   {pattern}: take it off {EXPECTED.name}\n")
    totals = Counter(_verdict(check, expected) for check in checks)
    sys.stdout.write(
        f"{totals['passed']} passed, {totals['expected']} expected failures, {len(failed)} others\n"
    )
    return 1 if failed or stale else 0


def _verdict(check: Check, expected: Mapping[str, str]) -> str:
    if check.status == "FAILURE":
        return "expected" if any(fnmatchcase(check.name, pattern) for pattern in expected) else "FAILED"
    return "passed" if check.status == "SUCCESS" else "noted"


def _expected() -> dict[str, str]:
    """Return the checks that may fail, each with its reason."""
    groups = tomllib.loads(EXPECTED.read_text())["expected"]
    return {check: group["reason"] for group in groups for check in group["checks"]}


@contextmanager
def _with_its_token(server: Server) -> Iterator[str]:
    """Serve /mcp to callers without a token, since the suite has no way to send one; all else travels as it came."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOPS}
            headers["Authorization"] = f"Bearer {server.token}"
            there = HTTPConnection(HOST, server.port)
            there.request(self.command, self.path, self.rfile.read(length) if length else None, headers)
            answer = there.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _HOPS:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            there.close()

        do_GET = do_POST = do_DELETE = do_OPTIONS = _pass_on

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the suite tells."""

    proxy = ThreadingHTTPServer((HOST, 0), Handler)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{proxy.server_port}/mcp"
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
