"""From what a caller states to what is stored: masked, hashed, flagged, dated. Pure; reads no row."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from cortex.errors import Unprocessable
from memories.core.entities import entity_key, spot_entities
from memories.core.hostility import is_instruction_like
from memories.core.kinds import Flag, MemoryLayer, Status, layer_of
from memories.core.secrets import blank_marks, mask_secrets
from memories.core.text import content_hash, hash_terms, normalise, pack_hashes, terms
from memories.core.traits import Trait, traits_of
from memories.models import Memory
from memories.writing.inputs import MemoryInput, SourceInput

NAME_LENGTH: Final = 200
TAG_LENGTH: Final = 100
TITLE_LENGTH: Final = 500
URL_LENGTH: Final = 2_000
_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):[^\s\x00-\x1f\x7f]+")
_MASKED: Final = re.compile(r"\[masked:\w+\]")  # brackets that are ours, such as in an export
_PLAIN_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!.*[\w-]{20})[\w./:-]{1,80}", re.ASCII)
_SCRIPT_SCHEMES: Final = frozenset({"javascript", "data", "vbscript"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A claim ready to be stored; `given` holds the masked texts."""

    given: MemoryInput
    layer: MemoryLayer
    content_hash: str
    term_hashes: bytes
    traits: Trait
    entities: tuple[str, ...]
    flags: tuple[Flag, ...]
    captured_at: datetime
    true_since: datetime
    status: Status

    @property
    def identity(self) -> tuple[str, str]:
        """What makes two claims of one vault the same memory."""
        return self.given.project, self.content_hash

    def as_row(self, vault_id: str, *, now: datetime) -> Memory:
        given = self.given
        return Memory(
            vault_id=vault_id,
            content=given.content,
            content_hash=self.content_hash,
            summary=given.summary,
            kind=given.kind,
            layer=self.layer,
            project=given.project,
            status=self.status,
            author=given.author,
            confidence=given.confidence,
            occurred_at=given.occurred_at,
            captured_at=self.captured_at,
            recorded_at=now,
            valid_from=given.valid_from,
            valid_to=given.valid_to,
            expires_at=given.expires_at,
            true_since=self.true_since,
            tags=list(given.tags),
            thread=given.thread,
            position=given.position,
            speaker=given.speaker,
            flags=[str(flag) for flag in self.flags],
            withheld=Flag.INSTRUCTION_LIKE in self.flags,
            term_hashes=self.term_hashes,
            traits=self.traits,
        )


def prepare(given: MemoryInput, *, language: str, status: Status, now: datetime) -> Prepared:
    """Make a stated claim ready to be stored.

    Args:
        language: whose stems the terms are cut to.
        status: what the write deserves; a contradiction found later may lower it.
    Raises: Unprocessable where the text is empty, a citation is no address, or an interval runs backwards.
    """
    masked, count = mask_input(given)
    form = normalise(masked.content)
    if not form:
        raise Unprocessable("the content says nothing", errors={"content": "no text in it"})
    check_intervals(masked.valid_from, masked.valid_to)
    check_expiry(masked.expires_at, now=now)
    for source in masked.sources:
        if source.url is not None:
            check_url(source.url, field="source.url")
    captured_at = masked.captured_at or now
    return Prepared(
        given=masked,
        layer=masked.layer or layer_of(masked.kind),
        content_hash=content_hash(masked.content),
        term_hashes=pack_hashes(hash_terms(terms(masked.content, language), language)),
        traits=traits_of(masked.content),
        entities=entity_names(masked.entities) or entity_names(spot_entities(masked.content)),
        flags=flags_of(texts_of(masked), masked=count > 0),
        captured_at=captured_at,
        true_since=true_since_of(masked.valid_from, masked.occurred_at, captured_at),
        status=status,
    )


def true_since_of(
    valid_from: datetime | None, occurred_at: datetime | None, captured_at: datetime
) -> datetime:
    """Since when a claim counts as true: as stated, else from when it was seen or captured, if earlier."""
    if valid_from is not None:
        return valid_from
    return captured_at if occurred_at is None else min(occurred_at, captured_at)


