"""One value, one text: how bodies are serialised, and the canonical bytes that digests are taken of."""

import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

import rfc8785

from contextpack.core.types import Pack

FLOAT_DIGITS: Final = 6  # finer differences are noise of the machine, not of the pack

_Json: TypeAlias = "str | int | float | list[_Json] | dict[str, _Json] | None"  # a bool is an int
_WIRE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class _NotCanonical(ValueError):
    """The value is none that JSON knows."""


def wire_text(value: object) -> str:
    """Return the compact JSON that a response body holds for a value, in the order of its keys."""
    return _WIRE.encode(value)


def canonical_bytes(value: object) -> bytes:
    """Return the one JSON text of a value, whatever the order of its keys and the noise in its floats.

    Args:
        value: mappings with string keys, sequences, strings, numbers, booleans, None, and enums of those.
    Raises: ValueError for anything else, for NaN and infinities, for lone surrogates, and for integers that
        a JSON number cannot hold.
    Source: RFC 8785; floats are rounded first, so that a digest survives another machine's arithmetic.
    """
    return rfc8785.dumps(_plain(value))


def digest(content: bytes) -> str:
    """Return the content address of some bytes: "sha256:" and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def pack_digest(pack: Pack) -> str:
    """Return the identity of a pack: which memories it holds, at which rung, in which words and order.

    Session, receipt, clock and scores have no part in it.
    """
    return digest(canonical_bytes([[item.ref, item.rung, item.text] for item in pack.items]))


def _plain(value: object) -> _Json:
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, Mapping):
        return {_key(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return round(value, FLOAT_DIGITS)
    if value is None or isinstance(value, str | int):
        return value
    raise _NotCanonical(f"{type(value).__name__} has no canonical form")


def _key(name: object) -> str:
    if isinstance(name, Enum):
        name = name.value
    if not isinstance(name, str):
        raise _NotCanonical(f"a key must be a string, not {type(name).__name__}")
    return name
