"""How a server of somebody's own choice is spoken to: JSON over HTTP, within a time, a size, and no redirect."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

ANSWER_LIMIT_BYTES: Final = 64 * 1024 * 1024
_PIECE: Final = 65_536


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to the server that was named, and to no other."""

    def redirect_request(self, *about: Any, **more: Any) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirect)


def post_json(
    address: str, body: Mapping[str, Any], *, key: str, seconds: float, limit: int = ANSWER_LIMIT_BYTES
) -> Any:
    """Send one request and read its answer, all within so many seconds.

    Raises: OSError, HTTPException or ValueError where the server does not answer, or something else than JSON.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(address, data=json.dumps(body).encode(), headers=headers, method="POST")
    deadline = time.monotonic() + seconds
    try:
        with _OPENER.open(request, timeout=seconds) as response:
            return json.loads(_read(response, deadline=deadline, limit=limit))
    except urllib.error.HTTPError as error:
        error.close()
        raise
    except RecursionError:
        raise ValueError("the answer is nested too deep") from None


def _read(response: Any, *, deadline: float, limit: int) -> bytes:
    """Read an answer that may come in a trickle, or without end."""
    pieces, size = [], 0
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise ValueError("the answer is too large")
        if time.monotonic() > deadline:
            raise TimeoutError("the answer took too long")
    return b"".join(pieces)


def said_of(error: Exception) -> str:
    """Tell what went wrong without the address, which may carry a secret, and without the answer."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return "no JSON"
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, Exception) else error
    return str(cause) if isinstance(cause, ValueError) else type(cause).__name__
