"""Decisions as a reviewer may see them. Reads only.

One that is about several memories is seen by whoever sees all of them. Of what has expired nothing is told but ref,
verb, who and when; what was redacted or forgotten has lost the rest already.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Max, Q, QuerySet

from memories.access import Caller
from memories.core.kinds import Verb
from memories.models import Decision, Memory
from memories.wire import decision_as_wire

DECISIONS_SHOWN: Final = 50  # beside a memory; the list has all


def decisions_visible_to(
    caller: Caller, *, ref: str | None = None, actor: str | None = None, verb: str | None = None
) -> QuerySet[Decision, Decision]:
    """Decisions about memories in sight; those about forgotten ones only where no project is out of sight.

    Args:
        ref: about this memory; actor: taken by exactly this one; verb: of this kind.
    """
    rows = Decision.objects.filter(vault_id=caller.vault.pk)
    if caller.projects is not None:
        seen = Memory.objects.visible_to(caller).values("ref")
        rows = rows.filter(Q(other="") | Q(other__in=seen), memory__in=seen)
    if ref is not None:
        rows = rows.filter(Q(memory=ref) | Q(other=ref))
    if actor is not None:
        rows = rows.filter(actor=actor)
    return rows if verb is None else rows.filter(verb=verb)


def shown_decisions(caller: Caller, decisions: Sequence[Decision], *, at: datetime) -> list[dict[str, Any]]:
    """Show any number of decisions; three statements.

    Args:
        at: the moment for which expiry is judged.
    """
    refs = {ref for decision in decisions for ref in (decision.memory, decision.other) if ref}
    if not refs:
        return []
    rows = Memory.objects.in_vault(caller.vault.pk).filter(ref__in=refs, expires_at__lte=at)
    expired = set(rows.values_list("ref", flat=True))
    last = _last_moments(caller.vault.pk, refs)
    return [
        decision_as_wire(
            decision,
            is_told=not expired.intersection((decision.memory, decision.other)),
            is_reversible=_is_reversible(decision, last),
        )
        for decision in decisions
    ]


def decisions_beside(caller: Caller, memory: Memory, *, at: datetime) -> list[dict[str, Any]]:
    """Show the latest decisions about one memory."""
    rows = decisions_visible_to(caller, ref=memory.ref).order_by("-at", "-pk")[:DECISIONS_SHOWN]
    return shown_decisions(caller, list(rows), at=at)


def _last_moments(vault_id: str, refs: set[str]) -> dict[str, datetime]:
    """Return for each memory the moment of its last decision that was not taken back."""
    rows = Decision.objects.filter(vault_id=vault_id, undone_at__isnull=True).exclude(verb=Verb.UNDO)
    found: dict[str, datetime] = {}
    for column in ("memory", "other"):
        of_refs = rows.filter(**{f"{column}__in": refs}).values_list(column)
        for ref, moment in of_refs.annotate(last=Max("at")).order_by():
            found[ref] = max(moment, found.get(ref, moment))
    return found


def _is_reversible(decision: Decision, last: Mapping[str, datetime]) -> bool:
    if decision.kept is None or decision.undone_at is not None:
        return False
    return all(decision.at >= last[ref] for ref in (decision.memory, decision.other) if ref)
