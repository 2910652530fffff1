"""Importing memories: the ref decides, then the text; what was forgotten here stays forgotten."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cortex.errors import CortexError
from memories.core.kinds import Flag
from memories.core.text import content_hash, hash_terms, normalise, pack_hashes, terms
from memories.core.traits import traits_of
from memories.ids import random_word
from memories.models import Memory, Mention
from memories.rows import in_chunks
from memories.search.facade import index_memories
from memories.transfer.landing import HERE, OTHERWISE, Landing, Reasons, Row, is_same, sift
from memories.writing.erasing import WITHOUT_WORDS
from memories.writing.preparing import TAG_LENGTH, Masking, check_intervals, flags_of, true_since_of

Identity = tuple[str, str]
"""Project and content hash of a memory that is neither superseded nor redacted."""

HASH_LENGTH: Final = 64
_DERIVED: Final = {"revision", "id", "vault_id", "content_hash", "term_hashes", "traits", "true_since"}


def land_memories(landing: Landing, rows: Sequence[Row]) -> Reasons:
    chunk = _Chunk(landing=landing, prepared={row["ref"]: _prepare(landing, row) for row in rows})
    chunk.look_around()
    reasons, made = sift(rows, chunk.refuse, chunk.make)
    Memory.objects.bulk_create(made)
    _point_to_twins(landing.vault.pk, chunk.moved)
    _mention(landing, made, {row["ref"]: row["entities"] for row in rows})
    index_memories(landing.vault, [(m.pk, m.content) for m in made if m.redacted_at is None])
    return reasons


@dataclass(slots=True, kw_only=True)
class _Chunk:
    """Some rows made storable (or the reason why one is not), and what the vault holds of the same."""

    landing: Landing
    prepared: dict[str, Memory | str]
    stored: dict[str, Memory] = field(default_factory=dict)
    twins: dict[Identity, Memory] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)  # a ref of the file → the memory of that text here

    def look_around(self) -> None:
        vault_id = self.landing.vault.pk
        refs = list(self.prepared)
        for memory in Memory.objects.in_vault(vault_id).filter(ref__in=refs):
            self.stored[memory.ref] = memory
        hashes = {m.content_hash for m in self.prepared.values() if isinstance(m, Memory)}
        for some in in_chunks(hashes):
            rows = Memory.objects.in_vault(vault_id).unsuperseded().filter(content_hash__in=some)
            for memory in rows.filter(redacted_at__isnull=True):
                self.twins[memory.project, memory.content_hash] = memory

    def refuse(self, row: Row) -> str | None:
        memory = self.prepared[row["ref"]]
        if isinstance(memory, str):
            return memory
        if (known := self.stored.get(memory.ref)) is not None:
            self.landing.memories[memory.ref] = known.pk
            return HERE if is_same(known, _comparable(memory)) else OTHERWISE
        if memory.ref in self.landing.forgotten:
            return "forgotten here"
        twin = self.twins.get(_identity(memory)) if _is_current(memory) else None
        if twin is not None:
            self.landing.memories[memory.ref] = twin.pk
            self.moved[memory.ref] = twin.ref
            return f"the same text is here as {twin.ref}"
        return None

    def make(self, row: Row) -> Memory:
        memory = self.prepared[row["ref"]]
        assert isinstance(memory, Memory)  # refused otherwise
        self.stored[memory.ref] = memory
        self.landing.memories[memory.ref] = memory.pk
        if _is_current(memory):
            self.twins[_identity(memory)] = memory
        return memory


def _is_current(memory: Memory) -> bool:
    return memory.superseded_by is None and memory.redacted_at is None


def _identity(memory: Memory) -> Identity:
    return memory.project, memory.content_hash


def _comparable(memory: Memory) -> dict[str, Any]:
    names = [column.attname for column in Memory._meta.concrete_fields]
    return {name: getattr(memory, name) for name in names if name not in _DERIVED}


# -- From a row to a memory ----------------------------------------------------------------------


def _prepare(landing: Landing, row: Row) -> Memory | str:
    """Make a row storable, or say why it is not."""
    if row["expires_at"] is not None and row["expires_at"] <= landing.now:
        return "expired"
    if row["ref"] in landing.on_a_circle:
        return "its successors lead back to it"
    redacted = row["redacted_at"] is not None
    if not redacted and not normalise(row["content"]):
        return "content: no text in it"
    try:
        check_intervals(row["valid_from"], row["valid_to"])
    except CortexError as error:
        return error.detail
    text = dict(WITHOUT_WORDS) if redacted else _judged_text(row)
    content = str(text["content"])
    derived = {
        "content_hash": random_word(HASH_LENGTH) if redacted else content_hash(content),
        "term_hashes": pack_hashes(
            hash_terms(terms(content, landing.vault.language), landing.vault.language)
        ),
        "traits": traits_of(content),
        "true_since": true_since_of(row["valid_from"], row["occurred_at"], row["captured_at"]),
    }
    stated = {name: value for name, value in row.items() if name != "entities"}
    return Memory(vault_id=landing.vault.pk, **{**stated, **text, **derived})


def _judged_text(row: Row) -> dict[str, Any]:
    """Mask and judge a row's texts as any write's; what is only now found hostile waits for a person."""
    masking = Masking()
    texts = {
        "content": masking.text(row["content"]),
        "summary": masking.text(row["summary"]) if row["summary"] else row["summary"],
        "thread": masking.name(row["thread"]),
        "speaker": masking.name(row["speaker"]),
    }
    tags = masking.names(row["tags"], limit=TAG_LENGTH)
    told = (text for text in (*texts.values(), *tags) if text)
    wanted = [flag for flag in flags_of(told, masked=masking.count > 0) if flag not in row["flags"]]
    withheld = row["withheld"] or Flag.INSTRUCTION_LIKE in wanted
    return {**texts, "tags": list(tags), "flags": [*row["flags"], *map(str, wanted)], "withheld": withheld}


# -- Around them ---------------------------------------------------------------------------------


def _point_to_twins(vault_id: str, moved: Mapping[str, str]) -> None:
    """Let what a skipped memory replaced point to the memory that says the same here."""
    for ref, twin in moved.items():
        replaced = Memory.objects.in_vault(vault_id).filter(superseded_by=ref)
        replaced.exclude(ref=twin).update(superseded_by=twin)


def _mention(landing: Landing, memories: Iterable[Memory], about: Mapping[str, Sequence[str]]) -> None:
    known = landing.find_entities(ref for refs in about.values() for ref in refs)
    mentions: list[Mention] = []
    for memory in memories:
        missing = [ref for ref in about[memory.ref] if ref not in known]
        if missing:
            landing.losses["memory", memory.ref] = (
                f"stored, but without what is missing: {', '.join(missing)}"
            )
        mentions += [
            Mention(vault_id=landing.vault.pk, memory_id=memory.pk, entity_id=known[ref])
            for ref in about[memory.ref]
            if ref in known
        ]
    Mention.objects.bulk_create(mentions, ignore_conflicts=True)
