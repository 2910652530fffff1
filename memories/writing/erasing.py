"""How text leaves the vault for good: every copy of it, in whatever table, and word to whoever keeps more.

`withdraw` takes the text of memories away and leaves their rows; `erase` takes the rows too and leaves
tombstones. Both run inside the caller's transaction.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, Final

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast, Concat

from memories.core.passages import cut, quotes
from memories.core.text import content_hash
from memories.models import (
    Capture,
    Conflict,
    Decision,
    IdempotencyRecord,
    Memory,
    ProposedSupersession,
    Source,
    Supersession,
    Tombstone,
    Vault,
)
from memories.rows import delete_rows, in_chunks
from memories.search.facade import drop_memories
from memories.search.scrubbing import scrub_after_commit
from memories.signals import content_withdrawn
from memories.writing.decisions import hush_decisions
from memories.writing.naming import unlink_entities

FORGOTTEN_MARK: Final = "[forgotten]"
GONE_STATUS: Final = 410
ERASED_AT_ONCE: Final = 200
WITHOUT_WORDS: Final[Mapping[str, Any]] = {
    "content": "",
    "summary": None,
    "tags": [],
    "thread": None,
    "position": None,
    "speaker": None,
}
"""What a redacted memory has in the columns that held anybody's words."""
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_WORD: Final = re.compile(r"[^\W_]")


def erase(vault: Vault, memories: Sequence[Memory], *, actor: str, now: datetime) -> Counter[str]:
    """Forget memories: rows, texts, links, index entries; what is left are tombstones without content.

    Returns: how much went, by class.
    """
    erased = withdraw(vault, memories)
    pks = [memory.pk for memory in memories]
    replaced = Memory.objects.in_vault(vault.pk).filter(pk__among=pks, superseded_by__isnull=False)
    have_heirs = frozenset(replaced.values_list("pk", flat=True))
    for memory in memories:
        if memory.pk in have_heirs:
            _close_ranks(memory)
    of_them = Q(left_id__in=pks) | Q(right_id__in=pks)
    erased["conflicts"] += delete_rows(Conflict.objects.filter(of_them, vault_id=vault.pk))
    either_end = Q(old_id__in=pks) | Q(new_id__in=pks)
    for links in (Supersession, ProposedSupersession):
        delete_rows(links.objects.filter(either_end, vault_id=vault.pk))
    erased["memories"] += delete_rows(Memory.objects.in_vault(vault.pk).filter(pk__in=pks))
    Tombstone.objects.bulk_create(
        [Tombstone(vault_id=vault.pk, ref=memory.ref, forgotten_at=now, actor=actor) for memory in memories],
        ignore_conflicts=True,
    )
    return erased


def withdraw(vault: Vault, memories: Sequence[Memory]) -> Counter[str]:
    """Take away every copy of the memories' text but the rows' own columns, some memories at a time: what looks for
    copies names each of them, and an engine takes no statement of any length.

    Returns: how much went, by class; listeners of `content_withdrawn` add their own classes.
    """
    # The memories first, then what keeps copies of them: whoever pins a pack locks in the same order.
    list(
        Memory.objects.in_vault(vault.pk)
        .filter(pk__among=[memory.pk for memory in memories])
        .order_by("pk")
        .select_for_update()
        .values_list("pk")
    )
    erased = Counter[str]()
    for some in in_chunks(memories, ERASED_AT_ONCE):
        erased.update(_withdraw_some(vault, some))
    scrub_after_commit()
    return erased


def _withdraw_some(vault: Vault, memories: Sequence[Memory]) -> Counter[str]:
    pks = [memory.pk for memory in memories]
    texts = texts_of(memories)
    erased = Counter[str](_erase_evidence(vault.pk, memories, texts))
    erased["entities"] += unlink_entities(vault.pk, pks)
    erased["answers"] += _erase_answers(memories)
    _silence_links(vault.pk, pks)
    refs = [memory.ref for memory in memories]
    erased["decisions"] += hush_decisions(vault.pk, refs, texts, mark=FORGOTTEN_MARK)
    erased.update(drop_memories(vault.pk, pks))
    erased.update(announce(vault.pk, memories, erase=True, texts=texts))
    return erased


