"""Two touches on rows that several verbs need: reading by many keys, and deleting without a cascade."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet

CHUNK = 500

T = TypeVar("T")


def in_chunks(values: Collection[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """Cut keys into lists that a statement may carry."""
    listed = list(values)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]


def delete_rows(rows: QuerySet[Any, Any]) -> int:
    """Delete exactly these rows in one statement.

    Django's own delete() looks for rows to cascade to, by key alone; a verb that deletes knows what hangs on
    the row and names the vault in each statement.
    """
    return int(rows._raw_delete(rows.db) or 0)  # None where nothing could match
