"""Careful reading of values of which nothing is known: text, moments, lists, JSON. Whatever does not fit is None."""

import json
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from memories.core.imports.drafts import Document, Unread

LONGEST_ID: Final = 200
LONGEST_NAME: Final = 200
LONGEST_TAG: Final = 100
MOST_TAGS: Final = 20
_LONGEST_INTEGER: Final = 19  # digits
_MILLISECONDS_FROM: Final = 100_000_000_000  # as seconds, the year 5138
_SURROGATES: Final = dict.fromkeys(range(55296, 57344), 65533) | {0: None}


class Unreadable(Exception):
    """A file that no row can be had from, and why."""


def decoded(document: Document) -> tuple[str, list[Unread]]:
    """Return the text of a file, whatever Unicode encoding its first bytes announce, and what was lost of it."""
    data = document.data
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        text = data.removeprefix(BOM_UTF8).decode("utf-8", "replace")
    lost = text.count("\ufffd") - data.count("\ufffd".encode())
    if lost <= 0:
        return text, []
    return text, [Unread(place=document.name, reason=f"{lost} bytes are no text; they were replaced by �")]


def parsed(text: str) -> Any:
    """Parse JSON as far as it can be trusted: no endless numbers, no NaN.

    Raises: Unreadable.
    """
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_nothing)
    except RecursionError:
        raise Unreadable("is nested too deep") from None
    except ValueError as error:
        at = (
            f" at line {error.lineno}, column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else ""
        )
        raise Unreadable(f"is not JSON{at}") from None


def lines_of(document: Document) -> Iterator[tuple[str, Any | Unread]]:
    """Yield the place and the value of each JSON line; a line that is none is `Unread`."""
    text, lost = decoded(document)
    for each in lost:
        yield each.place, each
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        place = f"{document.name}:{number}"
        try:
            yield place, parsed(line)
        except Unreadable as error:
            yield place, Unread(place=place, reason=str(error))


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else None


def _nothing(_: str) -> None:
    return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return a string without NUL and lone surrogates, stripped; "" for anything else."""
    return value.translate(_SURROGATES).strip() if isinstance(value, str) else ""


def id_of(*values: Any) -> str:
    """Return the first usable identifier, "" where there is none."""
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if found := text_of(value)[:LONGEST_ID]:
            return found
    return ""


def names_of(values: Any, *, limit: int = LONGEST_NAME) -> tuple[str, ...]:
    """Return the distinct names of a list, or of a comma-separated string."""
    each = values.split(",") if isinstance(values, str) else listed(values)
    names = (text_of(value)[:limit].strip() for value in each)
    return tuple(dict.fromkeys(name for name in names if name))[:MOST_TAGS]


def tags_of(values: Any) -> tuple[str, ...]:
    found = names_of(values, limit=LONGEST_TAG)
    return tuple(dict.fromkeys(tag for name in found if (tag := name.lstrip("#").strip())))


def share_of(value: Any) -> float | None:
    """Return a number between 0 and 1, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def moment_of(value: Any) -> datetime | None:
    """Read seconds or milliseconds since 1970, or ISO 8601; a naive time is UTC. None for what is no moment."""
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS_FROM else value, UTC)
        found = datetime.fromisoformat(text_of(value))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError, TypeError):
        return None


def about(name: str, text: str) -> str:
    """Return a text that says whom it is about."""
    return text if not name or name.casefold() in text.casefold() else f"{name}: {text}"
