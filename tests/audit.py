"""Is a pinned package known to be unsafe? `python -m tests.audit requirements/dev.lock` asks PyPI's list of advisories.

It fails where one is. Where nobody can be asked it says so, and fails nothing: the check runs on trains, too.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

SECONDS: Final = 60
SOCKET_SECONDS: Final = 5

Report = Mapping[str, Any]


def ask(lock: Path) -> Report | None:
    """Return what the auditor found; None where it reached nobody."""
    command = [
        str(Path(sys.executable).with_name("pip-audit")), "--requirement", str(lock), "--no-deps", "--disable-pip",
        "--format", "json", "--progress-spinner", "off", "--timeout", str(SOCKET_SECONDS),
    ]  # fmt: skip
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        told: Report = json.loads(ended.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None
    return told


def verdict(report: Report | None) -> tuple[int, Sequence[str]]:
    """Return the exit code and the lines that give its reasons."""
    if report is None:
        return 0, ["Advisories: SKIPPED, nobody could be asked about them"]
    packages = report["dependencies"]
    asked = [package for package in packages if "skip_reason" not in package]
    if not asked:
        return 0, ["Advisories: SKIPPED, whoever answered knows none of our packages"]
    found = [
        f"  {package['name']} {package['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'none'}"
        for package in asked
        for flaw in package["vulns"]
    ]
    unknown = f", {len(packages) - len(asked)} unknown" if len(asked) < len(packages) else ""
    told = f"Advisories: {len(asked)} packages asked about{unknown}, {len(found)} found"
    return min(1, len(found)), [told, *found]


def main(arguments: list[str]) -> int:
    code, lines = verdict(ask(Path(arguments[0])))
    sys.stdout.write("\n".join(lines) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