def announce(
    vault_id: str, memories: Sequence[Memory], *, erase: bool, texts: tuple[str, ...] = ()
) -> Counter[str]:
    """Tell whoever keeps copies that content was withdrawn.

    Args:
        texts: what is erased.
    Returns: what the listeners erased.
    """
    refs = frozenset(memory.ref for memory in memories)
    erased = Counter[str]()
    answers: list[tuple[Any, Any]] = content_withdrawn.send(
        sender=Memory, vault_id=vault_id, refs=refs, erase=erase, texts=texts
    )
    for _, told in answers:
        if isinstance(told, Mapping):
            erased.update(told)
    return erased


def texts_of(memories: Sequence[Memory]) -> tuple[str, ...]:
    """Return each distinct text and summary of memories."""
    said = (text for memory in memories for text in (memory.content, memory.summary) if text)
    return tuple(dict.fromkeys(said))


def cut_out(text: str, passages: Iterable[str]) -> str:
    """Replace each whole occurrence of passages within a text, however it is wrapped or spelled there."""
    return cut(text, passages, mark=FORGOTTEN_MARK) if text else text


# -- Evidence ------------------------------------------------------------------------------------


def _erase_evidence(vault_id: str, memories: Sequence[Memory], texts: Sequence[str]) -> dict[str, int]:
    """Delete the sources, and the captures that nothing else cites; cut the text out of those that stay."""
    own = Source.objects.filter(vault_id=vault_id, memory_id__in=[memory.pk for memory in memories])
    rows = list(own.values_list("url", "capture_id"))
    sources = delete_rows(own)
    cited = {capture for _, capture in rows if capture is not None}
    kept = set(
        Source.objects.filter(vault_id=vault_id, capture_id__in=cited).values_list("capture_id", flat=True)
    )
    captures = delete_rows(Capture.objects.filter(vault_id=vault_id, pk__in=cited - kept))
    passages = _cut_captures(vault_id, kept, texts) + _cut_sources(vault_id, {url for url, _ in rows}, texts)
    return {"sources": sources, "captures": captures, "passages": passages}


def _cut_captures(vault_id: str, pks: set[int], texts: Sequence[str]) -> int:
    count = 0
    for capture in Capture.objects.filter(vault_id=vault_id, pk__in=pks):
        content, title = cut_out(capture.content, texts), cut_out(capture.title, texts)
        if (content, title) != (capture.content, capture.title):
            # Without its hash the shortened text is no twin of the same capture coming again.
            rows = Capture.objects.filter(vault_id=vault_id, pk=capture.pk)
            count += rows.update(content=content, title=title[:500], content_hash="")
    return count


def _cut_sources(vault_id: str, urls: set[str], texts: Sequence[str]) -> int:
    count = 0
    for source in Source.objects.filter(vault_id=vault_id, url__in=urls).exclude(text="", title=""):
        text, title = cut_out(source.text, texts), cut_out(source.title, texts)
        if (text, title) != (source.text, source.title):
            rows = Source.objects.filter(vault_id=vault_id, pk=source.pk)
            count += rows.update(text=text, title=title[:500])
    return count


def _erase_answers(memories: Sequence[Memory]) -> int:
    """Empty the remembered answers that tell the memories' text; their keys stay, so that a retry revives nothing."""
    pks = list(_answers_about(memories).filter(told__contains='"content"').values_list("pk", flat=True))
    rows = IdempotencyRecord.objects.filter(vault_id=memories[0].vault_id, pk__in=pks)
    return rows.update(status=GONE_STATUS, body=None) if pks else 0


def _answers_about(memories: Sequence[Memory]) -> QuerySet[Any, Any]:
    named = reduce(or_, (Q(told__contains=memory.ref) for memory in memories))
    rows = IdempotencyRecord.objects.filter(vault_id=memories[0].vault_id, body__isnull=False)
    return rows.annotate(told=Cast("body", TextField())).filter(named)


# -- Links ---------------------------------------------------------------------------------------


