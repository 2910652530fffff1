"""What a memory can be: kind, layer, status, author. The words are the wire's own."""

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    CLAIM = "claim"
    DECISION = "decision"
    EVENT = "event"
    PREFERENCE = "preference"
    OBSERVATION = "observation"
    ACTION = "action"
    QUESTION = "question"
    SUMMARY = "summary"
    STYLE = "style"
    NEGATIVE = "negative"
    PROCEDURE = "procedure"


class MemoryLayer(StrEnum):
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    STYLE = "style"
    DECISION = "decision"
    PREFERENCE = "preference"
    NEGATIVE = "negative"
    PROCEDURAL = "procedural"


class Status(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    ARCHIVED = "archived"


class Author(StrEnum):
    """Who says so, from most to least trusted (see `AUTHOR_TRUST`)."""

    USER = "user"
    IMPORT = "import"
    AGENT = "agent"
    INFERRED = "inferred"


class Flag(StrEnum):
    """Reasons why a memory waits for a person, whatever its status."""

    INSTRUCTION_LIKE = "instruction_like"
    CONTRADICTS_USER = "contradicts_user"
    SECRET_MASKED = "secret_masked"


class Verb(StrEnum):
    """What is decided about a memory."""

    APPROVE = "approve"
    EDIT = "edit"
    DECLINE = "decline"
    ARCHIVE = "archive"
    REDACT = "redact"
    RESOLVE = "resolve"
    UNDO = "undo"
    FORGET = "forget"


AUTHOR_TRUST: Mapping[Author, float] = {
    Author.USER: 1.0,
    Author.IMPORT: 0.8,
    Author.AGENT: 0.6,
    Author.INFERRED: 0.4,
}

_LAYER_OF_KIND: Mapping[Kind, MemoryLayer] = {
    Kind.CLAIM: MemoryLayer.SEMANTIC,
    Kind.DECISION: MemoryLayer.DECISION,
    Kind.EVENT: MemoryLayer.EPISODIC,
    Kind.PREFERENCE: MemoryLayer.PREFERENCE,
    Kind.OBSERVATION: MemoryLayer.EPISODIC,
    Kind.ACTION: MemoryLayer.EPISODIC,
    Kind.QUESTION: MemoryLayer.EPISODIC,
    Kind.SUMMARY: MemoryLayer.SEMANTIC,
    Kind.STYLE: MemoryLayer.STYLE,
    Kind.NEGATIVE: MemoryLayer.NEGATIVE,
    Kind.PROCEDURE: MemoryLayer.PROCEDURAL,
}


def layer_of(kind: Kind) -> MemoryLayer:
    """Return the memory layer that a kind belongs to where none is stated."""
    return _LAYER_OF_KIND[kind]