def flags_of(texts: Iterable[str], *, masked: bool) -> tuple[Flag, ...]:
    """Judge a claim by every text of it."""
    found = {Flag.INSTRUCTION_LIKE: any(map(is_instruction_like, texts)), Flag.SECRET_MASKED: masked}
    return tuple(flag for flag, holds in found.items() if holds)


def texts_of(given: MemoryInput) -> Iterator[str]:
    """Yield whatever of a claim may be told to a model."""
    yield given.content
    yield from filter(None, (given.summary, given.thread, given.speaker, *given.entities, *given.tags))
    for source in given.sources:
        yield from filter(None, (source.title, source.text, source.url))


def check_intervals(valid_from: datetime | None, valid_to: datetime | None) -> None:
    """Raises: Unprocessable unless the half-open interval holds at least a moment."""
    if valid_from is not None and valid_to is not None and valid_to <= valid_from:
        raise Unprocessable("it ends before it begins", errors={"valid_to": "not later than valid_from"})


def check_expiry(expires_at: datetime | None, *, now: datetime) -> None:
    """Raises: Unprocessable for a moment that is over."""
    if expires_at is not None and expires_at <= now:
        raise Unprocessable("it would have expired already", errors={"expires_at": "lies in the past"})


def check_url(url: str, *, field: str) -> None:
    """Refuse what is no address, or one that would run as a script where somebody follows it.

    Raises: Unprocessable.
    """
    found = _URL.fullmatch(url)
    if found is None or not _can_be_split(url):
        raise Unprocessable("the citation is no address", errors={field: "scheme:address is expected"})
    if found["scheme"].lower() in _SCRIPT_SCHEMES:
        raise Unprocessable("the citation could run as a script", errors={field: "this scheme is refused"})


def _can_be_split(url: str) -> bool:
    """Whether an address can be taken apart, as whoever shows or follows it does: `http://[::1` cannot."""
    try:
        urlsplit(_MASKED.sub("masked", url))
    except ValueError:
        return False
    return True


def entity_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Keep each nameable name once, in order; what a secret was masked in is no name."""
    by_key: dict[str, str] = {}
    for name in names:
        shown = name.strip()[:NAME_LENGTH]
        if (key := entity_key(shown)) and blank_marks(name) == name:
            by_key.setdefault(key, shown)
    return tuple(by_key.values())


def mask_input(given: MemoryInput) -> tuple[MemoryInput, int]:
    """Mask secrets in every text of a claim.

    Returns: the claim, and how many were masked.
    """
    masking = Masking()
    content = masking.text(given.content)
    summary = masking.text(given.summary) if given.summary else given.summary
    beside = {
        "entities": masking.names(given.entities, limit=NAME_LENGTH),
        "tags": masking.names(given.tags, limit=TAG_LENGTH),
        "thread": masking.name(given.thread),
        "speaker": masking.name(given.speaker),
        "sources": tuple(_mask_source(source, masking) for source in given.sources),
    }
    if not masking.count:
        return given, 0
    return replace(given, content=content, summary=summary, **beside), masking.count  # type: ignore[arg-type]


def _mask_source(source: SourceInput, masking: "Masking") -> SourceInput:
    is_plain = source.url is None or _PLAIN_URL.fullmatch(source.url)
    return SourceInput(
        url=source.url if is_plain else masking.text(str(source.url), limit=URL_LENGTH),
        title=masking.text(source.title, limit=TITLE_LENGTH),
        text=masking.text(source.text),
    )


@dataclass(slots=True, kw_only=True)
class Masking:
    """Masks the texts of one claim and counts what it masked; a mark may be longer than what it replaces."""

    count: int = 0

    def text(self, text: str, *, limit: int | None = None) -> str:
        if not text:
            return text
        masked, found = mask_secrets(text)
        self.count += found
        return masked[:limit] if found else text

    def name(self, name: str | None) -> str | None:
        return None if name is None else self.text(name, limit=NAME_LENGTH)

    def names(self, names: Iterable[str], *, limit: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.text(name, limit=limit) for name in names))
