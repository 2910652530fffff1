"""How much a candidate is worth: fused ranks, absolute relevance, recency, intent, and their mix (CMP §4)."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from contextpack.core.types import Candidate, ModelProfile, PackLayer

RRF_K: Final = 20
# How much a place in each channel counts: a shared word says more than likeness of hashed vectors does, for
# these meet by chance; and a name alone says only whom a memory is about.
CHANNEL_WEIGHTS: Final[Mapping[str, float]] = {"fts": 1.0, "vector": 0.3, "entity": 0.2}
RECENCY_HALF_LIFE_DAYS: Final = 30.0
RELEVANCE_DIGITS: Final = 4
RANK_HALVING: Final = 10  # at this fused rank a match's standing is half of the first one's
UNMATCHED_PERTINENCE: Final = 0.3  # what is left of an idle memory's utility when it competes for tokens
_SECONDS_PER_DAY: Final = 86_400.0

# -- Ranks and strengths -------------------------------------------------------------------------


def fuse(
    channels: Mapping[str, Mapping[str, float]],
    k: int = RRF_K,
    *,
    weights: Mapping[str, float] = CHANNEL_WEIGHTS,
) -> dict[str, float]:
    """Fuse channels by the weighted reciprocals of their ranks.

    Args:
        channels: retriever → ref → that channel's own score; equal scores share a place, so that no order among
            equals comes from how rows happen to be stored.
        k: how little the first places stand out.
        weights: retriever → how much its places count; 1 where none is given.
    Returns: ref → score, in no particular order.
    """
    scores: defaultdict[str, float] = defaultdict(float)
    for channel, raw in channels.items():
        weight = weights.get(channel, 1.0)
        for ref, place in _places(raw):
            scores[ref] += weight / (k + place)
    return dict(scores)


def _places(raw: Mapping[str, float]) -> Iterator[tuple[str, int]]:
    """Yield each ref with its place from 1; of equals each has the place of the first."""
    place, last = 0, math.inf
    for position, (ref, score) in enumerate(sorted(raw.items(), key=lambda entry: -entry[1]), start=1):
        if score != last:
            place, last = position, score
        yield ref, place


def absolute_relevances(order: Sequence[str], strength: Mapping[str, float]) -> dict[str, float]:
    """Fit match strengths to the fused order, so that relevance never rises as the rank falls.

    Neighbours that disagree with the order share their mean (isotonic regression by pooling adjacent
    violators): the least change that makes the two agree.

    Args:
        order: refs, best first, each once.
        strength: ref → absolute strength of the match, 0..1; a ref without one matched nothing.
    Returns: ref → relevance, 0..1, rounded to four digits, in the given order.
    """
    pools: list[tuple[float, int]] = []  # (mean, members)
    for ref in order:
        mean, size = min(max(strength.get(ref, 0.0), 0.0), 1.0), 1
        while pools and pools[-1][0] < mean:
            earlier_mean, earlier_size = pools.pop()
            mean = (mean * size + earlier_mean * earlier_size) / (size + earlier_size)
            size += earlier_size
        pools.append((mean, size))
    relevances = (round(mean, RELEVANCE_DIGITS) for mean, size in pools for _ in range(size))
    return dict(zip(order, relevances, strict=True))


def recency_decay(moment: datetime, now: datetime, half_life_days: float = RECENCY_HALF_LIFE_DAYS) -> float:
    """Return 1 for now or later, and half of it for each half-life that has gone by (CMP §4)."""
    age_days = max(0.0, (now - moment).total_seconds() / _SECONDS_PER_DAY)
    return math.exp(-age_days * math.log(2) / half_life_days)


# -- Intent --------------------------------------------------------------------------------------


class Intent(StrEnum):
    """What a task is after."""

    RECALL = "recall"
    DECIDE = "decide"
    HOWTO = "howto"
    PLAN = "plan"
    WHO = "who"


# The share of a budget that each layer is worth to each intent; a column adds up to 1.
_SHARES: Final[Mapping[PackLayer, tuple[float, float, float, float, float]]] = {
    #                       recall decide howto plan  who
    PackLayer.CONSTRAINTS: (0.10, 0.14, 0.14, 0.14, 0.06),
    PackLayer.DECISIONS: (0.14, 0.30, 0.12, 0.18, 0.08),
    PackLayer.FACTS: (0.38, 0.24, 0.22, 0.22, 0.30),
    PackLayer.ENTITY: (0.10, 0.06, 0.04, 0.06, 0.26),
    PackLayer.PROCEDURES: (0.08, 0.06, 0.30, 0.10, 0.04),
    PackLayer.IDENTITY: (0.06, 0.06, 0.06, 0.06, 0.14),
    PackLayer.OPEN_LOOPS: (0.06, 0.08, 0.06, 0.16, 0.06),
    PackLayer.RECENCY: (0.08, 0.06, 0.06, 0.08, 0.06),
}

# Whole words, case aside; the first intent that is asked for wins.
_CUES: Final[tuple[tuple[Intent, re.Pattern[str]], ...]] = tuple(
    (intent, re.compile(rf"(?<![^\W_])(?:{cues})(?![^\W_])"))
    for intent, cues in (
        (Intent.HOWTO, r"how (?:to|do|does|can|should)|steps?|procedures?|runbook|instructions?|set ?up"),
        (Intent.DECIDE, r"decide[ds]?|decisions?|choose|chose|chosen|should (?:we|i)|trade-?offs?|versus|vs"),
        (Intent.PLAN, r"plan(?:s|ned|ning)?|roadmap|next steps?|to-?dos?|schedule|prepare|agenda|deadlines?"),
        (Intent.WHO, r"who|whose|whom"),
    )
)

_LOWEST_PRIOR: Final = 0.7


def intent_of(task: str) -> Intent:
    """Say what a task is after, by its cue words; `recall` where none stands out."""
    text = task.casefold()
    return next((intent for intent, cues in _CUES if cues.search(text)), Intent.RECALL)


def layer_shares(task: str) -> Mapping[PackLayer, float]:
    """Return the share of the budget that each layer is worth to the task; they add up to 1."""
    column = tuple(Intent).index(intent_of(task))
    return {layer: shares[column] for layer, shares in _SHARES.items()}


def layer_priors(task: str) -> Mapping[PackLayer, float]:
    """Return the factor with which each layer's utility is scaled, 1 for the layer that the task is after.

    Priors temper and do not decide: none is under 0.7, so a match in an unlikely layer beats an idle memory
    in a likely one.
    """
    shares = layer_shares(task)
    largest = max(shares.values())
    return {
        layer: round(_LOWEST_PRIOR + (1.0 - _LOWEST_PRIOR) * share / largest, RELEVANCE_DIGITS)
        for layer, share in shares.items()
    }


# -- Utility -------------------------------------------------------------------------------------


def utility(candidate: Candidate, *, profile: ModelProfile, now: datetime, prior: float) -> float:
    """Return what a candidate is worth before redundancy and cost.

    Args:
        candidate: without a relevance it counts as matching nothing; without a confidence, its trust counts.
        profile: whose weights mix relevance, recency and authority.
        now: aware; a memory of this moment is as recent as can be.
        prior: the factor of the candidate's layer.
    Source: CMP §4.
    """
    relevance_weight, recency_weight, authority_weight = profile.weights
    authority = candidate.trust if candidate.confidence is None else candidate.confidence
    return prior * (
        relevance_weight * valued_relevance(candidate)
        + recency_weight * recency_decay(candidate.moment, now)
        + authority_weight * authority
    )


def valued_relevance(candidate: Candidate) -> float:
    """Return a candidate's relevance as utility values it: half its strength, half its standing in the fused order.

    Strength is comparable between tasks but coarse: neighbours in the order often share one value. The standing
    tells them apart.
    """
    strength, rank = candidate.relevance or 0.0, candidate.fused_rank
    if rank is None:
        return strength
    return (strength + (RANK_HALVING + 1) / (RANK_HALVING + rank)) / 2


def pertinence(candidate: Candidate) -> float:
    """Return the factor by which a candidate's utility counts when it competes for tokens, 0.3 to 1.

    Being fresh and well trusted is of use to the task only as far as a memory has to do with it: without this,
    a dozen short new lines crowd out one long answer.
    """
    return UNMATCHED_PERTINENCE + (1.0 - UNMATCHED_PERTINENCE) * valued_relevance(candidate)
