"""One value, one text: how bodies are serialised, and the canonical bytes that digests are taken of."""

import json
from typing import Final

_WIRE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def wire_text(value: object) -> str:
    """Return the compact JSON that a response body holds for a value, in the order of its keys."""
    return _WIRE.encode(value)
