"""Contradictions are looked for when a claim is written: against what its writer sees, and within the batch.

Events happened and do not contradict one another; every other layer is compared. A text that was corrected and comes
back, whatever its layer, contradicts what stands in its place now. What an agent or a whole export says against the
user's own words, or against a correction of the user's, waits for a review; whatever else contradicts is stored, and
the pair is a conflict.

What the writer does not see is not compared: that a claim waits, or does not, would tell what others wrote.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from django.db.models import Q

from memories.access import Caller
from memories.core.contradiction import ReadTexts, contradicts
from memories.core.kinds import Author, Flag, MemoryLayer, Status
from memories.core.supersession import walk_from
from memories.core.text import unpack_hashes
from memories.lineage import successors_of
from memories.models import Conflict, Memory, Supersession
from memories.querysets import MemoryQuerySet
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
CORRECTED: Final = "corrected"  # why a text that was superseded conflicts with what replaced it
_A_PERSON: Final = "user:"  # how the actor of a person who is logged in begins


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
    conflicts, waiting = list[Conflict](), dict[int, Memory]()
    for row, head, is_users in _corrections(caller, rows, now=now):
        if head.pk in besides or not _overlap(head, row):
            continue
        conflicts.append(_conflict(head, row, CORRECTED, now=now))
        if is_users and row.author in overruling:
            waiting[row.pk] = row
    compared = [row for row in rows if row.layer != MemoryLayer.EPISODIC]
    rivals = _rivals(caller, compared, now=now)
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
    _let_wait(caller, waiting.values())


def _let_wait(caller: Caller, rows: Iterable[Memory]) -> None:
    """Let memories wait for a review; a statement for each set of flags, which are few."""
    flagged: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        row.status, row.flags = Status.PENDING, [*row.flags, str(Flag.CONTRADICTS_USER)]
        flagged.setdefault(tuple(row.flags), []).append(row.pk)
    for flags, pks in flagged.items():
        those = Memory.objects.in_vault(caller.vault.pk).filter(pk__among=pks)
        those.update(status=Status.PENDING, flags=list(flags))


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
    if not rows:
        return {}
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
        allowed=None if caller.projects is None else partial(_in_sight, caller),
        limit=CANDIDATES,
    )
    return {row.pk: alike for row, alike in zip(rows, found, strict=True)}


def _in_sight(caller: Caller, pks: Sequence[int]) -> list[int]:
    return list(Memory.objects.visible_to(caller).filter(pk__among=pks).values_list("pk", flat=True))


def _comparable(caller: Caller, pks: Iterable[int], *, now: datetime) -> Mapping[int, Memory]:
    found: dict[int, Memory] = {}
    for chunk in in_chunks(set(pks)):
        rows = _current(caller, now=now).filter(pk__in=chunk).exclude(layer=MemoryLayer.EPISODIC)
        found |= {row.pk: row for row in rows}
    return found


def _current(caller: Caller, *, now: datetime) -> MemoryQuerySet:
    rows = Memory.objects.visible_to(caller).unsuperseded().exclude(status=Status.ARCHIVED)
    return rows.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), redacted_at__isnull=True)


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


# -- What was corrected --------------------------------------------------------------------------


def _corrections(
    caller: Caller, rows: Sequence[Memory], *, now: datetime
) -> Iterable[tuple[Memory, Memory, bool]]:
    """Yield each memory whose text was superseded before, with what stands in that one's place now.

    Yields: the new memory, the active head, and whether the head's words or the correction are the user's own. One
        statement where no text comes back, four where some do.
    """
    returning = {(row.project, row.content_hash): row for row in rows}
    known = superseded_texts(caller, [digest for _, digest in returning])
    twins = [twin for twin in known if (twin.project, twin.content_hash) in returning]
    if not twins:
        return
    after = successors_of(caller.vault.pk, [twin.ref for twin in twins])
    ways = {twin.pk: walk_from(twin.ref, after) for twin in twins}
    ends = {way[-1] for way in ways.values()}
    heads = {head.ref: head for head in _current(caller, now=now).filter(ref__among=list(ends))}
    decided = _decided_by_the_user(caller.vault.pk, {ref for way in ways.values() for ref in way[:-1]})
    for twin in twins:
        row, head = returning[twin.project, twin.content_hash], heads.get(ways[twin.pk][-1])
        if head is not None and head.content_hash != row.content_hash:
            yield row, head, head.author == Author.USER or not decided.isdisjoint(ways[twin.pk][:-1])


def superseded_texts(caller: Caller, hashes: Sequence[str]) -> MemoryQuerySet:
    """Memories in the caller's sight that were superseded and have one of these texts; found by their own index."""
    rows = Memory.objects.visible_to(caller).filter(content_hash__among=hashes, redacted_at__isnull=True)
    return rows.filter(superseded_by__isnull=False)


def _decided_by_the_user(vault_id: str, refs: Collection[str]) -> frozenset[str]:
    """Return those superseded memories that the user replaced: words of the user's go only if the user says so."""
    links = Supersession.objects.filter(vault_id=vault_id, old__vault_id=vault_id, old__ref__among=list(refs))
    links = links.filter(Q(actor__startswith=_A_PERSON) | Q(old__author=Author.USER))
    return frozenset(links.values_list("old__ref", flat=True))