def _silence_links(vault_id: str, pks: Sequence[int]) -> None:
    """Take away why memories replaced, or were replaced: the reasons may quote them."""
    either_end = Q(old_id__in=pks) | Q(new_id__in=pks)
    for links in (Supersession, ProposedSupersession):
        links.objects.filter(either_end, vault_id=vault_id).exclude(reason="").update(reason="")


def _close_ranks(memory: Memory) -> None:
    """Let what a memory replaced point to what replaced it; without such, it stays replaced by nobody."""
    vault_id = memory.vault_id
    own = (
        Memory.objects.in_vault(vault_id).filter(pk=memory.pk).values_list("superseded_by", flat=True).first()
    )
    after = (
        Memory.objects.in_vault(vault_id).filter(ref=own).values_list("pk", flat=True).first()
        if own
        else None
    )
    if after is None:
        return
    Memory.objects.in_vault(vault_id).filter(superseded_by=memory.ref).update(superseded_by=own)
    Supersession.objects.filter(vault_id=vault_id, new_id=memory.pk).update(new_id=after)


# -- Probes --------------------------------------------------------------------------------------


def rows_holding(memories: Sequence[Memory]) -> int:
    """Count the rows that still hold the text of erased memories, which are all of one text.

    What counts: memories of their project with exactly this text, evidence of it within the project, remembered
    answers about them, and decisions, whatever the case, the accents and the wrapping. Another project's memory of
    the same text is that project's own.
    """
    first = memories[0]
    vault_id, text = first.vault_id, first.content
    own = Memory.objects.in_vault(vault_id).filter(project=first.project)
    summaries = _near(own.filter(summary__isnull=False), ("summary",), text).values_list("summary", flat=True)
    captures = Capture.objects.filter(vault_id=vault_id, project=first.project)
    sources = Source.objects.filter(
        vault_id=vault_id, memory__vault_id=vault_id, memory__project=first.project
    )
    answers = _answers_about(memories).values_list("body", flat=True)
    return (
        own.filter(content_hash=first.content_hash).count()
        + sum(content_hash(summary or "") == first.content_hash for summary in summaries)
        + _count_quoting(captures, ("content", "title"), text)
        + _count_quoting(sources, ("text", "title"), text)
        + sum(any(quotes(said, text) for said in _strings_in(body)) for body in answers)
        + _decisions_quoting(first, text)
    )


def _decisions_quoting(first: Memory, text: str) -> int:
    """Count the decisions that hold a text, but for those about another project's memories."""
    of_others = Memory.objects.in_vault(first.vault_id).exclude(project=first.project)
    rows = Decision.objects.filter(vault_id=first.vault_id).exclude(memory__in=of_others.values("ref"))
    told = ~Q(reason="") | Q(before__isnull=False) | Q(kept__isnull=False)
    if _PLAIN_WORD.search(text):  # any other letter may be escaped in what is stored as JSON
        columns = (Cast(name, TextField()) for name in ("before", "after", "kept"))
        rows = _near(
            rows.annotate(words=Concat("reason", *columns, output_field=TextField())), ("words",), text
        )
    kept = rows.filter(told).values_list("reason", "before", "after", "kept")
    return sum(any(quotes(said, text) for said in _strings_in(list(row))) for row in kept.iterator())


def _count_quoting(rows: QuerySet[Any, Any], columns: tuple[str, ...], text: str) -> int:
    told = _near(rows, columns, text).values_list(*columns)
    return sum(any(quotes(said, text) for said in row) for row in told.iterator())


def _near(rows: QuerySet[Any, Any], columns: tuple[str, ...], text: str) -> QuerySet[Any, Any]:
    """Narrow rows to those that may hold a text: that have its longest word, which no engine spells otherwise."""
    plain = _PLAIN_WORD.findall(text) or _WORD.findall(text)
    if not plain:
        return rows
    word = max(plain, key=len)
    spelled = {word, word.lower(), word.upper(), word.capitalize()}  # SQLite folds the case of ASCII alone
    found = (Q(**{f"{column}__icontains": form}) for column in columns for form in sorted(spelled))
    return rows.filter(reduce(or_, found))


def _strings_in(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping):
        for value in body.values():
            yield from _strings_in(value)
    elif isinstance(body, list):
        for value in body:
            yield from _strings_in(value)
