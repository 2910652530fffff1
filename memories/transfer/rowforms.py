"""How each class of row is written in a line. Refs, never keys: a line means the same in every vault."""

from collections.abc import Iterable
from typing import Any, Final

from memories.models import (
    Capture,
    Conflict,
    Entity,
    Memory,
    ProposedSupersession,
    Source,
    Supersession,
    Tombstone,
)
from memories.wire import capture_as_wire, moment

FORMAT: Final = 1
HEADER: Final = "cortex_export"
CLASSES: Final = (
    "capture",
    "entity",
    "memory",
    "source",
    "supersession",
    "proposal",
    "conflict",
    "tombstone",
)
"""In the order in which they stand in a file: what is referred to comes first."""

PLURALS: Final = {
    "capture": "captures",
    "entity": "entities",
    "memory": "memories",
    "source": "sources",
    "supersession": "supersessions",
    "proposal": "proposals",
    "conflict": "conflicts",
    "tombstone": "tombstones",
}


def capture_row(capture: Capture) -> dict[str, Any]:
    return {"class": "capture", **capture_as_wire(capture)}


def entity_row(entity: Entity, aliases: Iterable[str]) -> dict[str, Any]:
    return {
        "class": "entity",
        "ref": entity.ref,
        "name": entity.name,
        "aliases": list(aliases),
        "created_at": moment(entity.created_at),
    }


def memory_row(memory: Memory, entities: Iterable[str]) -> dict[str, Any]:
    """Args: entities: the refs of what it is about."""
    return {
        "class": "memory",
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
        "captured_at": moment(memory.captured_at),
        "recorded_at": moment(memory.recorded_at),
        "valid_from": moment(memory.valid_from),
        "valid_to": moment(memory.valid_to),
        "expires_at": moment(memory.expires_at),
        "entities": list(entities),
        "tags": list(memory.tags),
        "thread": memory.thread,
        "position": memory.position,
        "speaker": memory.speaker,
        "occurrences": memory.occurrences,
        "flags": list(memory.flags),
        "withheld": memory.withheld,
        "reviewed_at": moment(memory.reviewed_at),
        "reviewed_by": memory.reviewed_by,
        "redacted_at": moment(memory.redacted_at),
        "superseded_by": memory.superseded_by,
        "superseded_at": moment(memory.superseded_at),
        "superseded_from": moment(memory.superseded_from),
    }


def source_row(source: Source, *, memory: str, capture: str | None) -> dict[str, Any]:
    return {
        "class": "source",
        "memory": memory,
        "url": source.url,
        "title": source.title,
        "text": source.text,
        "capture": capture,
        "added_at": moment(source.added_at),
    }


def link_row(link: Supersession | ProposedSupersession) -> dict[str, Any]:
    """Args: link: with both its ends loaded."""
    return {
        "class": "supersession" if isinstance(link, Supersession) else "proposal",
        "old": link.old.ref,
        "new": link.new.ref,
        "reason": link.reason,
        "actor": link.actor,
        "at": moment(link.at),
    }


def conflict_row(conflict: Conflict) -> dict[str, Any]:
    return {
        "class": "conflict",
        "ref": conflict.ref,
        "left": conflict.left.ref,
        "right": conflict.right.ref,
        "reason": conflict.reason,
        "detected_at": moment(conflict.detected_at),
        "resolved_at": moment(conflict.resolved_at),
        "resolution": conflict.resolution,
        "resolved_by": conflict.resolved_by,
    }


def tombstone_row(tombstone: Tombstone) -> dict[str, Any]:
    return {
        "class": "tombstone",
        "ref": tombstone.ref,
        "forgotten_at": moment(tombstone.forgotten_at),
        "actor": tombstone.actor,
    }
