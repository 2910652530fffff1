"""Structured logs: one JSON object a line, never memory text, never a token."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

request_id: ContextVar[str] = ContextVar("request_id", default="")
_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "request", "taskName"}


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
