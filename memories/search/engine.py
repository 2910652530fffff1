"""What the search arms need of the database driver beyond Django's own cursor."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def binary_cursor() -> Iterator[Any]:
    """Open a cursor that carries bytes as bytes.

    Django writes values into a PostgreSQL statement's text, where each byte takes two characters on its way in
    and out; for megabytes of vectors that costs more than all the rest. This one binds on the server.
    """
    if connection.vendor != "postgresql":
        with connection.cursor() as cursor:
            yield cursor
        return
    wrapper: Any = connection
    wrapper.ensure_connection()
    raw = wrapper.Database.Cursor(wrapper.connection)
    raw.format = wrapper.Database.pq.Format.BINARY
    with wrapper._prepare_cursor(raw) as cursor:  # so that it is logged and counted like any other
        yield cursor


def rows_of(statement: str, values: Sequence[Any]) -> Iterator[Any]:
    """Yield a statement's rows as the database hands them out."""
    with binary_cursor() as cursor:
        cursor.execute(statement, values)
        yield from cursor
