"""What an export holds, whatever product it comes from: conversations, notes and facts, and what could not be read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from memories.core.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What one speaker said, in its place in a conversation."""

    external_id: str
    speaker: str
    text: str
    position: int
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages that belong together, in order."""

    external_id: str
    messages: tuple[Message, ...]
    title: str = ""
    url: str = ""
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A written text, from which claims are taken in order."""

    external_id: str
    text: str
    title: str = ""
    url: str = ""
    occurred_at: datetime | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One claim that the product itself kept as a memory.

    `replaced_by` is the external id of the fact that took its place, if one did.
    """

    external_id: str
    content: str
    kind: Kind = Kind.CLAIM
    title: str = ""
    confidence: float | None = None
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    changed_at: datetime | None = None
    is_archived: bool = False
    replaced_by: str | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    thread: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A row that was left out: where it stands, and why."""

    place: str
    reason: str


Draft = Conversation | Note | Fact
Found = Iterator[Draft | Unread]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file of an export: its path inside it, and its bytes."""

    name: str
    data: bytes = field(repr=False)
