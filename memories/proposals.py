"""What waits for a reviewer, with what it would replace or contradicts, and how it changes that. Reads only."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Q

from memories.access import Caller
from memories.core.diffing import diff
from memories.core.kinds import Status
from memories.models import Conflict, Memory, ProposedSupersession
from memories.querysets import MemoryQuerySet
from memories.reading import readable_by
from memories.showing import shown
from memories.wire import change_as_wire

BESIDE_LIMIT: Final = 20  # shown of what one memory replaces, and of what it contradicts


def proposals_visible_to(caller: Caller, *, at: datetime) -> MemoryQuerySet:
    """What is pending: not redacted, expired or replaced."""
    rows = readable_by(caller, at=at).unsuperseded()
    return rows.filter(status=Status.PENDING, redacted_at__isnull=True)


def awaiting_review(caller: Caller, *, at: datetime) -> MemoryQuerySet:
    """What waits for a person: what is pending, and what is held back though its status says approved."""
    rows = readable_by(caller, at=at).unsuperseded().filter(redacted_at__isnull=True)
    return rows.filter(Q(status=Status.PENDING) | Q(status=Status.APPROVED, withheld=True))


def shown_proposals(caller: Caller, memories: Sequence[Memory], *, at: datetime) -> list[dict[str, Any]]:
    """Show memories that wait; a fixed number of statements."""
    pks = [memory.pk for memory in memories]
    if not pks:
        return []
    replaced, opposed = _replaced(caller.vault.pk, pks), _opposed(caller.vault.pk, pks)
    wanted = {pk for found in (replaced, opposed) for others in found.values() for pk in others}
    readable = readable_by(caller, at=at).filter(pk__among=sorted(wanted), redacted_at__isnull=True)
    beside = {memory.pk: memory for memory in readable}
    rows = [*memories, *beside.values()]
    told = dict(zip((memory.pk for memory in rows), shown(caller, rows), strict=True))
    return [
        _proposal(
            memory, told, _those_seen(replaced, memory.pk, beside), _those_seen(opposed, memory.pk, beside)
        )
        for memory in memories
    ]


def _proposal(
    memory: Memory, told: Mapping[int, Any], replaces: Sequence[Memory], contradicts: Sequence[Memory]
) -> dict[str, Any]:
    against = next(iter((*replaces, *contradicts)), None)
    changes = diff(against.content, memory.content) if against is not None else []
    return {
        "memory": told[memory.pk],
        "replaces": [told[other.pk] for other in replaces],
        "contradicts": [told[other.pk] for other in contradicts],
        "against": None if against is None else against.ref,
        "diff": [change_as_wire(change) for change in changes],
        "flags": told[memory.pk]["flags"],
    }


def _those_seen(others: Mapping[int, Sequence[int]], pk: int, beside: Mapping[int, Memory]) -> list[Memory]:
    return [beside[other] for other in others.get(pk, ()) if other in beside][:BESIDE_LIMIT]


def _replaced(vault_id: str, pks: Collection[int]) -> dict[int, list[int]]:
    """Return memory id → the ids of what it would replace, as they were proposed."""
    rows = ProposedSupersession.objects.filter(vault_id=vault_id, new_id__in=pks)
    found: dict[int, list[int]] = {}
    for new, old in rows.order_by("at", "pk").values_list("new_id", "old_id"):
        found.setdefault(new, []).append(old)
    return found


def _opposed(vault_id: str, pks: Collection[int]) -> dict[int, list[int]]:
    """Return memory id → the ids of what it openly contradicts, as that was noticed."""
    either = Q(left_id__in=pks) | Q(right_id__in=pks)
    rows = Conflict.objects.filter(either, vault_id=vault_id, resolved_at__isnull=True)
    found: dict[int, list[int]] = {}
    for left, right in rows.order_by("detected_at", "pk").values_list("left_id", "right_id"):
        found.setdefault(left, []).append(right)
        found.setdefault(right, []).append(left)
    return found
