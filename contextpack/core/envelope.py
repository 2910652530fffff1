"""The self-describing envelope: a pure projection of a finished pack.

It invents nothing, ranks nothing and drops nothing: what is unknown is null. Source: CMP §1, §2.
"""

from datetime import UTC, datetime
from typing import TypedDict

from contextpack.core.types import Candidate, Item


class Why(TypedDict):
    retrievers: list[str]
    matched_terms: list[str]
    fused_rank: int | None


class MemoryObject(TypedDict):
    ref: str
    content: str
    layer: str
    relevance: float | None
    relevance_basis: str | None
    why: Why
    source_url: str | None
    confidence: float | None
    occurred_at: str | None
    entities: list[str]


def project_memory_object(item: Item) -> MemoryObject:
    """Return the wire form of one packed item.

    Args:
        item: as packed; only what it already knows is read.
    Returns: exactly the fields that the legend describes. A missing signal is null or empty; confidence falls
        back to the trust in the author, and the moment to when the memory was captured.
    Source: CMP §2.
    """
    candidate = item.candidate
    return {
        "ref": candidate.ref,
        "content": item.text,
        "layer": candidate.layer.value,
        "relevance": rounded(candidate.relevance),
        "relevance_basis": candidate.relevance_basis,
        "why": _why(candidate),
        "source_url": next(iter(item.source_urls or candidate.source_urls), None),
        "confidence": rounded(candidate.trust if candidate.confidence is None else candidate.confidence),
        "occurred_at": iso(candidate.moment),
        "entities": list(candidate.entities),
    }


def rounded(score: float | None) -> float | None:
    """Return a score at the precision of the wire; rounding keeps the order of any two."""
    return None if score is None else round(float(score), 4)


def iso(moment: datetime) -> str:
    """Return a moment in UTC, to the second."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _why(candidate: Candidate) -> Why:
    return {
        "retrievers": list(candidate.retrievers),
        "matched_terms": list(candidate.matched_terms),
        "fused_rank": candidate.fused_rank,
    }
