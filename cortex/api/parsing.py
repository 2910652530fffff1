"""Strict JSON in: no NUL, no lone surrogate, no NaN, no bottomless nesting, no more bytes than allowed."""

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.parsers import BaseParser

from cortex.errors import TooLarge, Unparsable

MAX_NESTING = 100


class StrictJSONParser(BaseParser):
    """Parses a body of at most `view.body_limit_bytes` (2 MiB where a view says nothing)."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return parse_json(read_body(stream, parser_context))


def read_body(stream: IO[bytes], parser_context: Mapping[str, Any] | None) -> bytes:
    """Read a body that a parser was given.

    Raises: TooLarge if it is larger than the view takes (`body_limit_bytes`).
    """
    view = (parser_context or {}).get("view")
    limit: int = getattr(view, "body_limit_bytes", settings.BODY_LIMIT_BYTES)
    try:
        raw = stream.read(limit + 1)
    except RequestDataTooBig:
        raise TooLarge(f"the body is larger than {limit} bytes") from None
    if len(raw) > limit:
        raise TooLarge(f"the body is larger than {limit} bytes")
    return raw


def parse_json(raw: bytes) -> Any:
    """Parse strictly.

    Raises: Unparsable, with the reason but without any of the text.
    """
    try:
        value = json.loads(raw.decode(), parse_constant=_refuse_constant, parse_float=_finite)
    except UnicodeDecodeError:
        raise Unparsable("the body is not UTF-8") from None
    except RecursionError:
        raise Unparsable(f"the body is nested deeper than {MAX_NESTING}") from None
    except ValueError as error:
        position = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise Unparsable(f"the body is not JSON{position}") from None
    if _is_suspicious(raw):
        check_text(value)
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return value


def _is_suspicious(raw: bytes) -> bool:
    """Whether the tree needs a walk at all: most bodies hold no escape and few brackets."""
    escaped = b"\\u" in raw and any(mark in raw.lower() for mark in (b"\\u0000", b"\\ud"))
    return escaped or b"\0" in raw or raw.count(b"[") + raw.count(b"{") > MAX_NESTING


def check_text(value: Any) -> None:
    """Walk a parsed value without recursion and refuse what no database can store.

    Raises: Unparsable for NUL, lone surrogates, or nesting over 100.
    """
    level = [value]
    for _ in range(MAX_NESTING + 1):
        below: list[Any] = []
        for node in level:
            if isinstance(node, str):
                _check_string(node)
            elif isinstance(node, Mapping):
                below.extend(node)
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
        if not below:
            return
        level = below
    raise Unparsable(f"the body is nested deeper than {MAX_NESTING}")


def _check_string(text: str) -> None:
    if "\0" in text:
        raise Unparsable("NUL bytes are no text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unparsable("a lone surrogate is no text") from None
