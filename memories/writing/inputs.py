"""What the verbs take and give: plain frozen values, whoever calls (REST, a tool, a command)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memories.core.kinds import Author, Kind, MemoryLayer
from memories.models import Capture, Memory

CONTENT_LIMIT = 100_000
CAPTURE_LIMIT_BYTES = 1024 * 1024
BULK_LIMIT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInput:
    """What a memory cites; without a url its text is kept as a capture, which is cited instead."""

    url: str | None = None
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInput:
    """One claim to remember.

    `layer` None: derived from `kind`. `entities` empty: spotted in the text. `captured_at` None: now.
    `sources` empty: it cites a capture of its own text.
    """

    content: str
    kind: Kind = Kind.CLAIM
    layer: MemoryLayer | None = None
    project: str = ""
    author: Author = Author.AGENT
    confidence: float | None = None
    summary: str | None = None
    occurred_at: datetime | None = None
    captured_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    thread: str | None = None
    position: int | None = None
    speaker: str | None = None
    sources: tuple[SourceInput, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureInput:
    """Raw text to keep as evidence and to extract memories from."""

    content: str
    title: str = ""
    url: str = ""
    source: str = ""
    project: str = ""
    author: Author = Author.AGENT
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A memory as it is stored now, and whether this write made it."""

    memory: Memory
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """The successor of a memory; `carried_out` is false while the replacement waits for a review."""

    memory: Memory
    replaced: Memory
    created: bool
    carried_out: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOutcome:
    """What was kept of a captured text: nothing (None) where it held only our own output."""

    capture: Capture | None
    memories: tuple[Memory, ...]
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What forgetting erased, by class, and what a search for the old text still finds, by arm."""

    ref: str
    erased: Mapping[str, int]
    probes: Mapping[str, int]

    def as_wire(self) -> dict[str, Any]:
        return {"ref": self.ref, "erased": dict(self.erased), "probes": dict(self.probes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityErasure:
    """What forgetting an entity erased; `kept` says that memories are still about it, None where that is not told: a token
    of some projects does not learn what others hold."""

    id: str
    forgotten: tuple[str, ...]
    erased: Mapping[str, int]
    probes: Mapping[str, int]
    kept: bool | None

    def as_wire(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "forgotten": list(self.forgotten),
            "erased": dict(self.erased),
            "probes": dict(self.probes),
            "kept": self.kept,
        }
