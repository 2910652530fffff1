"""Why a memory is, or is not, in a pack that was only tried: as `books.why_not` tells of receipts, and in words."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from contextpack.answering import Trial
from contextpack.books import why_not
from cortex.errors import NotHere
from memories.access import Caller
from memories.lineage import standing_of
from memories.models import Memory, Tombstone

OUT_OF_SIGHT: Final = "out_of_sight"
FORGOTTEN: Final = "forgotten"
UNKNOWN: Final = "unknown"
SUPERSEDED: Final = "superseded"
REASONS: Final = {
    "served": "It is in the pack.",
    "outbid": "It competed and lost its place: others were worth more for each token, and the budget ended before it.",
    "folded_into": "Another memory says the same; the pack carries both as one.",
    "already_sent": "An earlier page carried it.",
    "not_retrieved": "It may be served, but no search found that it answers the task.",
    "redacted": "Its text was taken away.",
    "archived": "It is archived, so it is not served.",
    "pending": "It waits for a review, so it is not served yet.",
    "expired": "Its time has run out.",
    "other_project": "It belongs to a project that this question does not look into.",
    SUPERSEDED: "A newer memory has taken its place.",
    "filtered": "What was asked leaves it out: it was not true, or not known, at that moment, or is of another layer.",
    OUT_OF_SIGHT: "It is in this vault, but in a project that this token does not reach.",
    FORGOTTEN: "It was forgotten; nothing of it is left.",
    UNKNOWN: "This vault has no such memory.",
}
_NO_FIGURES: Final = frozenset({"receipt", "ref", "reason", "into"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What kept a memory out, or that nothing did."""

    ref: str
    reason: str
    into: str | None = None  # what it was folded into
    head: str | None = None  # what stands in its place now
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        return REASONS.get(self.reason, "")


def explain(caller: Caller, trial: Trial, ref: str, *, now: datetime) -> Explanation:
    """Tell what kept a memory out of a pack; of what the caller may not see, that it is there at all.

    It is the operator who looks, in whosever place: this answer is never an agent's.
    """
    try:
        told = why_not(caller, trial.receipt, ref)
    except NotHere:
        return Explanation(ref=ref, reason=_absence(caller, ref))
    replaced = told["reason"] == SUPERSEDED
    return Explanation(
        ref=ref,
        reason=told["reason"],
        into=told.get("into"),
        head=standing_of(caller, [ref], at=now)[ref].head if replaced else None,
        figures={name: value for name, value in told.items() if name not in _NO_FIGURES},
    )


def _absence(caller: Caller, ref: str) -> str:
    if Memory.objects.in_vault(caller.vault.pk).filter(ref=ref).exists():
        return OUT_OF_SIGHT
    forgotten = Tombstone.objects.filter(vault_id=caller.vault.pk, ref=ref).exists()
    return FORGOTTEN if forgotten else UNKNOWN
