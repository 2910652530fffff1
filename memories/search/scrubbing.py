"""What SQLite keeps of deleted text beside its tables, and how it goes: index pages and the write-ahead log.

FTS5 marks a deleted entry and drops it when it merges segments; the log keeps old pages until it is truncated.
PostgreSQL does both by itself, at its next vacuum and by recycling its log.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import DatabaseError, connection, transaction

from memories.search import fulltext

MERGED_PAGES: Final = (
    1_000  # about a tenth of a second; a larger index is finished by the next ones, or a sweep
)
_PATIENCE_MS: Final = 200


def scrub_after_commit() -> None:
    """Scrub once the transaction that erases has been committed."""
    transaction.on_commit(_scrub_a_little)


def scrub() -> None:
    """Drop all that is left of deleted text; for a regular upkeep.

    What a busy reader or writer holds is left for the next time.
    """
    _scrub(pages=None)


def _scrub_a_little() -> None:
    _scrub(pages=MERGED_PAGES)


def _scrub(*, pages: int | None) -> None:
    if connection.vendor != "sqlite":
        return
    with _little_patience():
        try:
            fulltext.compact(pages=pages)
            _truncate_log()
        except DatabaseError:
            return  # somebody is writing: erasing is done, and the next scrubbing takes this along


def _truncate_log() -> None:
    if connection.in_atomic_block:
        return  # a transaction's own pages are in the log
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.fetchall()


@contextmanager
def _little_patience() -> Iterator[None]:
    """Wait for others only briefly, for nobody waits for the scrubbing."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        ((patience_ms,),) = cursor.fetchall()
        cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(patience_ms)}")
