"""How well each memory of a layout answers a task: channels, their weighted sum, and an absolute strength.

The sum ranks, within one task; the strength judges, on one scale for every task. Both are pure arithmetic over
arrays; what the arrays hold is read in `contextpack/retrieval.py`, what they weigh stands in `weights.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from contextpack.core.threads import Floats, Layout, best_in_thread, best_nearby, mean_of_nearest
from contextpack.core.weights import (
    CALIBRATIONS,
    CHANNEL_WEIGHTS,
    HOP_FROM,
    HOP_STANDING,
    HOP_WEIGHT,
    LEAST_BEST_LIFT,
    MEANING_TRUST,
    NEAREST_IN_THREAD,
    PAIR,
    SMALL_VAULT,
    SMALL_VAULT_BASELINE,
    WEIGHTS_WITHOUT_MEANING,
    WINDOW,
    WORDS_ALONE,
    Calibration,
)

DIGITS: Final = 6
_ADDING: Final = ("pair", "window", "thread", "meaning", "thread_meaning")  # scaled to 1 by their best hit
_MEANING: Final = frozenset({"meaning", "thread_meaning"})
_MODIFYING: Final = ("time", "question")  # they move a match and make none


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What the searches say of each row of a layout; all in the layout's order."""

    gains: Floats  # rows × terms: each term's share of a BM25 score
    weights: Floats  # of the terms: what part of a whole match each is
    date_terms: NDArray[np.bool_]  # which terms belong to a time that the task names
    lift: Floats | None  # similarity above the baseline, 0 and more; None where meaning is not searched
    person: Floats  # 1: said by or about the one person whom the task names
    named: Floats  # 0..1: share of what the task names otherwise
    date: Floats  # 0..1: closeness to the time that the task names
    time: Floats  # 1: tells a time, and the task asks when
    question: Floats  # 1: asks
    model: str  # whose vectors the lift is measured by; "" for none
    known_name: bool  # the task names somebody or something that the vault knows
    unknown_name: bool  # ... that it has never heard of


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Each row's place among the answers, in the layout's order."""

    scores: Floats  # to be compared within one task
    strengths: Floats  # 0..1, to be compared between tasks
    channels: Mapping[str, Floats]  # 0..1 each; what the score is made of
    found: NDArray[np.bool_]  # whether any channel speaks for the row at all


def trust_in(model: str) -> float:
    """Return how much the likeness counts that a model of this name finds."""
    return next((trust for name, trust in MEANING_TRUST.items() if model.startswith(name)), 1.0)


def lift_over_baseline(cosines: Floats) -> Floats:
    """Return by how much similarities exceed what any memory has in common with the task: the median."""
    if not len(cosines):
        return cosines
    median = float(np.median(cosines))
    baseline = median if len(cosines) >= SMALL_VAULT else min(median, SMALL_VAULT_BASELINE)
    lifts: Floats = (cosines - baseline).clip(min=0.0)
    return lifts


def match_rows(layout: Layout, signals: Signals) -> Matching:
    """Rank and judge the rows of a layout.

    Source: the channels and their weights follow published experiments on long conversations; docs/wire.md says
    what `relevance` promises.
    """
    near, wide = _nearby(layout, signals)
    channels = {
        "pair": near.sum(axis=1),
        "window": wide.sum(axis=1),
        "thread": best_in_thread(layout, signals.gains).sum(axis=1),
        "person": signals.person,
        "named": signals.named,
        "date": signals.date,
        "time": signals.time,
        "question": signals.question,
    }
    weights = WEIGHTS_WITHOUT_MEANING
    if signals.lift is not None:
        weights = CHANNEL_WEIGHTS
        channels["meaning"] = signals.lift
        channels["thread_meaning"] = mean_of_nearest(layout, signals.lift, count=NEAREST_IN_THREAD)
    scaled = {name: _scaled(values, name) for name, values in channels.items()}
    score = np.zeros(len(layout))
    for name, values in scaled.items():
        trust = trust_in(signals.model) if name in _MEANING else 1.0
        score += trust * weights[name] * values
    return Matching(
        scores=score.round(DIGITS),
        strengths=strengths_of(
            _evidence(near, wide, signals),
            model=signals.model,
            known_name=signals.known_name,
            unknown_name=signals.unknown_name,
        ).round(DIGITS),
        channels=scaled,
        found=_any_of(scaled, len(layout)),
    )


def _scaled(values: Floats, name: str) -> Floats:
    if name not in _ADDING or not len(values):
        return values
    best = float(values.max())
    if name in _MEANING:
        best = max(best, LEAST_BEST_LIFT)
    return values / best if best > 0 else values


def _any_of(channels: Mapping[str, Floats], size: int) -> NDArray[np.bool_]:
    found = np.zeros(size, dtype=bool)
    for name, values in channels.items():
        if name not in _MODIFYING:
            found |= values > 0
    return found


def first_hits(matching: Matching) -> NDArray[np.int64]:
    """Return the rows from which a second hop starts: a few, none far behind the best."""
    if not len(matching.scores) or matching.scores.max() <= 0:
        return np.zeros(0, dtype=np.int64)
    best = np.argsort(-matching.scores, kind="stable")[:HOP_FROM]
    near: NDArray[np.int64] = best[matching.scores[best] >= HOP_STANDING * matching.scores.max()]
    return near


def with_hop(matching: Matching, hop: Floats) -> Matching:
    """Add a second hop to a matching.

    Args:
        hop: for each row how many of the things it mentions that the first hits mention, too.
    Returns: scores that are higher where there is a hop, as strong a judgement as before: a hop tells what else may
        be needed, never that the task is about it.
    """
    most = float(hop.max(initial=0.0))
    if most <= 0:
        return matching
    scaled = hop / most
    return replace(
        matching,
        scores=(matching.scores + HOP_WEIGHT * scaled).round(DIGITS),
        channels={**matching.channels, "hop": scaled},
    )


def evidence(layout: Layout, signals: Signals) -> Floats:
    """Return what the model of relevance reads of each row: rows × (pair, window, lift).

    The first two are shares of the task's content that the memory has with the one before it, and with all its
    neighbours. A word of a date is had by a memory of that time, too.
    """
    return _evidence(*_nearby(layout, signals), signals)


def _nearby(layout: Layout, signals: Signals) -> tuple[Floats, Floats]:
    """Return each term's gain with the row before, and with the neighbours on either side."""
    near = best_nearby(layout, signals.gains, before=PAIR[0], after=PAIR[1])
    return near, best_nearby(layout, signals.gains, before=WINDOW[0], after=WINDOW[1])


