"""A database for one history, apart from the operator's: a new SQLite file that goes when its block is left."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import load_backend

from cortex.env import sqlite_file

APPS: Final = frozenset({"memories", "memory_sessions", "contextpack"})


@contextmanager
def throwaway_databases() -> Iterator[Path]:
    """Make a folder with a migrated, empty database in it, of which `database_like` takes copies."""
    folder = Path(tempfile.mkdtemp(prefix="cortex-evaluate-"))
    try:
        empty = folder / "empty.sqlite3"
        with _default_database(empty) as connection:
            executor = MigrationExecutor(connection)
            executor.migrate([node for node in executor.loader.graph.leaf_nodes() if node[0] in APPS])
        yield empty
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def database_like(empty: Path) -> Iterator[None]:
    """Let this thread work on a copy of an empty database within the block."""
    with tempfile.TemporaryDirectory(dir=empty.parent) as folder:
        copy = Path(folder) / "history.sqlite3"
        shutil.copyfile(empty, copy)
        with _default_database(copy):
            yield


@contextmanager
def _default_database(path: Path) -> Iterator[Any]:
    """Make a SQLite file this thread's default database; the connection that was there before is kept as it is."""
    own = connections.configure_settings({DEFAULT_DB_ALIAS: sqlite_file(path)})[DEFAULT_DB_ALIAS]
    kept = connections[DEFAULT_DB_ALIAS]
    connection = load_backend(own["ENGINE"]).DatabaseWrapper(own, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = connection
    try:
        yield connection
    finally:
        connection.close()  # the last one to close a file writes its log back into it
        connections[DEFAULT_DB_ALIAS] = kept
