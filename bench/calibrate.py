"""Fit the figures by which relevance is judged, and show what they tell apart.

Each history's own questions are on topic, those of the other histories and those made up beside it are not. The
model is a logistic regression over what `contextpack.core.matching.evidence` reads; its figures are printed in the
form in which `contextpack/core/weights.py` keeps them. A part of the histories can be held out and is only judged.

    python -m bench.calibrate bench/data/garden.json … --off-topic bench/data/off_topic.json --hold-out clinic
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date
from pathlib import Path
from typing import Any, Final

import django
import numpy as np
from numpy.typing import NDArray

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex.settings")

ROUNDS: Final = 60
RIDGE: Final = 1e-2
THRESHOLDS: Final = (0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3)
ON, OTHERS, BESIDE = "on topic", "others", "given"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question asked of one history: the best that any memory shows of each feature."""

    history: str
    group: str
    features: tuple[float, ...]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.calibrate", description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, help="histories, or folders of them")
    parser.add_argument("--off-topic", nargs="*", type=Path, default=[], help="made-up questions, by history")
    parser.add_argument("--hold-out", nargs="*", default=[], help="names of histories that are only judged")
    parser.add_argument("--strangers", type=int, default=100, help="others' questions that each is asked")
    parser.add_argument(
        "--samples", type=Path, help="keep what was read here, and read it from here if it exists"
    )
    given = parser.parse_args()
    django.setup()
    if given.samples and given.samples.exists():
        samples = tuple(Sample(**row) for row in json.loads(given.samples.read_text()))
    else:
        samples = tuple(_gather(given.paths, given.off_topic, strangers=given.strangers))
        if given.samples:
            given.samples.write_text(json.dumps([asdict(sample) for sample in samples]))
    fitted_on = [sample for sample in samples if sample.history not in given.hold_out]
    weights = fit(fitted_on)
    _print_weights(weights)
    _print_shares("fitted on", fitted_on, weights)
    if held_out := [sample for sample in samples if sample.history in given.hold_out]:
        _print_shares("held out", held_out, weights)


def _gather(paths: Sequence[Path], off_topic: Sequence[Path], *, strangers: int) -> Iterator[Sample]:
    from contextpack.evaluation.loading import load
    from contextpack.evaluation.running import Options, evidence_of

    material = load(paths, off_topic=off_topic)
    options = Options(off_topic=material.off_topic, strangers=strangers)
    for history, group, features in evidence_of(material.histories, options, features=_features):
        yield Sample(history=history, group=group, features=features)


def _features(caller: Any, task: str, today: date) -> tuple[float, ...]:
    from django.utils import timezone

    from contextpack.core.matching import evidence
    from contextpack.retrieval import listen, newest_first, universe_of
    from memories.catalogue import catalogue_of
    from memories.models import Memory

    now = timezone.now().astimezone(UTC)
    catalogue = catalogue_of(caller.vault.pk)
    rows = newest_first(catalogue, Memory.objects.visible_to(caller).servable(now))
    universe = universe_of(caller, catalogue, rows, known_at=now)
    signals = listen(caller, task, universe=universe, today=today).signals
    best = evidence(universe.layout, signals).max(axis=0, initial=0.0).tolist()
    return (*best, float(signals.known_name), float(signals.unknown_name))


def fit(samples: Sequence[Sample]) -> Floats:
    """Return the weights of the features, then the intercept; every history and group weighs the same."""
    table = _table(samples)
    label = np.array([sample.group == ON for sample in samples], dtype=np.float64)
    share = np.array([1.0 / sum(_alike(one, other) for other in samples) for one in samples])
    share *= len(samples) / share.sum()
    weights = np.zeros(table.shape[1])
    for _ in range(ROUNDS):
        chance = 1.0 / (1.0 + np.exp(-table @ weights))
        slope = table.T @ (share * (label - chance)) - RIDGE * weights
        curve = (table.T * (share * chance * (1.0 - chance))) @ table + RIDGE * np.eye(len(weights))
        weights = weights + np.linalg.solve(curve, slope)
    return weights


def _alike(one: Sample, other: Sample) -> bool:
    return (one.history, one.group) == (other.history, other.group)


def _table(samples: Sequence[Sample]) -> Floats:
    return np.array([[*sample.features, 1.0] for sample in samples])


def _print_weights(weights: Floats) -> None:
    names = ("pair", "window", "lift", "known_name", "unknown_name", "intercept")
    print("Calibration(" + ", ".join(f"{name}={w:.2f}" for name, w in zip(names, weights, strict=True)) + ")")


def _print_shares(title: str, samples: Sequence[Sample], weights: Floats) -> None:
    chances = 1.0 / (1.0 + np.exp(-_table(samples) @ weights))
    print(f"\n{title}: share marked weak where the threshold is")
    print(f"{'':36}{'n':>5}" + "".join(f"{threshold:>7}" for threshold in THRESHOLDS) + f"{'AUC':>8}")
    for history in ("all", *dict.fromkeys(sample.history for sample in samples)):
        mine = [history in {"all", sample.history} for sample in samples]
        asked = {
            group: chances[[own and sample.group == group for own, sample in zip(mine, samples, strict=True)]]
            for group in (ON, OTHERS, BESIDE)
        }
        for group, values in asked.items():
            if len(values):
                shares = "".join(f"{(values < threshold).mean():7.3f}" for threshold in THRESHOLDS)
                area = "" if group == ON else f"{_auc(asked[ON], values):8.3f}"
                print(f"{history[:14]:14}  {group:20}{len(values):5}{shares}{area}")


def _auc(on: Floats, off: Floats) -> float:
    above = on[:, np.newaxis] > off
    level = on[:, np.newaxis] == off
    return float((above + 0.5 * level).mean())


if __name__ == "__main__":
    main()
