"""Copies of a SQLite database, made while it is in use, checked before they count, and brought back.

A copy is taken in one reading transaction: it is the database as of one moment, and nobody waits for it. It becomes a
backup by its name, and gets that only once SQLite found every page and index sound and the bytes are on the disk.
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

PATTERN: Final = "cortex-*.sqlite3"
SET_ASIDE: Final = ".before-restore"
_NAME: Final = "cortex-%Y%m%dT%H%M%S.%fZ.sqlite3"
_PRIVATE: Final = 0o600
_COMPANIONS: Final = ("-wal", "-shm")


class Unsound(Exception):
    """A copy that may not be relied on, or a database that cannot be replaced now; it says why."""


def back_up(database: Path, folder: Path, *, now: datetime) -> Path:
    """Copy a database into a folder.

    Returns: the new file.
    Raises: Unsound where the copy is not in order; it is not kept then.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = folder / now.strftime(_NAME)
    draft = target.with_suffix(".partial")
    try:
        _copy(database, draft)
        check(draft)
        draft.rename(target)
    finally:
        draft.unlink(missing_ok=True)
    _settle(folder)
    return target


def newest(folder: Path) -> datetime | None:
    """Return when the newest backup of a folder was made, as its name says; None where there is none."""
    made = []
    for path in folder.glob(PATTERN):
        with suppress(ValueError):  # a name that somebody gave it
            made.append(datetime.strptime(path.name, _NAME).replace(tzinfo=UTC))
    return max(made, default=None)


def prune(folder: Path, *, keep: int) -> Sequence[Path]:
    """Delete all backups but the newest; their names are in the order of their making.

    Returns: what went.
    """
    old = sorted(folder.glob(PATTERN))[: -keep or None]
    for path in old:
        path.unlink()
    return old


def check(path: Path) -> None:
    """Raises: Unsound unless every page and every index of a file is in order."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            told = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
            has_memories = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'memories_memory'"
            ).fetchone()
    except sqlite3.Error as error:
        raise Unsound(f"{path.name} is no database that can be read: {error}") from error
    if told != ["ok"]:
        raise Unsound(f"{path.name} is damaged: {'; '.join(told)}")
    if not has_memories:
        raise Unsound(f"{path.name} is no database of Cortex")


def put_in_place(backup: Path, database: Path) -> Path | None:
    """Let a backup take the place of a database that nobody has open.

    Returns: where the former database went; None where there was none.
    Raises: Unsound where somebody has it open.
    """
    draft = database.with_name(f".{database.name}.restoring")
    former = None
    try:
        _copy(backup, draft)
        if database.exists():
            _close(database)
            former = database.with_name(database.name + SET_ASIDE)
            database.rename(former)
        for companion in _COMPANIONS:
            database.with_name(database.name + companion).unlink(missing_ok=True)
        draft.rename(database)
    finally:
        draft.unlink(missing_ok=True)
    _settle(database.parent)
    return former


def _copy(source: Path, target: Path) -> None:
    """Copy as one file that only its owner may read."""
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as there,
        closing(sqlite3.connect(target)) as here,
    ):
        there.backup(here)
        here.execute(
            "PRAGMA journal_mode=DELETE"
        )  # the copy of a log's database would come with a log of its own
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _close(database: Path) -> None:
    """Bring the write-ahead log into the file, which SQLite does only for whoever is alone with it."""
    try:
        with closing(sqlite3.connect(database, timeout=1)) as connection:
            mode = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    except sqlite3.OperationalError:
        mode = "wal"
    except sqlite3.DatabaseError:
        return  # broken beyond reading: that is what backups are for
    if mode != "delete":
        raise Unsound("the database is in use; stop the server first")
    with suppress(OSError):
        database.chmod(_PRIVATE)


def _settle(folder: Path) -> None:
    """Bring the names of a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
