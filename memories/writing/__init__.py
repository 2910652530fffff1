"""The verbs of the memories app, the only code that saves evidence."""

from memories.writing.amending import amend
from memories.writing.capturing import capture
from memories.writing.editing import edit
from memories.writing.forgetting import forget, forget_entity, forget_expired
from memories.writing.inputs import (
    CaptureInput,
    CaptureOutcome,
    EntityErasure,
    Erasure,
    MemoryInput,
    Outcome,
    SourceInput,
    Succession,
)
from memories.writing.remembering import propose, remember, remember_many
from memories.writing.resolving import resolve_conflict
from memories.writing.reviewing import approve, archive, decline, redact
from memories.writing.superseding import supersede
from memories.writing.undoing import undo

__all__ = [
    "CaptureInput",
    "CaptureOutcome",
    "EntityErasure",
    "Erasure",
    "MemoryInput",
    "Outcome",
    "SourceInput",
    "Succession",
    "amend",
    "approve",
    "archive",
    "capture",
    "decline",
    "edit",
    "forget",
    "forget_entity",
    "forget_expired",
    "propose",
    "redact",
    "remember",
    "remember_many",
    "resolve_conflict",
    "supersede",
    "undo",
]
