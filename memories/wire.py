"""Rows as the wire says them: plain dictionaries of plain values. Pure; loads nothing."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, TypedDict

from memories.core.diffing import Change
from memories.models import Capture, Conflict, Decision, Memory, Source
from memories.reading import Step

REDACTED: Final = "redacted"


class MemoryDict(TypedDict):
    """A memory, exactly as every answer shows it."""

    ref: str
    content: str
    summary: str | None
    kind: str
    layer: str
    project: str
    status: str
    author: str
    confidence: float | None
    occurred_at: str | None
    captured_at: str
    valid_from: str | None
    valid_to: str | None
    recorded_at: str
    expires_at: str | None
    entities: list[str]
    tags: list[str]
    thread: str | None
    position: int | None
    speaker: str | None
    source_urls: list[str]
    occurrences: int
    superseded_by: str | None
    conflicted: bool
    flags: list[str]


def moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def memory_as_wire(
    memory: Memory, sources: Iterable[Source], entities: Iterable[str], *, conflicted: bool = False
) -> MemoryDict:
    """Show one memory.

    Args:
        sources: what it cites, in order; entities: the names of what it is about.
        conflicted: whether an open conflict puts it in doubt.
    """
    redacted = [REDACTED] if memory.redacted_at is not None else []
    return {
        "ref": memory.ref,
        "content": memory.content,
        "summary": memory.summary,
        "kind": str(memory.kind),
        "layer": str(memory.layer),
        "project": memory.project,
        "status": str(memory.status),
        "author": str(memory.author),
        "confidence": memory.confidence,
        "occurred_at": moment(memory.occurred_at),
        "captured_at": memory.captured_at.isoformat(),
        "valid_from": moment(memory.valid_from),
        "valid_to": moment(memory.valid_to),
        "recorded_at": memory.recorded_at.isoformat(),
        "expires_at": moment(memory.expires_at),
        "entities": list(entities),
        "tags": list(memory.tags),
        "thread": memory.thread,
        "position": memory.position,
        "speaker": memory.speaker,
        "source_urls": [source.url for source in sources],
        "occurrences": memory.occurrences,
        "superseded_by": memory.superseded_by,
        "conflicted": conflicted,
        "flags": [*memory.flags, *redacted],
    }


def source_as_wire(source: Source) -> dict[str, Any]:
    return {
        "url": source.url,
        "title": source.title,
        "text": source.text,
        "added_at": moment(source.added_at),
    }


def step_as_wire(step: Step) -> dict[str, Any]:
    return {
        "ref": step.ref,
        "superseded_by": step.superseded_by,
        "reason": step.reason,
        "actor": step.actor,
        "at": moment(step.at),
    }


def capture_as_wire(capture: Capture) -> dict[str, Any]:
    return {
        "ref": capture.ref,
        "content": capture.content,
        "title": capture.title,
        "url": capture.url,
        "source": capture.source,
        "project": capture.project,
        "author": str(capture.author),
        "occurred_at": moment(capture.occurred_at),
        "captured_at": moment(capture.captured_at),
    }


def conflict_as_wire(conflict: Conflict) -> dict[str, Any]:
    return {
        "id": conflict.ref,
        "reason": conflict.reason,
        "detected_at": moment(conflict.detected_at),
        "resolved_at": moment(conflict.resolved_at),
        "resolution": conflict.resolution or None,
        "resolved_by": conflict.resolved_by or None,
    }


def decision_as_wire(decision: Decision, *, is_told: bool, is_reversible: bool) -> dict[str, Any]:
    """Show a decision.

    Args:
        is_told: whether more than ref, verb, who and when may be shown.
    """
    return {
        "id": decision.ref,
        "ref": decision.memory,
        "other": decision.other or None,
        "verb": str(decision.verb),
        "actor": decision.actor,
        "at": moment(decision.at),
        "reason": (decision.reason or None) if is_told else None,
        "before": decision.before if is_told else None,
        "after": decision.after if is_told else None,
        "reversible": is_reversible,
        "undone_at": moment(decision.undone_at),
        "undoes": decision.undoes or None,
    }


def change_as_wire(change: Change) -> dict[str, str]:
    return {"op": str(change.op), "text": change.text}
