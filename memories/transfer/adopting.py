"""Drafts from other products into a vault, by the way that our own lines go: `import_lines`.

A ref is derived from the vault, the product, the project and the external id. So importing twice changes nothing,
and what was forgotten or corrected here stays so. The rules where a vault has something already:

- The same row with the same text is skipped. A text that the project knows already is skipped, whoever said it.
- A fact that the product changed since becomes the successor of what was imported then, unless what stands here is
  newer than the change; over the user's own words it is a proposal.
- What contradicts the user's own words waits for a review; other contradictions are listed as conflicts.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, Final

from django.db import transaction

from cortex.errors import CortexError
from memories.access import Caller
from memories.core.entities import spot_entities
from memories.core.extraction import extract
from memories.core.imports.drafts import Conversation, Draft, Fact, Message, Note, Unread
from memories.core.kinds import Author, Kind, Status, layer_of
from memories.core.text import content_hash, sentences
from memories.ids import ref_from
from memories.lineage import successors_of
from memories.models import Memory
from memories.rows import in_chunks
from memories.transfer.importing import ImportReport, import_lines
from memories.transfer.landing import HERE, OTHERWISE
from memories.transfer.rowforms import FORMAT, HEADER
from memories.wire import moment
from memories.writing.citing import capture_url
from memories.writing.contradicting import ALL_BUT_USER, note_contradictions
from memories.writing.inputs import CONTENT_LIMIT
from memories.writing.naming import link_entities
from memories.writing.preparing import NAME_LENGTH, Masking, entity_names
from memories.writing.superseding import supersede

BATCH: Final = 50  # conversations, notes; facts go by the thousand, since they may replace one another
FACTS_BATCH: Final = 5_000
LONGEST_MESSAGE: Final = 50_000  # characters; a longer one is split
LARGEST_CAPTURE: Final = 900_000  # bytes, under the limit of a capture
"""The text of a conversation is kept in captures of this size."""
_ROLES: Final = frozenset({"user", "assistant"})

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What did not go in, where it stood, and why."""

    place: str
    reason: str
    ref: str | None = None

    def as_wire(self) -> dict[str, Any]:
        return {"place": self.place, "ref": self.ref, "reason": self.reason}


@dataclass(slots=True, kw_only=True)
class Adoption:
    """What became of an export: counts first, then every row that was left out."""

    read: Counter[str] = field(default_factory=Counter)  # conversations, messages, notes, facts
    imported: Counter[str] = field(default_factory=Counter)  # captures, memories, sources, supersessions
    waiting: int = 0  # of the memories, those that a person has to review first
    left: list[Left] = field(default_factory=list)

    def reasons(self) -> Counter[str]:
        return Counter(_kind_of_reason(each.reason) for each in self.left)

    def as_wire(self) -> dict[str, Any]:
        return {
            "read": dict(self.read),
            "imported": dict(self.imported),
            "waiting_for_review": self.waiting,
            "skipped": len(self.left),
            "skipped_by_reason": dict(self.reasons().most_common()),
            "rows": [each.as_wire() for each in self.left],
        }