def _evidence(near: Floats, wide: Floats, signals: Signals) -> Floats:
    lift = np.zeros(len(near)) if signals.lift is None else signals.lift
    return np.column_stack([*(_covered(gains, signals) for gains in (near, wide)), lift])


def _covered(gains: Floats, signals: Signals) -> Floats:
    having = gains > 0
    having |= (signals.date > 0)[:, np.newaxis] & signals.date_terms
    shares: Floats = (having @ signals.weights).clip(max=1.0)
    return shares


def calibration_of(model: str) -> Calibration:
    """Return the model of relevance that was fitted on vectors of a model of this name."""
    return next((fitted for name, fitted in CALIBRATIONS.items() if model.startswith(name)), WORDS_ALONE)


def strengths_of(features: Floats, *, model: str, known_name: bool, unknown_name: bool) -> Floats:
    """Return the probability, by the fitted model of relevance, that a row has to do with the task.

    Args:
        features: as `evidence` answers them.
        model: whose vectors the lift is measured by; "" for none.
    """
    fitted = calibration_of(model)
    logit = fitted.intercept + features @ np.array([fitted.pair, fitted.window, fitted.lift])
    logit = logit + fitted.known_name * known_name + fitted.unknown_name * unknown_name
    strengths: Floats = 1.0 / (1.0 + np.exp(-logit))
    return strengths
