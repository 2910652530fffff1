"""How many threads of a process may wait for SQLite's one writer, so that some are always there to read.

A statement that needs the write lock takes a seat while it waits. Whoever finds none may wait as well, but only for as
long as the others get on: once nobody was let in for `STUCK_SECONDS`, those without a seat leave at once, and their
callers are told to come back (503 with Retry-After). So many writers at once queue as they always did, while behind a
write that takes long half of the threads go on answering reads.

What waits is a transaction that writes (they all begin so, see `cortex.env`), or a single writing statement outside
one. Other databases keep no such lock.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from cortex.api.databases import BUSY, trouble_of
from cortex.api.meters import Count, meters

SEATS: Final = 8
STUCK_SECONDS: Final = 1.0
_LOOK_MS: Final = 100  # how often someone without a seat looks whether the others get on
_WRITING: Final = ("BEGIN IMMEDIATE", "INSERT ", "UPDATE ", "DELETE ")

Execute = Callable[[str, Any, bool, dict[str, Any]], Any]


class WaitingRoom:
    """Seats for the threads of one process that wait to write; called around each statement of a request."""

    def __init__(self, *, seats: int = SEATS, stuck_seconds: float = STUCK_SECONDS) -> None:
        self._seats = threading.BoundedSemaphore(seats)
        self._stuck_seconds = stuck_seconds
        self._guard = threading.Lock()
        self._waiting = 0
        self._moved = 0.0  # when somebody was let in last, or came to wait where nobody did

    def __call__(self, execute: Execute, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """Run a statement (as one of Django's execute wrappers)."""
        connection: BaseDatabaseWrapper = context["connection"]
        if not _takes_the_lock(connection, sql):
            return execute(sql, params, many, context)
        with self._present():
            if not self._seats.acquire(blocking=False):
                return self._standing(connection, lambda: execute(sql, params, many, context))
            try:
                return self._let_in(execute(sql, params, many, context))
            finally:
                self._seats.release()

    @contextmanager
    def _present(self) -> Iterator[None]:
        with self._guard:
            if not self._waiting:
                self._moved = time.monotonic()
            self._waiting += 1
        try:
            yield
        finally:
            with self._guard:
                self._waiting -= 1

    def _let_in(self, result: Any) -> Any:
        self._moved = time.monotonic()
        return result

    def _is_stuck(self) -> bool:
        return time.monotonic() - self._moved > self._stuck_seconds

    def _standing(self, connection: BaseDatabaseWrapper, attempt: Callable[[], Any]) -> Any:
        """Try again and again while the others get on.

        Raises: OperationalError where they do not, or where the connection's own patience is over.
        """
        usual = _patience_of(connection)
        ends_at = time.monotonic() + usual / 1_000
        try:
            while True:
                stuck = self._is_stuck()
                _be_patient(connection, 0 if stuck else min(_LOOK_MS, usual))
                try:
                    return self._let_in(attempt())
                except OperationalError as error:
                    if trouble_of(error) is not BUSY:
                        raise
                    if stuck or time.monotonic() >= ends_at:
                        meters.count(Count.WRITERS_REFUSED)
                        raise
        finally:
            _be_patient(connection, usual)


def _takes_the_lock(connection: BaseDatabaseWrapper, sql: str) -> bool:
    return connection.vendor == "sqlite" and not connection.in_atomic_block and sql.startswith(_WRITING)


def _patience_of(connection: BaseDatabaseWrapper) -> int:
    return int(connection.connection.execute("PRAGMA busy_timeout").fetchone()[0])


def _be_patient(connection: BaseDatabaseWrapper, milliseconds: int) -> None:
    connection.connection.execute(f"PRAGMA busy_timeout = {milliseconds:d}")


waiting_room: Final = WaitingRoom()
