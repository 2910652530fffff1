"""How much a candidate is worth: fused ranks, absolute relevance, recency, intent, and their mix (CMP §4)."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import accumulate
from typing import Final

from contextpack.core.types import Candidate, ModelProfile, PackLayer
from contextpack.core.weights import IDLE_STANDING, STEEPNESS

RECENCY_HALF_LIFE_DAYS: Final = 30.0
RELEVANCE_DIGITS: Final = 4
_SECONDS_PER_DAY: Final = 86_400.0

# -- Ranks and strengths -------------------------------------------------------------------------


def absolute_relevances(order: Sequence[str], strength: Mapping[str, float]) -> dict[str, float]:
    """Fit match strengths to the fused order, so that relevance never rises as the rank falls.

    A match has to do with the task at least as much as any that the order puts behind it: it gets the largest
    strength from its own place on. So the first one tells whether anything answers at all.

    Args:
        order: refs, best first, each once.
        strength: ref → absolute strength of the match, 0..1; a ref without one matched nothing.
    Returns: ref → relevance, 0..1, rounded to four digits, in the given order.
    """
    strengths = (min(max(strength.get(ref, 0.0), 0.0), 1.0) for ref in reversed(order))
    relevances = [round(largest, RELEVANCE_DIGITS) for largest in accumulate(strengths, max)]
    return dict(zip(order, reversed(relevances), strict=True))


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
    """Return a candidate's relevance as utility values it: half its strength, half its standing beside the best.

    Strength is comparable between tasks but coarse: neighbours in the order often share one value. The standing
    tells them apart.
    """
    strength = candidate.relevance or 0.0
    return strength if candidate.standing is None else (strength + candidate.standing) / 2


def pertinence(candidate: Candidate) -> float:
    """Return the factor by which a candidate's utility counts when it competes for tokens: 1 for the best match.

    It falls exponentially with the distance from the best: that a memory is what the task needs becomes unlikely
    much faster than its score falls, and neither shortness nor freshness makes up for it. What matched nothing
    counts as if it stood in the middle.
    """
    standing = candidate.relevance if candidate.standing is None else candidate.standing
    return math.exp(STEEPNESS * ((IDLE_STANDING if standing is None else standing) - 1.0))
