"""How text leaves the vault for good: every copy of it, in whatever table, and word to whoever keeps more.

`withdraw` takes the text of memories away and leaves their rows; `erase` takes the rows too and leaves
tombstones. Both run inside the caller's transaction.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Concat

from memories.core.passages import Passages, cut
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
from memories.writing.decisions import MEMORY_REF, hush_decisions
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
WORDS_SOUGHT: Final = 10
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_WORD: Final = re.compile(r"[^\W_]")


def erase(
    vault: Vault,
    memories: Sequence[Memory],
    *,
    actor: str,
    projects: frozenset[str] | None = None,
    now: datetime,
) -> Counter[str]:
    """Forget memories: rows, texts, links, index entries; what is left are tombstones without content.

    Args:
        projects: those that whoever is told the figures sees; None for all.
    Returns: how much went, by class.
    """
    erased = withdraw(vault, memories, projects=projects)
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


def withdraw(
    vault: Vault, memories: Sequence[Memory], *, projects: frozenset[str] | None = None
) -> Counter[str]:
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
        erased.update(_withdraw_some(vault, some, projects))
    scrub_after_commit()
    return erased


def _withdraw_some(vault: Vault, memories: Sequence[Memory], projects: frozenset[str] | None) -> Counter[str]:
    pks = [memory.pk for memory in memories]
    texts = texts_of(memories)
    erased = Counter[str](_erase_evidence(vault.pk, memories, texts))
    erased["entities"] += unlink_entities(vault.pk, pks, projects=projects)
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
    named = Q(*(Q(told__contains=memory.ref) for memory in memories), _connector=Q.OR)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The erased memories of one text in one project."""

    memories: tuple[Memory, ...]

    @property
    def text(self) -> str:
        return self.memories[0].content

    @property
    def project(self) -> str:
        return self.memories[0].project

    @property
    def content_hash(self) -> str:
        return self.memories[0].content_hash


def rows_holding(gone: Sequence[Gone]) -> int:
    """Count the rows that still hold the texts of erased memories, each row once for each text.

    What counts: memories of their project with exactly this text, evidence of it within the project, remembered
    answers about them, and decisions, whatever the case, the accents and the wrapping. Another project's memory of
    the same text is that project's own. Each table is read once, however many texts there are.
    """
    vault_id = gone[0].memories[0].vault_id
    total = _answers_quoting(vault_id, gone) + _decisions_quoting(vault_id, gone)
    for project in sorted({each.project for each in gone}):
        here = [each for each in gone if each.project == project]
        total += _twins_left(vault_id, project, here) + _evidence_quoting(vault_id, project, here)
    return total


def _twins_left(vault_id: str, project: str, gone: Sequence[Gone]) -> int:
    own = Memory.objects.in_vault(vault_id).filter(project=project)
    hashes = {each.content_hash for each in gone}
    summaries = _near(own.filter(summary__isnull=False), ("summary",), [each.text for each in gone])
    told = summaries.values_list("summary", flat=True).iterator()
    return own.filter(content_hash__among=sorted(hashes)).count() + sum(
        content_hash(summary or "") in hashes for summary in told
    )


def _evidence_quoting(vault_id: str, project: str, gone: Sequence[Gone]) -> int:
    sought = [each.text for each in gone]
    captures = Capture.objects.filter(vault_id=vault_id, project=project)
    sources = Source.objects.filter(vault_id=vault_id, memory__vault_id=vault_id, memory__project=project)
    return _count_quoting(captures, ("content", "title"), sought) + _count_quoting(
        sources, ("text", "title"), sought
    )


def _answers_quoting(vault_id: str, gone: Sequence[Gone]) -> int:
    texts = {memory.ref: each.text for each in gone for memory in each.memories}
    rows = IdempotencyRecord.objects.filter(vault_id=vault_id, body__isnull=False)
    told = rows.annotate(told=Cast("body", TextField())).values_list("told", "body")
    count = 0
    for written, body in told.iterator():
        if about := {texts[ref] for ref in MEMORY_REF.findall(written) if ref in texts}:
            count += len(Passages.of(about).quoted_in(*_strings_in(body)))
    return count


def _decisions_quoting(vault_id: str, gone: Sequence[Gone]) -> int:
    """Count the decisions that hold a text, but for those about another project's memories."""
    texts: dict[str, set[str]] = {}
    for each in gone:
        texts.setdefault(each.project, set()).add(each.text)
    passages = {project: Passages.of(some) for project, some in texts.items()}
    projects = Memory.objects.in_vault(vault_id).filter(ref=OuterRef("memory")).values("project")[:1]
    rows = Decision.objects.filter(vault_id=vault_id).annotate(of_project=Subquery(projects))
    told = ~Q(reason="") | Q(before__isnull=False) | Q(kept__isnull=False)
    sought = [text for some in texts.values() for text in some]
    if all(
        _PLAIN_WORD.search(text) for text in sought
    ):  # other letters may be escaped in what is stored as JSON
        columns = (Cast(name, TextField()) for name in ("before", "after", "kept"))
        rows = _near(
            rows.annotate(words=Concat("reason", *columns, output_field=TextField())), ("words",), sought
        )
    found = rows.filter(told).values_list("of_project", "reason", "before", "after", "kept")
    return sum(
        len(some.quoted_in(*_strings_in(list(row))))
        for about, *row in found.iterator()
        for project, some in passages.items()
        if about is None or about == project
    )


def _count_quoting(rows: QuerySet[Any, Any], columns: tuple[str, ...], texts: Sequence[str]) -> int:
    passages = Passages.of(texts)
    told = _near(rows, columns, texts).values_list(*columns)
    return sum(len(passages.quoted_in(*row)) for row in told.iterator())


def _near(rows: QuerySet[Any, Any], columns: tuple[str, ...], texts: Sequence[str]) -> QuerySet[Any, Any]:
    """Narrow rows to those that may hold a text: that have its longest word, which no engine spells otherwise.

    For many texts all rows are read: to compare each with each word would cost the engine more.
    """
    words = [
        max(plain, key=len) for text in texts if (plain := _PLAIN_WORD.findall(text) or _WORD.findall(text))
    ]
    if len(words) < len(texts) or len(words) > WORDS_SOUGHT:
        return rows
    # SQLite folds the case of ASCII alone
    forms = {form for word in words for form in (word, word.lower(), word.upper(), word.capitalize())}
    found = (Q(**{f"{column}__icontains": form}) for column in columns for form in sorted(forms))
    return rows.filter(Q(*found, _connector=Q.OR))


def _strings_in(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping):
        for value in body.values():
            yield from _strings_in(value)
    elif isinstance(body, list):
        for value in body:
            yield from _strings_in(value)
