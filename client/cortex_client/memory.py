"""A memory as an answer carries it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One cited memory, in the form in which it was sent last: its text may be a head sentence or a summary."""

    ref: str
    content: str
    layer: str  # constraints, decisions, facts, entity, procedures, identity, open_loops or recency
    relevance: float | None = None  # to the task that it was sent for
    relevance_basis: str | None = None
    why: Mapping[str, Any] = field(default_factory=dict)
    source_url: str | None = None
    confidence: float | None = None
    occurred_at: str | None = None  # ISO-8601
    entities: tuple[str, ...] = ()

    @classmethod
    def from_wire(cls, item: Mapping[str, Any]) -> Self:
        """Read a memory object; what it has beside the known fields is passed over."""
        return cls(
            ref=item["ref"],
            content=item["content"],
            layer=item["layer"],
            relevance=item.get("relevance"),
            relevance_basis=item.get("relevance_basis"),
            why=item.get("why") or {},
            source_url=item.get("source_url"),
            confidence=item.get("confidence"),
            occurred_at=item.get("occurred_at"),
            entities=tuple(item.get("entities") or ()),
        )

    def to_wire(self) -> dict[str, Any]:
        """Return what `from_wire` reads."""
        return {
            "ref": self.ref,
            "content": self.content,
            "layer": self.layer,
            "relevance": self.relevance,
            "relevance_basis": self.relevance_basis,
            "why": dict(self.why),
            "source_url": self.source_url,
            "confidence": self.confidence,
            "occurred_at": self.occurred_at,
            "entities": list(self.entities),
        }
