"""Contradictions are looked for when a claim is written: against what the vault holds, and within the batch.

Events happened and do not contradict one another; every other layer is compared. What an agent or a
whole export says against the user's own words waits for a review; whatever else contradicts is stored, and the pair is
a conflict.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from django.db.models import Q

from memories.access import Caller
from memories.core.contradiction import ReadTexts, contradicts
from memories.core.kinds import Author, Flag, MemoryLayer, Status
from memories.core.text import unpack_hashes
from memories.models import Conflict, Memory
from memories.rows import in_chunks
from memories.search import fulltext

CANDIDATES: Final = 40
COMPARED: Final = 12  # of the candidates of one claim, those that share most words
LOOKUPS_LIMIT: Final = 1_000  # of a larger batch the rest is compared within the batch only
_LONGEST_COMPARED: Final = 2_000
OVERRULING: Final = frozenset({Author.AGENT, Author.INFERRED})
"""Whose word does not stand against the user's without a review."""
ALL_BUT_USER: Final = frozenset(Author) - {Author.USER}
"""The same where a whole export speaks, which nobody read."""


def overrules_user(old: Memory, author: str, overruling: Collection[Author] = OVERRULING) -> bool:
    """Whether a claim of this author in the old one's place would put another word over the user's own."""
    return old.author == Author.USER and author in overruling


def note_contradictions(
    caller: Caller,
    rows: Sequence[Memory],
    *,
    besides: frozenset[int] = frozenset(),
    overruling: Collection[Author] = OVERRULING,
    now: datetime,
) -> None:
    """Write down what contradicts new memories, and let those wait that would overrule the user.

    Args:
        rows: memories just stored and indexed; changed in place where they have to wait.
        besides: ids of memories that do not count.
        overruling: authors whose word against the user's waits.
    """
    compared = [row for row in rows if row.layer != MemoryLayer.EPISODIC]
    if not compared:
        return
    rivals = _rivals(caller, compared, now=now)
    conflicts, waiting = list[Conflict](), dict[int, Memory]()
    read: ReadTexts = {}
    for row in compared:
        for other in rivals.get(row.pk, ()):
            reason = _reason(caller, other, row, read) if other.pk not in besides else None
            if reason is None:
                continue
            conflicts.append(_conflict(other, row, reason, now=now))
            if overrules_user(other, row.author, overruling):
                waiting[row.pk] = row
    Conflict.objects.bulk_create(conflicts, ignore_conflicts=True)
    for row in waiting.values():
        row.status, row.flags = Status.PENDING, [*row.flags, str(Flag.CONTRADICTS_USER)]
        Memory.objects.in_vault(row.vault_id).filter(pk=row.pk).update(status=row.status, flags=row.flags)


def _reason(caller: Caller, old: Memory, new: Memory, read: ReadTexts) -> str | None:
    together = old.project == new.project or "" in {old.project, new.project}
    if not together or not _overlap(old, new):
        return None
    ours, theirs = (memory.content[:_LONGEST_COMPARED] for memory in (old, new))
    return contradicts(ours, theirs, language=caller.vault.language, read=read)


def _overlap(a: Memory, b: Memory) -> bool:
    """Whether both were true at one moment; what stopped before the other began contradicts nothing."""
    ends_before = a.valid_to is not None and a.valid_to <= b.true_since
    begins_after = b.valid_to is not None and b.valid_to <= a.true_since
    return not ends_before and not begins_after


def _conflict(old: Memory, new: Memory, reason: str, *, now: datetime) -> Conflict:
    return Conflict(vault_id=new.vault_id, left_id=old.pk, right_id=new.pk, reason=reason, detected_at=now)


# -- Candidates ----------------------------------------------------------------------------------


def _rivals(caller: Caller, rows: Sequence[Memory], *, now: datetime) -> dict[int, list[Memory]]:
    """Return for each new memory the few that share most words with it: stored ones, and earlier ones of the batch."""
    new = {row.pk: row for row in rows}
    found = _stored_candidates(caller, rows[:LOOKUPS_LIMIT])
    stored = _comparable(caller, {pk for pks in found.values() for pk in pks} - new.keys(), now=now)
    rivals: dict[int, list[Memory]] = {}
    for row, earlier in _batch_candidates(rows):
        rivals[row.pk] = [
            *(new[pk] for pk in earlier),
            *(stored[pk] for pk in found.get(row.pk, ()) if pk in stored),
        ]
    return rivals


def _stored_candidates(caller: Caller, rows: Sequence[Memory]) -> dict[int, list[int]]:
    found = fulltext.alike(
        [row.content[:_LONGEST_COMPARED] for row in rows],
        vault_id=caller.vault.pk,
        language=caller.vault.language,
        limit=CANDIDATES,
    )
    return {row.pk: alike for row, alike in zip(rows, found, strict=True)}


def _comparable(caller: Caller, pks: Iterable[int], *, now: datetime) -> Mapping[int, Memory]:
    found: dict[int, Memory] = {}
    for chunk in in_chunks(set(pks)):
        rows = Memory.objects.in_vault(caller.vault.pk).unsuperseded().filter(pk__in=chunk)
        rows = rows.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), redacted_at__isnull=True)
        rows = rows.exclude(layer=MemoryLayer.EPISODIC).exclude(status=Status.ARCHIVED)
        found |= {row.pk: row for row in rows}
    return found


def _batch_candidates(rows: Sequence[Memory]) -> Iterable[tuple[Memory, list[int]]]:
    """Yield each memory with the ids of earlier ones of the batch that share most words with it."""
    having: dict[int, list[int]] = {}
    for row in rows:
        words = unpack_hashes(bytes(row.term_hashes))
        shared = Counter(pk for word in words for pk in having.get(word, ()))
        best = [pk for pk, count in shared.most_common(COMPARED) if count * 2 >= len(words)]
        yield row, best
        for word in words:
            having.setdefault(word, []).append(row.pk)
