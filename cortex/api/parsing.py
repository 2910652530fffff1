"""Strict JSON in: no NUL, no lone surrogate, no NaN, no bottomless nesting, no more bytes than allowed."""

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import IO, Any, Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import UnreadablePostError
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import APIException, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from cortex.api.bodies import announced_length
from cortex.errors import TooLarge, Unparsable

MAX_NESTING = 100
_UTF8_NAMES: Final = frozenset({"utf-8", "utf8"})


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


class BodyTooSlow(APIException):
    status_code = 408
    default_detail = "The body did not arrive in time"


def read_body(stream: IO[bytes], parser_context: Mapping[str, Any] | None) -> bytes:
    """Read a body that a parser was given, unless what is said of it refuses it already.

    Raises: TooLarge if it is larger than the view takes (`body_limit_bytes`); UnsupportedMediaType where it is
        compressed or not UTF-8; BodyTooSlow; Unparsable where it was cut off.
    """
    context = parser_context or {}
    limit: int = getattr(context.get("view"), "body_limit_bytes", settings.BODY_LIMIT_BYTES)
    if (request := context.get("request")) is not None:
        _check_encodings(request)
        if announced_length(request.META) > limit:
            raise _too_large(limit)
    try:
        raw = stream.read(limit + 1)
    except RequestDataTooBig:
        raise _too_large(limit) from None
    except UnreadablePostError as error:
        if isinstance(error.__cause__, TimeoutError):
            raise BodyTooSlow from None
        raise Unparsable("the body did not arrive whole") from None
    if len(raw) > limit:
        raise _too_large(limit)
    return raw.removeprefix(BOM_UTF8)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit} bytes")


def _check_encodings(request: Request) -> None:
    packed = request.headers.get("Content-Encoding", "identity").strip().lower()
    if packed not in {"", "identity"}:
        raise UnsupportedMediaType(packed, "The body must not be compressed")
    _, said = parse_header_parameters(request.content_type or "")
    if said.get("charset", "utf-8").strip().lower() not in _UTF8_NAMES:
        raise UnsupportedMediaType(request.content_type, "The body must be UTF-8")


def parse_json(raw: bytes) -> Any:
    """Parse strictly.

    Raises: Unparsable, with the reason but without any of the text.
    """
    try:
        value = json.loads(
            raw.decode(), parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unambiguous
        )
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


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object, unless two readers of it could understand two things."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Unparsable("an object in the body names a field twice")
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
