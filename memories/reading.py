"""Single memories whole, lists with what belongs to them, histories: as a caller may see them. Reads only.

Expired memories are here for nobody; redacted ones only for those who review.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from cortex.errors import NotHere
from memories.access import Caller
from memories.core.kinds import Status
from memories.models import Conflict, Memory, Mention, ProposedSupersession, Scope, Source, Supersession
from memories.querysets import MemoryQuerySet
from memories.rows import in_chunks

CHAIN_LIMIT: Final = 10_000


def readable_by(caller: Caller, *, at: datetime) -> MemoryQuerySet:
    """What a caller may look at one by one: also what is pending, archived or superseded."""
    rows = Memory.objects.visible_to(caller).filter(Q(expires_at__isnull=True) | Q(expires_at__gt=at))
    return rows if caller.may(Scope.REVIEW) else rows.filter(redacted_at__isnull=True)


def find_memory(caller: Caller, ref: str, *, at: datetime | None = None) -> Memory:
    """Find a memory by its ref.

    Args:
        at: the moment for which expiry is judged; None: now.
    Raises: NotHere if it is unknown, another vault's, out of sight, expired, or redacted and not the caller's
        to review: always the same answer.
    """
    found = readable_by(caller, at=at or timezone.now()).filter(ref=ref).first()
    if found is None:
        raise NotHere
    return found


# -- What belongs to memories --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Companions:
    """What is shown beside memories, each by memory id."""

    sources: dict[int, list[Source]] = field(default_factory=dict)
    entities: dict[int, list[str]] = field(default_factory=dict)
    conflicts: dict[int, set[int]] = field(default_factory=dict)


def companions_of(caller: Caller, memories: Iterable[Memory]) -> Companions:
    """Load sources, entity names and open conflicts for any number of memories: three statements."""
    vault_id = caller.vault.pk
    pks = [memory.pk for memory in memories]
    if not pks:
        return Companions()
    return Companions(
        sources=sources_of(vault_id, pks),
        entities=names_of(vault_id, pks),
        conflicts=open_conflicts(vault_id, pks, projects=caller.projects),
    )


def sources_of(vault_id: str, pks: Collection[int]) -> dict[int, list[Source]]:
    found: dict[int, list[Source]] = {}
    rows = Source.objects.filter(vault_id=vault_id, memory_id__in=pks)
    for source in rows.order_by("added_at", "url", "pk"):
        found.setdefault(source.memory_id, []).append(source)
    return found


def names_of(vault_id: str, pks: Collection[int]) -> dict[int, list[str]]:
    """Return memory id → the names of what it is about, in alphabetical order."""
    found: dict[int, list[str]] = {}
    rows = Mention.objects.filter(vault_id=vault_id, memory_id__in=pks, entity__vault_id=vault_id)
    for pk, name in rows.order_by("entity__name", "pk").values_list("memory_id", "entity__name"):
        found.setdefault(pk, []).append(name)
    return found


def open_conflicts(
    vault_id: str, pks: Collection[int], *, projects: frozenset[str] | None
) -> dict[int, set[int]]:
    """Return memory id → the memories that it openly conflicts with, as far as those count.

    A side that is superseded, redacted, withheld or not approved puts nothing in doubt; one that the asker does not
    see is not told.

    Args:
        projects: what the asker sees beside what is unlabelled; None: everything.
    """
    sides = ("left", "right")
    told = ("status", "superseded_by", "redacted_at", "withheld", "project")
    seen = None if projects is None else {"", *projects}
    rows = Conflict.objects.filter(
        Q(left_id__in=pks) | Q(right_id__in=pks),
        vault_id=vault_id,
        left__vault_id=vault_id,
        right__vault_id=vault_id,
        resolved_at__isnull=True,
    ).values("left_id", "right_id", *(f"{side}__{column}" for side in sides for column in told))
    found: dict[int, set[int]] = {}
    for row in rows:
        if _counts(row, "right", seen):
            found.setdefault(row["left_id"], set()).add(row["right_id"])
        if _counts(row, "left", seen):
            found.setdefault(row["right_id"], set()).add(row["left_id"])
    return {pk: others for pk, others in found.items() if pk in set(pks)}


def _counts(row: dict[str, object], side: str, seen: Collection[str] | None) -> bool:
    return (
        row[f"{side}__status"] == Status.APPROVED
        and row[f"{side}__superseded_by"] is None
        and row[f"{side}__redacted_at"] is None
        and not row[f"{side}__withheld"]
        and (seen is None or row[f"{side}__project"] in seen)
    )


# -- Histories -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One memory of a chain and what replaced it: who said so, when, why."""

    ref: str
    superseded_by: str | None
    reason: str = ""
    actor: str | None = None
    at: datetime | None = None


