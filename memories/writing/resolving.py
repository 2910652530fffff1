"""The verb resolve_conflict: a person decides which of two contradicting memories stands."""

from datetime import datetime
from typing import Final

from django.db import transaction

from cortex.errors import StateConflict, Unprocessable
from memories.access import Caller
from memories.core.kinds import Flag, Status
from memories.models import Conflict, Memory, Scope
from memories.reading import find_conflict
from memories.writing.reviewing import approve
from memories.writing.superseding import carry_out

KEEP_BOTH: Final = "both"


def resolve_conflict(caller: Caller, conflict_ref: str, *, keep: str, now: datetime) -> Conflict:
    """Settle a conflict.

    Args:
        keep: the ref of the side that stands, which then supersedes the other, or "both".
    Raises: NotHere; Unprocessable if `keep` is neither side; StateConflict if it is settled already.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        conflict = find_conflict(caller, conflict_ref, at=now)
        if conflict.resolved_at is not None:
            raise StateConflict(f"{conflict_ref} is resolved already")
        sides = {memory.ref: memory for memory in (conflict.left, conflict.right)}
        if keep != KEEP_BOTH and keep not in sides:
            raise Unprocessable(
                "keep one of the two, or both", errors={"keep": "neither side of the conflict"}
            )
        kept = list(sides.values()) if keep == KEEP_BOTH else [sides[keep]]
        _settle(caller, conflict, keep=keep, now=now)
        for memory in kept:
            _accept(caller, memory, now=now)
        for other in sides.values():
            if other not in kept:
                carry_out(other, kept[0], actor=caller.actor, reason="conflict resolved", now=now)
        return find_conflict(caller, conflict_ref, at=now)


def _settle(caller: Caller, conflict: Conflict, *, keep: str, now: datetime) -> None:
    open_ones = Conflict.objects.filter(vault_id=conflict.vault_id, pk=conflict.pk, resolved_at__isnull=True)
    if not open_ones.update(resolved_at=now, resolved_by=caller.actor, resolution=keep):
        raise StateConflict(f"{conflict.ref} is resolved already")


def _accept(caller: Caller, memory: Memory, *, now: datetime) -> None:
    """Keeping what waited only because it contradicts the user is the review that it waited for."""
    if memory.redacted_at is not None or memory.status == Status.ARCHIVED:
        raise StateConflict(f"{memory.ref} is redacted or archived")
    if memory.status == Status.PENDING or Flag.CONTRADICTS_USER in memory.flags:
        approve(caller, memory.ref, now=now)