def adopt(
    caller: Caller,
    drafts: Iterable[Draft | Unread],
    *,
    product: str,
    project: str = "",
    now: datetime,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Adoption:
    """Take drafts into the caller's vault.

    Args:
        product: whose external ids these are; cited with each memory.
        project: the label that all of it gets.
        dry_run: do it all and take it back.
        progress: told how many drafts are dealt with.
    """
    run = _Run(caller=caller, product=product, project=project, now=now)
    if not dry_run:
        run.take(drafts, progress)
        return run.done
    with transaction.atomic():
        run.take(drafts, progress)
        transaction.set_rollback(True)
    return run.done


def _kind_of_reason(reason: str) -> str:
    """Group reasons that differ in a ref only."""
    return " ".join("…" if "_" in word and word[:4] in {"mem_", "cap_"} else word for word in reason.split())


@dataclass(slots=True, kw_only=True)
class _Claim:
    """One memory to be, with what is tied to it."""

    place: str
    row: Row
    sources: list[Row]
    entities: tuple[str, ...]
    changed_at: datetime | None = None
    replaced_by: str | None = None


@dataclass(slots=True, kw_only=True)
class _Run:
    caller: Caller
    product: str
    project: str
    now: datetime
    done: Adoption = field(default_factory=Adoption)

    def take(self, drafts: Iterable[Draft | Unread], progress: Callable[[int], None] | None) -> None:
        dealt = 0
        for batch in _batches(drafts):
            self._batch(batch)
            dealt += len(batch)
            if progress is not None:
                progress(dealt)

    def _batch(self, batch: Sequence[Draft | Unread]) -> None:
        captures: list[Row] = []
        claims: dict[str, _Claim] = {}
        for draft in batch:
            if isinstance(draft, Unread):
                self.done.left.append(Left(place=draft.place, reason=draft.reason))
                continue
            for each in self._made(draft, captures):
                if each.row["ref"] in claims:
                    self._leave(each, "comes twice in the export")
                else:
                    claims[each.row["ref"]] = each
        self._update(claims)
        self._land(captures, claims)

    def _leave(self, claim: _Claim, reason: str) -> None:
        self.done.left.append(Left(place=claim.place, reason=reason, ref=claim.row["ref"]))

    # -- From drafts to rows -----------------------------------------------------------------------

    def _made(self, draft: Draft, captures: list[Row]) -> Iterator[_Claim]:
        if isinstance(draft, Fact):
            self.done.read["facts"] += 1
            yield self._fact(draft)
        elif isinstance(draft, Note):
            self.done.read["notes"] += 1
            yield from self._note(draft, captures)
        else:
            self.done.read["conversations"] += 1
            self.done.read["messages"] += len(draft.messages)
            yield from self._conversation(draft, captures)

    def _ref(self, prefix: str, *parts: str) -> str:
        seed = "\x1f".join([self.caller.vault.pk, self.product, self.project, *parts])
        return ref_from(prefix, blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=16).digest())

    def _fact(self, fact: Fact) -> _Claim:
        ref = self._ref("mem", "fact", fact.external_id)
        row = self._row(
            ref,
            fact.content,
            fact.kind,
            occurred_at=fact.occurred_at,
            confidence=fact.confidence,
            valid_from=fact.valid_from,
            valid_to=_after(fact.valid_to, fact.valid_from),
            expires_at=fact.expires_at,
            tags=list(fact.tags),
            status=str(Status.ARCHIVED if fact.is_archived else Status.APPROVED),
            captured_at=fact.changed_at,
        )
        successor = self._ref("mem", "fact", fact.replaced_by) if fact.replaced_by else None
        return _Claim(
            place=fact.external_id[:80],
            row=row,
            sources=[self._source(ref, self._address(fact.external_id), fact.title)],
            entities=fact.entities,
            changed_at=fact.changed_at,
            replaced_by=successor,
        )

    def _note(self, note: Note, captures: list[Row]) -> Iterator[_Claim]:
        drafts = extract(note.text, occurred_at=note.occurred_at, language=self.caller.vault.language)
        parts = [(str(draft.position), draft.content, draft) for draft in drafts]
        kept = _Kept(self, note, [(key, text, text) for key, text, _ in parts], captures)
        for key, text, draft in parts:
            # Its text is part of what a passage is: a note that was edited has other passages.
            ref = self._ref("mem", "note", note.external_id, content_hash(text))
            row = self._row(
                ref,
                text[:CONTENT_LIMIT],
                draft.kind,
                occurred_at=note.occurred_at,
                tags=list(note.tags),
                thread=kept.thread,
                position=draft.position,
                speaker=draft.speaker,
            )
            yield _Claim(
                place=f"{note.external_id[:80]}#{key}",
                row=row,
                sources=kept.sources(ref, key),
                entities=tuple(dict.fromkeys((*note.entities, *_unmasked(draft.entities, text))))[:20],
            )

    def _conversation(self, talk: Conversation, captures: list[Row]) -> Iterator[_Claim]:
        said = list(_split(talk.messages))
        lines = [(m.external_id, m.text, f"{m.speaker}: {m.text}") for m in said]
        kept = _Kept(self, talk, lines, captures)
        for position, message in enumerate(said):
            ref = self._ref("mem", "message", talk.external_id, message.external_id)
            row = self._row(
                ref,
                message.text,
                Kind.OBSERVATION,
                occurred_at=message.occurred_at or talk.occurred_at,
                thread=kept.thread,
                position=position,
                speaker=message.speaker,
            )
            named = () if message.speaker in _ROLES else (message.speaker,)
            yield _Claim(
                place=f"{talk.external_id[:80]}#{position}",
                row=row,
                sources=kept.sources(ref, message.external_id),
                entities=tuple(
                    dict.fromkeys((*named, *_unmasked(spot_entities(message.text), message.text)))
                ),
            )

    def _row(self, ref: str, content: str, kind: Kind, **stated: Any) -> Row:
        captured_at = stated.pop("captured_at", None) or stated["occurred_at"] or self.now
        times = ("occurred_at", "valid_from", "valid_to", "expires_at")
        values: Row = {
            "ref": ref,
            "content": content,
            "summary": None,
            "kind": str(kind),
            "layer": str(layer_of(kind)),
            "project": self.project,
            "status": str(Status.APPROVED),
            "author": str(Author.IMPORT),
            "confidence": None,
            "captured_at": moment(min(captured_at, self.now)),
            "recorded_at": moment(self.now),
            "entities": [],
            "tags": [],
            "thread": None,
            "position": None,
            "speaker": None,
            "occurrences": 1,
            "flags": [],
            "withheld": False,
            "reviewed_at": None,
            "reviewed_by": "",
            "redacted_at": None,
            "superseded_by": None,
            "superseded_at": None,
            "superseded_from": None,
        }
        return values | stated | {name: moment(stated.get(name)) for name in times}

    def _source(self, memory: str, url: str, title: str, capture: str | None = None) -> Row:
        return {
            "memory": memory,
            "url": url,
            "title": title[:500],
            "text": "",
            "capture": capture,
            "added_at": moment(self.now),
        }

    def _address(self, external_id: str) -> str:
        """Return an address that says where a row comes from, without its words."""
        digest = blake2b(external_id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"import:{self.product}/{digest}"

    # -- What is here already ----------------------------------------------------------------------

    def _update(self, claims: dict[str, _Claim]) -> None:
        """Let facts that the product changed since succeed what was imported then; they leave the batch."""
        vault_id = self.caller.vault.pk
        for chunk in in_chunks(list(claims)):
            for memory in Memory.objects.in_vault(vault_id).filter(ref__in=chunk):
                claim = claims[memory.ref]
                if memory.redacted_at is None and memory.content_hash != _stored_hash(claim):
                    self._succeed(memory, claims.pop(memory.ref))

    def _succeed(self, stored: Memory, claim: _Claim) -> None:
        head = self._head(stored)
        text = claim.row["content"]
        if head is None or head.content_hash == _stored_hash(claim):
            self._leave(claim, "here already")
            return
        if claim.changed_at is None or claim.changed_at <= head.captured_at:
            self._leave(claim, "here already with other words, and not older than these")
            return
        stated = {"author": Author.IMPORT, "captured_at": claim.changed_at, "entities": claim.entities}
        try:
            done = supersede(
                self.caller,
                head.ref,
                content=text,
                stated=stated,
                reason=f"changed in {self.product}",
                overruling=ALL_BUT_USER,
                now=self.now,
            )
        except CortexError as refusal:
            self._leave(claim, refusal.detail)
            return
        self.done.imported["memories"] += done.created
        self.done.imported["supersessions"] += done.carried_out
        self.done.waiting += not done.carried_out

    def _head(self, stored: Memory) -> Memory | None:
        """Return what stands in a memory's place now; None where that was redacted."""
        ref, after = stored.ref, successors_of(self.caller.vault.pk, [stored.ref])
        seen: set[str] = set()
        while ref in after and ref not in seen:
            seen.add(ref)
            ref = after[ref]
        rows = Memory.objects.in_vault(self.caller.vault.pk).filter(redacted_at__isnull=True)
        return rows.filter(ref=ref).first()

    # -- Storing -----------------------------------------------------------------------------------

    def _land(self, captures: Sequence[Row], claims: Mapping[str, _Claim]) -> None:
        rows = [claim.row for claim in claims.values()]
        links = list(self._links(claims))
        sources = [source for claim in claims.values() for source in claim.sources]
        cited = {source["capture"] for source in sources}  # a text that nothing cites is not kept
        lines = [
            {HEADER: FORMAT},
            *({"class": "capture", **row} for row in captures if row["ref"] in cited),
            *({"class": "memory", **row} for row in rows),
            *({"class": "source", **row} for row in sources),
            *({"class": "supersession", **row} for row in links),
        ]
        report = import_lines(self.caller.vault, (json.dumps(line).encode() for line in lines), now=self.now)
        gone = {skipped.ref for skipped in report.skipped if skipped.class_name == "memory"}
        self._tell(report, claims, gone=gone)
        self._tie({ref: claim for ref, claim in claims.items() if ref not in gone})

    def _tell(self, report: ImportReport, claims: Mapping[str, _Claim], *, gone: Set[str | None]) -> None:
        self.done.imported.update({name: count for name, count in report.imported.items() if count})
        for skipped in report.skipped:
            is_here = skipped.reason in {HERE, OTHERWISE}
            if skipped.class_name != "memory" and (is_here or skipped.ref in gone):
                continue  # told once, of the memory
            claim = claims.get(str(skipped.ref))
            place = claim.place if claim else str(skipped.ref)
            reason = HERE if is_here else skipped.reason
            self.done.left.append(Left(place=place, ref=skipped.ref, reason=reason))

    def _links(self, claims: Mapping[str, _Claim]) -> Iterator[Row]:
        """Tell who replaced whom within the export, and mark the replaced as such."""
        for ref, claim in claims.items():
            if claim.replaced_by is None:
                continue
            successor = claims.get(claim.replaced_by)
            if successor is None or claim.replaced_by == ref:
                self._leave(claim, "goes in as current: its successor is not in the export")
                continue
            since = successor.row["valid_from"] or successor.row["occurred_at"] or moment(self.now)
            claim.row |= {
                "superseded_by": claim.replaced_by,
                "superseded_at": moment(self.now),
                "superseded_from": since,
            }
            yield {
                "old": ref,
                "new": claim.replaced_by,
                "reason": f"replaced in {self.product}",
                "actor": f"import:{self.product}"[:200],
                "at": moment(self.now),
            }

    def _tie(self, fresh: Mapping[str, _Claim]) -> None:
        """Say what the new memories are about, and what they contradict."""
        if not fresh:
            return
        with transaction.atomic():
            stored: list[Memory] = []
            for chunk in in_chunks(list(fresh)):
                stored += Memory.objects.in_vault(self.caller.vault.pk).filter(ref__in=chunk)
            names = {
                memory.pk: _nameable(fresh[memory.ref].entities) or spot_entities(memory.content)
                for memory in stored
                if memory.redacted_at is None
            }
            link_entities(self.caller.vault.pk, names, now=self.now)
            current = [m for m in stored if m.superseded_by is None and m.status == Status.APPROVED]
            note_contradictions(self.caller, current, overruling=ALL_BUT_USER, now=self.now)
            self.done.waiting += sum(m.status == Status.PENDING or m.withheld for m in current)


def _after(end: datetime | None, begin: datetime | None) -> datetime | None:
    """Return an end, unless it comes before the beginning."""
    return None if end is not None and begin is not None and end <= begin else end


def _unmasked(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Return the names of a text that are no part of a secret in it."""
    masked = Masking().text(text)
    return tuple(name for name in names if name.removeprefix("@") in masked)


def _nameable(names: Sequence[str]) -> tuple[str, ...]:
    return entity_names(Masking().names(names, limit=NAME_LENGTH))


def _stored_hash(claim: _Claim) -> str:
    """Return what identifies a claim's text as it would be stored: without secrets."""
    return content_hash(Masking().text(claim.row["content"]))


class _Kept:
    """The captures that hold a written text, and which of them each part of it stands in."""

    def __init__(
        self,
        run: _Run,
        draft: Conversation | Note,
        parts: Sequence[tuple[str, str, str]],
        captures: list[Row],
    ) -> None:
        self._run, self._draft = run, draft
        self._at: dict[str, str] = {}
        self.thread: str | None = None
        for number, some in enumerate(_within(parts, LARGEST_CAPTURE)):
            text = "\n".join(shown for _, _, shown in some)
            # The text is part of its name: a conversation that went on is another capture of the same thread.
            ref = run._ref("cap", draft.external_id, str(number), content_hash(text))
            self.thread = self.thread or run._ref("cap", draft.external_id)
            self._at |= {key: ref for key, _, _ in some}
            captures.append(
                {
                    "ref": ref,
                    "content": text,
                    "title": draft.title[:500],
                    "url": draft.url,
                    "source": run.product,
                    "project": run.project,
                    "author": str(Author.IMPORT),
                    "occurred_at": moment(draft.occurred_at),
                    "captured_at": moment(run.now),
                }
            )

    def sources(self, memory: str, key: str) -> list[Row]:
        capture, title = self._at[key], self._draft.title
        found = [self._run._source(memory, capture_url(capture), title, capture)]
        if self._draft.url:
            found.append(self._run._source(memory, self._draft.url, title))
        return found


def _within(parts: Sequence[tuple[str, str, str]], limit: int) -> Iterator[list[tuple[str, str, str]]]:
    held: list[tuple[str, str, str]] = []
    size = 0
    for part in parts:
        length = len(part[2].encode("utf-8", "replace")) + 1
        if held and size + length > limit:
            yield held
            held, size = [], 0
        held.append(part)
        size += length
    if held:
        yield held


def _split(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        if len(message.text) <= LONGEST_MESSAGE:
            yield message
            continue
        for number, piece in enumerate(_pieces(message.text)):
            yield replace(message, text=piece, external_id=f"{message.external_id}/{number}")


def _pieces(text: str) -> Iterator[str]:
    """Split a text between sentences into pieces that a memory takes."""
    held = ""
    for sentence in sentences(text):
        for start in range(0, len(sentence), LONGEST_MESSAGE):
            part = sentence[start : start + LONGEST_MESSAGE]
            if held and len(held) + len(part) + 1 > LONGEST_MESSAGE:
                yield held
                held = ""
            held = f"{held}\n{part}" if held else part
    if held:
        yield held


def _batches(drafts: Iterable[Draft | Unread]) -> Iterator[list[Draft | Unread]]:
    """Yield drafts some at a time: facts by the thousand, the longer ones by the dozen."""
    rest = iter(drafts)
    while first := list(islice(rest, 1)):
        limit = FACTS_BATCH if isinstance(first[0], Fact) else BATCH
        yield list(chain(first, islice(rest, limit - 1)))
