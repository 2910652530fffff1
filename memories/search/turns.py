"""One at a time, whatever process: who works off what waits holds the turn, and hands it on after a moment.

On PostgreSQL it is an advisory lock of the connection, good for all machines; on SQLite, which is one machine, a lock
on a file beside the database's other files. Either goes with the process that held it.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

from django.conf import settings
from django.db import connection


@contextmanager
def turn(at: str = "embedding") -> Iterator[None]:
    """Wait for the turn at some work and hold it within the block, outside of any transaction."""
    if connection.vendor != "postgresql":
        with (settings.VAR_DIR / f"{at}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # closing the file lets go of it
            yield
        return
    _ask("SELECT pg_advisory_lock(%s)", at)
    try:
        yield
    finally:
        _ask("SELECT pg_advisory_unlock(%s)", at)


def _ask(statement: str, at: str) -> None:
    key = int.from_bytes(blake2b(at.encode(), digest_size=8).digest(), "big", signed=True)
    with connection.cursor() as cursor:
        cursor.execute(statement, [key])
