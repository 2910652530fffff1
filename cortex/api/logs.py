"""Structured logs: one JSON object a line, never memory text, never a token."""

import json
import logging
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

request_id: ContextVar[str] = ContextVar("request_id", default="")
_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "request", "taskName"}
# What these say is about code and files. Any other message may quote the data at hand: PostgreSQL's shows the whole
# row that it refuses, a KeyError its key, a ValueError its text.
_SAID_OF_CODE: Final = (TypeError, AttributeError, NameError, ImportError, OSError, ImproperlyConfigured)
# What the drivers name an error by, without any of the data.
_NAMES_OF_DRIVERS: Final = ("sqlite_errorname", "sqlstate")

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class JsonFormatter(logging.Formatter):
    """Keeps the fields that a caller passed by `extra`, as far as they are plain values."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if name := request_id.get():
            line["request_id"] = name
        plain = (str, int, float, bool)
        line |= {k: v for k, v in record.__dict__.items() if k not in _OWN and isinstance(v, plain)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)

    def formatException(self, ei: _ExcInfo) -> str:
        """Tell the frames and the kinds of an error and its causes; what they say only where it is about code."""
        return "".join(_told(error) for error in _chain(ei[1]))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error's causes, the first one first, then the error; each once."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        hidden = error.__suppress_context__
        error = error.__cause__ or (None if hidden else error.__context__)
    return reversed(found)


def _told(error: BaseException) -> str:
    kind = type(error)
    names = [str(name) for name in (getattr(error, known, None) for known in _NAMES_OF_DRIVERS) if name]
    said = str(error) if isinstance(error, _SAID_OF_CODE) else " ".join(names)
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{frames}{kind.__module__}.{kind.__qualname__}{f': {said}' if said else ''}\n"
