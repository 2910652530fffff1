"""Bodies without a length: `Transfer-Encoding: chunked`, as clients send it that write while they produce.

Django reads as many bytes as Content-Length says, hence none of these. Where the server cuts the chunks and ends the
stream with the body (`wsgi.input_terminated`), the most that any call takes stands in for the length, and one byte
more, so that a body which is too large is seen to be.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from django.conf import settings
from gunicorn.http.errors import ParseException

_CUT: Final = "cortex.chunks_are_cut"

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]


class _Chunks:
    """The body's stream, whose bad chunks are an error of reading."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return self._reading(self._stream.read, size)

    def readline(self, size: int = -1) -> bytes:
        return self._reading(self._stream.readline, size)

    def _reading(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except ParseException as error:
            raise OSError("the chunks of the body are malformed") from error


def accept_chunks(application: Application) -> Application:
    """Wrap an application so that it reads bodies that come in chunks."""

    def answer(environ: Environ, start_response: Any) -> Iterable[bytes]:
        if is_chunked(environ) and environ.get("wsgi.input_terminated"):
            environ |= {
                "CONTENT_LENGTH": str(settings.BULK_BODY_LIMIT_BYTES + 1),
                "wsgi.input": _Chunks(environ["wsgi.input"]),
                _CUT: True,
            }
        return application(environ, start_response)

    return answer


def is_chunked(environ: Mapping[str, Any]) -> bool:
    """Whether a body comes in chunks that nobody has cut."""
    return "HTTP_TRANSFER_ENCODING" in environ and _CUT not in environ


def announced_length(environ: Mapping[str, Any]) -> int:
    """Return the length that the client states, 0 where it states none."""
    stated = "" if _CUT in environ else environ.get("CONTENT_LENGTH") or ""
    return int(stated) if stated.isascii() and stated.isdigit() else 0
