"""Rows with all that belongs to them, as answers show them: the reads and the wire form in one step."""

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Q
from django.utils import timezone

from memories.access import Caller
from memories.decisions import decisions_beside
from memories.models import Conflict, Memory, Scope
from memories.reading import (
    Companions,
    chain_of,
    companions_of,
    conflicts_visible_to,
    proposed_by,
    refs_in_sight,
)
from memories.wire import (
    MemoryDict,
    conflict_as_wire,
    memory_as_wire,
    moment,
    source_as_wire,
    step_as_wire,
)


def shown(caller: Caller, memories: Sequence[Memory]) -> list[MemoryDict]:
    """Show any number of memories; three statements, one more where a successor may be out of the caller's sight."""
    beside = companions_of(caller, memories)
    successors = {memory.superseded_by for memory in memories if memory.superseded_by}
    seen = refs_in_sight(caller, successors)
    return [_show(memory, beside, seen) for memory in memories]


def memory_document(caller: Caller, memory: Memory) -> dict[str, Any]:
    """Show one memory whole: also its sources, its history, its conflicts, and how it was reviewed."""
    beside = companions_of(caller, [memory])
    seen = refs_in_sight(caller, [memory.superseded_by] if memory.superseded_by else [])
    return {
        **_show(memory, beside, seen),
        "sources": [source_as_wire(source) for source in beside.sources.get(memory.pk, ())],
        "chain": [step_as_wire(step) for step in chain_of(caller, memory)],
        "conflicts": _conflicts_of(caller, memory),
        "proposes_superseding": proposed_by(caller, memory),
        "withheld": memory.withheld,
        "reviewed_at": moment(memory.reviewed_at),
        "reviewed_by": memory.reviewed_by or None,
    }


def memory_for(caller: Caller, memory: Memory) -> dict[str, Any]:
    """Show one memory whole to whoever looks it up; who reviews is also shown what was decided about it."""
    document = memory_document(caller, memory)
    if not caller.may(Scope.REVIEW):
        return document
    return document | {"decisions": decisions_beside(caller, memory, at=timezone.now())}


def shown_conflicts(caller: Caller, conflicts: Sequence[Conflict]) -> list[dict[str, Any]]:
    """Show conflicts, each with both its sides; three statements."""
    sides = [side for conflict in conflicts for side in (conflict.left, conflict.right)]
    dicts = shown(caller, sides)
    return [
        conflict_as_wire(conflict) | {"memories": dicts[2 * at : 2 * at + 2]}
        for at, conflict in enumerate(conflicts)
    ]


def _show(memory: Memory, beside: Companions, seen: Collection[str]) -> MemoryDict:
    told = memory_as_wire(
        memory,
        beside.sources.get(memory.pk, ()),
        beside.entities.get(memory.pk, ()),
        conflicted=memory.pk in beside.conflicts,
    )
    if told["superseded_by"] not in seen:
        told["superseded_by"] = None
    return told


def _conflicts_of(caller: Caller, memory: Memory) -> list[dict[str, Any]]:
    """Tell what a memory conflicts or conflicted with, in the order of detection."""
    rows = conflicts_visible_to(caller, at=timezone.now())
    rows = rows.filter(Q(left_id=memory.pk) | Q(right_id=memory.pk)).order_by("detected_at", "pk")
    return [conflict_as_wire(conflict) | {"with": _other(conflict, memory).ref} for conflict in rows]


def _other(conflict: Conflict, memory: Memory) -> Memory:
    return conflict.right if conflict.left_id == memory.pk else conflict.left
