"""What a database's error means to whoever waits for an answer, told without any SQL."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError

_PRIMARY_CODE: Final = 0xFF  # SQLite's extended codes carry the primary one in their lowest byte
_BUSY_CODES: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_MISSING_WORDS: Final = ("no such table", "no such column", "has no column named", "no such fts5 table")
_MISSING_STATES: Final = frozenset({"42P01", "42703", "42883", "3F000"})
# Lost or refused connections, too many of them, a server that starts or stops, locks that were not granted.
_PASSING_STATES: Final = ("08", "53300", "57P", "55P03", "40001", "40P01", "57014")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a database gave no answer; `passing` says that the same call may succeed in a moment."""

    detail: str
    passing: bool = False


BUSY: Final = Trouble(detail="The database is busy; try again", passing=True)
AWAY: Final = Trouble(detail="The database does not answer; try again", passing=True)
MISFIT: Final = Trouble(
    detail="The database does not fit this version of Cortex; its operator has to run: manage.py migrate"
)
BROKEN: Final = Trouble(detail="The database cannot be used; the log of the server says why")


def trouble_of(error: Exception) -> Trouble | None:
    """Tell what an error means.

    Returns: None where it says nothing about the database's own state, such as a broken constraint.
    """
    cause = error.__cause__
    if isinstance(error, OperationalError | ProgrammingError | InterfaceError) and _is_missing(cause):
        return MISFIT
    if isinstance(error, InterfaceError):
        return AWAY
    if not isinstance(error, OperationalError):
        return None
    if isinstance(cause, sqlite3.Error):
        return BUSY if _code(cause) in _BUSY_CODES else BROKEN
    state = getattr(cause, "sqlstate", None)
    return AWAY if state is None or state.startswith(_PASSING_STATES) else BROKEN


def _code(cause: sqlite3.Error) -> int:
    return getattr(cause, "sqlite_errorcode", 0) & _PRIMARY_CODE


def _is_missing(cause: BaseException | None) -> bool:
    if isinstance(cause, sqlite3.OperationalError):
        return any(words in str(cause) for words in _MISSING_WORDS)
    return getattr(cause, "sqlstate", None) in _MISSING_STATES


def said_of(error: DatabaseError | InterfaceError) -> str:
    """Say to an operator, in one line, what is wrong; the driver's words are about files and addresses only."""
    trouble = trouble_of(error)
    if trouble is MISFIT:
        return "The database does not fit this version of Cortex. Run: manage.py migrate"
    return f"The database cannot be used: {' '.join(str(error).split())}"
