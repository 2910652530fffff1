"""The beginnings of texts that a page shows: loaded as such, for any number of rows at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet
from django.db.models.functions import Substr
from django.utils import timezone

from memories.models import Memory

EXCERPT_LENGTH: Final = 160
WITHHELD_TEXT: Final = "(expired: the next sweep erases it)"


def excerpt_of(row: Any) -> str:
    """Return the beginning of a text that was loaded as `beginning`."""
    text = " ".join(row.beginning.split())
    return f"{text[:EXCERPT_LENGTH]}…" if len(text) > EXCERPT_LENGTH else text


def with_excerpt(rows: QuerySet[Any], *heavy: str) -> QuerySet[Any]:
    """Load the first characters of the texts instead of the texts, and none of the other heavy columns."""
    beginning = Substr("content", 1, EXCERPT_LENGTH + 1)
    excerpted: QuerySet[Any] = rows.defer("content", *heavy).annotate(beginning=beginning)
    return excerpted


def memories_excerpted(rows: QuerySet[Memory]) -> QuerySet[Memory]:
    return with_excerpt(rows, "summary", "term_hashes")


def is_expired(memory: Memory, *, at: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= at


def excerpts_of(vault_id: str, refs: Sequence[str]) -> dict[str, str]:
    """Return ref → the beginning of the text, for the memories that are still here; one statement."""
    now = timezone.now()
    rows = memories_excerpted(Memory.objects.in_vault(vault_id).filter(ref__in=set(refs)))
    return {
        row.ref: WITHHELD_TEXT if is_expired(row, at=now) else excerpt_of(row) or "(redacted)" for row in rows
    }


def texts_by_id(vault_id: str, pks: Sequence[int]) -> dict[int, dict[str, str]]:
    """Return memory id → its ref and the beginning of its text; one statement."""
    now = timezone.now()
    rows = memories_excerpted(Memory.objects.in_vault(vault_id).filter(pk__in=set(pks)))
    return {
        row.pk: {"ref": row.ref, "text": WITHHELD_TEXT if is_expired(row, at=now) else excerpt_of(row)}
        for row in rows
    }