_FOLLOWING = """
WITH RECURSIVE line (id, ref, after, depth) AS (
    SELECT id, ref, superseded_by, 0 FROM memories_memory WHERE vault_id = %s AND ref = %s
    UNION ALL
    SELECT m.id, m.ref, m.superseded_by, line.depth + 1
    FROM line JOIN memories_memory m ON m.vault_id = %s AND m.ref = line.after
    WHERE line.depth < %s
)
SELECT id, ref, after, depth FROM line
"""
_PRECEDING = """
WITH RECURSIVE line (id, ref, after, depth) AS (
    SELECT id, ref, superseded_by, 0 FROM memories_memory WHERE vault_id = %s AND ref = %s
    UNION ALL
    SELECT m.id, m.ref, m.superseded_by, line.depth + 1
    FROM line JOIN memories_memory m ON m.vault_id = %s AND m.superseded_by = line.ref
    WHERE line.depth < %s
)
SELECT id, ref, after, depth FROM line
"""


def chain_of(caller: Caller, memory: Memory) -> list[Step]:
    """Return a memory's whole history, oldest first, its active head last; empty where it has none.

    Several memories may have been replaced by the same one; those of one age stand side by side. Three
    statements, whatever the length.
    """
    vault_id = memory.vault_id
    before = _walk(_PRECEDING, vault_id, memory.ref)
    following = _walk(_FOLLOWING, vault_id, memory.ref)
    line = [*sorted(before[1:], key=lambda row: (-row[3], row[1])), *following]
    if len(line) == 1 and line[0][2] is None:  # neither replaces nor was replaced
        return []
    links = {
        link.old_id: link
        for chunk in in_chunks([pk for pk, *_ in line])
        for link in _told_links(vault_id, chunk, at=timezone.now())
    }
    seen = refs_in_sight(caller, {name for _, ref, after, _ in line for name in (ref, after) if name})
    return [
        _step(pk, ref, after, links) if after in seen else Step(ref=ref, superseded_by=None)
        for pk, ref, after, _ in line
        if ref in seen
    ]


def _told_links(
    vault_id: str, old_ids: Collection[int], *, at: datetime
) -> QuerySet[Supersession, Supersession]:
    """Return who replaced the old ones and why, but for what has expired: a reason may repeat its words."""
    links = Supersession.objects.filter(vault_id=vault_id, old_id__in=old_ids, old__vault_id=vault_id)
    return links.filter(Q(old__expires_at__isnull=True) | Q(old__expires_at__gt=at))


def _walk(sql: str, vault_id: str, ref: str) -> list[tuple[int, str, str | None, int]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [vault_id, ref, vault_id, CHAIN_LIMIT])
        return sorted(cursor.fetchall(), key=lambda row: row[3])


def refs_in_sight(caller: Caller, refs: Collection[str]) -> frozenset[str]:
    """Return those refs of the vault's that a caller may be told; one statement, and none for whom nothing hides."""
    if caller.projects is None or not refs:
        return frozenset(refs)
    rows = Memory.objects.visible_to(caller).filter(ref__among=refs)
    return frozenset(rows.values_list("ref", flat=True))


def _step(pk: int, ref: str, after: str | None, links: dict[int, Supersession]) -> Step:
    link = links.get(pk)
    if link is None:
        return Step(ref=ref, superseded_by=after)
    return Step(ref=ref, superseded_by=after, reason=link.reason, actor=link.actor, at=link.at)


def proposed_by(caller: Caller, memory: Memory) -> list[str]:
    """Return the refs in the caller's sight that a memory would replace once it is approved."""
    vault_id = memory.vault_id
    rows = ProposedSupersession.objects.filter(vault_id=vault_id, new_id=memory.pk, old__vault_id=vault_id)
    refs = list(rows.order_by("old__ref").values_list("old__ref", flat=True))
    seen = refs_in_sight(caller, refs)
    return [ref for ref in refs if ref in seen]


def conflicts_visible_to(caller: Caller, *, at: datetime) -> QuerySet[Conflict, Conflict]:
    """Conflicts both sides of which the caller may look at, each side loaded."""
    readable = readable_by(caller, at=at).values("pk")
    return (
        Conflict.objects.filter(vault_id=caller.vault.pk, left__vault_id=caller.vault.pk)
        .filter(right__vault_id=caller.vault.pk, left_id__in=readable, right_id__in=readable)
        .select_related("left", "right")
    )


def find_conflict(caller: Caller, ref: str, *, at: datetime) -> Conflict:
    """Raises: NotHere."""
    found = conflicts_visible_to(caller, at=at).filter(ref=ref).first()
    if found is None:
        raise NotHere
    return found
