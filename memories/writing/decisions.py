"""Decisions are written down by the verb that takes them, in its transaction; with what taking them back needs."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Final

from django.db.models import Max, Q, QuerySet, TextField
from django.db.models.functions import Cast

from memories.access import Caller
from memories.core.kinds import Verb
from memories.core.passages import cut, quotes
from memories.models import Decision, Memory, ProposedSupersession, Supersession

_TICK: Final = timedelta(microseconds=1)
_REASON_LENGTH: Final = 2_000


def keep_decision(
    caller: Caller,
    verb: Verb,
    ref: str,
    *,
    other: str = "",
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    kept: Mapping[str, Any] | None = None,
    undoes: str = "",
    now: datetime,
) -> Decision:
    """Write down who decided what.

    Args:
        other: the second memory that it is about.
        reason: free of secrets.
        kept: what taking it back needs; None where that is impossible.
        now: where the memory's last decision is as late, the moment after that.
    """
    last = decisions_about(caller.vault.pk, [name for name in (ref, other) if name]).aggregate(at=Max("at"))[
        "at"
    ]
    return Decision.objects.create(
        vault_id=caller.vault.pk,
        memory=ref,
        other=other,
        verb=verb,
        actor=caller.actor,
        at=now if last is None else max(now, last + _TICK),
        reason=reason,
        before=before,
        after=after,
        kept=kept,
        undoes=undoes,
    )


def decisions_about(vault_id: str, refs: Collection[str]) -> QuerySet[Decision, Decision]:
    return Decision.objects.filter(Q(memory__in=refs) | Q(other__in=refs), vault_id=vault_id)


def last_decision(vault_id: str, ref: str) -> Decision | None:
    """Return the last decision about a memory that was not taken back."""
    standing = decisions_about(vault_id, [ref]).exclude(verb=Verb.UNDO).filter(undone_at__isnull=True)
    return standing.order_by("-at", "-pk").first()


def is_reversible(memory: Memory) -> bool:
    """Whether there is a decision about a memory that holds all that taking it back needs."""
    last = last_decision(memory.vault_id, memory.ref)
    return last is not None and last.kept is not None


# -- What taking back needs ----------------------------------------------------------------------


def standing_of(memory: Memory) -> dict[str, Any]:
    """What a decision may change in a memory's row, as plain values that are shown."""
    return {
        "status": str(memory.status),
        "withheld": memory.withheld,
        "flags": [str(flag) for flag in memory.flags],
    }


def row_of(memory: Memory) -> dict[str, Any]:
    """The same with what is not shown: how the memory was reviewed, and what it replaced already."""
    replaced = Supersession.objects.filter(
        vault_id=memory.vault_id, new_id=memory.pk, old__vault_id=memory.vault_id
    )
    return {
        **standing_of(memory),
        "reviewed_at": None if memory.reviewed_at is None else memory.reviewed_at.isoformat(),
        "reviewed_by": memory.reviewed_by,
        "superseded_by": memory.superseded_by,
        "replaced": sorted(replaced.values_list("old__ref", flat=True)),
    }


def proposals_of(memory: Memory) -> list[dict[str, Any]]:
    """What a memory would replace, as plain values."""
    vault_id = memory.vault_id
    rows = ProposedSupersession.objects.filter(vault_id=vault_id, new_id=memory.pk, old__vault_id=vault_id)
    told = rows.order_by("at", "pk").values("old__ref", "reason", "actor", "at")
    return [
        {
            "old": row["old__ref"],
            "new": memory.ref,
            "reason": row["reason"],
            "actor": row["actor"],
            "at": row["at"].isoformat(),
        }
        for row in told
    ]


# -- Words in decisions --------------------------------------------------------------------------


def hush_decisions(vault_id: str, refs: Collection[str], texts: Sequence[str], *, mark: str) -> int:
    """Take away whatever decisions keep of memories; what is left of those about them is ref, verb, who and when.

    Returns: how many decisions lost something.
    """
    about = decisions_about(vault_id, refs)
    told = ~Q(reason="") | Q(before__isnull=False) | Q(after__isnull=False) | Q(kept__isnull=False)
    hushed = about.filter(told).update(reason="", before=None, after=None, kept=None)
    named = reduce(or_, (Q(text__contains=ref) for ref in refs), Q(pk__in=[]))
    holding = Decision.objects.filter(vault_id=vault_id, kept__isnull=False)
    found = list(holding.annotate(text=Cast("kept", TextField())).filter(named).values_list("pk", flat=True))
    hushed += Decision.objects.filter(vault_id=vault_id, pk__in=found).update(kept=None)
    return hushed + _cut_reasons(vault_id, texts, mark=mark)


def _cut_reasons(vault_id: str, texts: Sequence[str], *, mark: str) -> int:
    count = 0
    reasoned = Decision.objects.filter(vault_id=vault_id).exclude(reason="").values_list("pk", "reason")
    for pk, reason in list(reasoned.iterator()):
        if any(quotes(reason, text) for text in texts):
            left = cut(reason, texts, mark=mark)[:_REASON_LENGTH]
            count += Decision.objects.filter(vault_id=vault_id, pk=pk).update(reason=left)
    return count
