"""Telling a lost race from a mistake: which constraint an IntegrityError is about."""

from typing import Final

from django.db import IntegrityError

_CONTENT_ONCE: Final = "memory_content_once"  # so PostgreSQL calls it, and SQLite by its columns
_CONTENT_COLUMNS: Final = "memories_memory.vault_id, memories_memory.project, memories_memory.content_hash"
_REF_ONCE: Final = "memory_ref_once"
_REF_COLUMNS: Final = "memories_memory.vault_id, memories_memory.ref"


def is_twin(error: IntegrityError) -> bool:
    """Tell whether a write failed because another memory of the project has the same text."""
    said = str(error)
    return _CONTENT_ONCE in said or _CONTENT_COLUMNS in said


def is_ref_taken(error: IntegrityError) -> bool:
    """Tell whether a write failed because the ref that was drawn for a memory is another one's already."""
    said = str(error)
    return _REF_ONCE in said or _REF_COLUMNS in said


def is_taken(error: IntegrityError) -> bool:
    """Tell whether a write failed because somebody else had written what must be there but once."""
    said = str(error).lower()
    return "unique constraint" in said
