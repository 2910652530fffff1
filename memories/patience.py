"""How reads behave beside a writer that holds the database: they wait for a moment, then leave word and go on.

SQLite lets one connection write at a time. What a read would like to write beside its answer (a receipt, a token's
last use) is tried for `PATIENCE_MS`; `Deferred` takes what must not be lost and writes it once the database is free.
"""

import atexit
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from django.db import DatabaseError, OperationalError, connection

from cortex.api.meters import Count, Level, meters

PATIENCE_MS: Final = 200
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_PRIMARY_CODE: Final = 0xFF  # SQLite's extended codes carry the primary one in their lowest byte

log = logging.getLogger(__name__)


@contextmanager
def short_patience() -> Iterator[None]:
    """Within it, this connection gives up on a locked database after a moment.

    Raises: OperationalError, of which `is_busy` tells whether that was the reason.
    """
    if connection.vendor != "sqlite":  # elsewhere a writer stands in nobody's way but its own rows'
        yield
        return
    _set_patience(PATIENCE_MS)
    try:
        yield
    finally:
        _set_patience(int(connection.settings_dict["OPTIONS"]["timeout"] * 1_000))


def write_soon(write: Callable[[], object]) -> bool:
    """Write, unless another connection holds the database for longer than a moment.

    Returns: whether it was written.
    Raises: OperationalError for any other reason.
    """
    try:
        with short_patience():
            write()
    except OperationalError as error:
        if not is_busy(error):
            raise
        return False
    return True


def is_busy(error: OperationalError) -> bool:
    """Tell whether an error means that another connection holds the database; a full disk does not."""
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY_CODE in _BUSY


def _set_patience(milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {milliseconds:d}")


class Deferred:
    """Writes that wait for a free database: a bounded queue, and one thread of this process that empties it."""

    def __init__(self, *, room: int) -> None:
        self._waiting: queue.Queue[Callable[[], object]] = queue.Queue(maxsize=room)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        """Whether everything that was left here is written."""
        return self._waiting.unfinished_tasks == 0

    def add(self, write: Callable[[], object]) -> bool:
        """Leave a write for later.

        Returns: False where there is no room for it; it is lost then, and the log says so.
        """
        try:
            self._waiting.put_nowait(write)
        except queue.Full:
            meters.count(Count.RECEIPTS_LOST)
            log.warning("a deferred write was dropped: too many wait for the database already")
            return False
        self._tell()
        self._ensure_running()
        return True

    def flush(self, *, timeout: float) -> bool:
        """Wait until all is written, so many seconds at most.

        Returns: whether it is.
        """
        deadline = time.monotonic() + timeout
        with self._waiting.all_tasks_done:
            while self._waiting.unfinished_tasks and (left := deadline - time.monotonic()) > 0:
                self._waiting.all_tasks_done.wait(left)
            return self._waiting.unfinished_tasks == 0

    def flush_at_exit(self, *, timeout: float) -> None:
        if not self.flush(timeout=timeout):
            log.warning(
                "deferred writes were lost: the database stayed locked",
                extra={"lost": self._waiting.unfinished_tasks},
            )

    def _ensure_running(self) -> None:
        with self._starting:  # a forked process has the queue, but not the thread
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="deferred-writes", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            write = self._waiting.get()
            try:
                _write_once_free(write)
            finally:
                if self._waiting.empty():
                    connection.close()
                self._waiting.task_done()
                self._tell()

    def _tell(self) -> None:
        meters.level(Level.RECEIPTS_WAITING, self._waiting.unfinished_tasks)


def _write_once_free(write: Callable[[], object]) -> None:
    """Try until the database is free; what it refuses for another reason is lost, and the log says so."""
    while True:
        try:
            write()
        except OperationalError as error:
            if is_busy(error):
                continue  # it waited for as long as a connection waits
            log.warning("a deferred write failed", extra={"error": type(error).__name__})
        except DatabaseError as error:
            log.warning("a deferred write failed", extra={"error": type(error).__name__})
        return


deferred: Final = Deferred(room=1_000)
atexit.register(deferred.flush_at_exit, timeout=5.0)
