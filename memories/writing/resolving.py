"""The verb resolve_conflict: a person decides which of two contradicting memories stands."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from cortex.errors import StateConflict, Unprocessable
from memories.access import Caller
from memories.core.kinds import Flag, Status, Verb
from memories.models import Conflict, Memory, Scope
from memories.reading import find_conflict
from memories.writing.decisions import keep_decision, row_of, standing_of
from memories.writing.reviewing import let_pass
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
        replaced = [side for side in sides.values() if side not in kept]
        _settle(caller, conflict, keep=keep, now=now)
        back = _Back(settled=[conflict_ref])
        for memory in kept:
            back.add(_accept(caller, memory, now=now))
        for other in replaced:
            back.settled += carry_out(other, kept[0], actor=caller.actor, reason="conflict resolved", now=now)
            back.proposals.append(_succession(other, kept[0], caller, now))
        _keep(caller, conflict, back, kept, keep=keep, now=now)
        return find_conflict(caller, conflict_ref, at=now)


@dataclass(slots=True, kw_only=True)
class _Back:
    """What taking a resolution back needs."""

    settled: list[str]
    rows: dict[str, Any] = field(default_factory=dict)
    proposals: list[dict[str, Any]] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)

    def add(self, passed: Mapping[str, Any]) -> None:
        self.rows |= passed["rows"]
        self.proposals += passed.get("proposals", [])
        self.settled += passed.get("settled", [])
        self.noted += passed.get("noted", [])


def _succession(old: Memory, new: Memory, caller: Caller, now: datetime) -> dict[str, Any]:
    """A place that was taken without having been proposed for."""
    link = {"old": old.ref, "new": new.ref, "reason": "", "actor": caller.actor, "at": now.isoformat()}
    return {**link, "carried": True, "proposed": False}


def _keep(
    caller: Caller, conflict: Conflict, back: _Back, kept: Sequence[Memory], *, keep: str, now: datetime
) -> None:
    keep_decision(
        caller,
        Verb.RESOLVE,
        conflict.left.ref,
        other=conflict.right.ref,
        before={"conflict": conflict.ref, "resolution": None},
        after={"conflict": conflict.ref, "resolution": keep},
        kept={**asdict(back), "left": {memory.ref: standing_of(memory) for memory in kept}},
        now=now,
    )


def _settle(caller: Caller, conflict: Conflict, *, keep: str, now: datetime) -> None:
    open_ones = Conflict.objects.filter(vault_id=conflict.vault_id, pk=conflict.pk, resolved_at__isnull=True)
    if not open_ones.update(resolved_at=now, resolved_by=caller.actor, resolution=keep):
        raise StateConflict(f"{conflict.ref} is resolved already")


def _accept(caller: Caller, memory: Memory, *, now: datetime) -> dict[str, Any]:
    """Keeping what waited only because it contradicts the user is the review that it waited for.

    Returns: what taking this back needs.
    """
    if memory.redacted_at is not None or memory.status == Status.ARCHIVED:
        raise StateConflict(f"{memory.ref} is redacted or archived")
    if memory.status == Status.PENDING or Flag.CONTRADICTS_USER in memory.flags:
        return let_pass(caller, memory, now=now)
    return {"rows": {memory.ref: row_of(memory)}}
