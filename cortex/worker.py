"""The server's worker: a client that sends slowly, or not at all, keeps a thread for moments only.

Gunicorn's threads wait for a client as long as it likes. Here each read ends by a deadline, which every byte that
arrives moves on a little: a large body over a thin line has its time, silence and a trickle have not.

What is no HTTP is refused before any application sees it; here, too, a refusal is a problem (RFC 9457).
"""

import errno
import json
import logging
import socket
import time
from http import HTTPStatus
from typing import Any, Final

from gunicorn.http import errors
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.workers import gthread

PROMPT_SECONDS: Final = 0.2  # for a new connection's first byte; then it waits without a thread
HEAD_SECONDS: Final = 5.0
BODY_SECONDS: Final = 5.0
SEND_SECONDS: Final = 30.0  # for one piece of an answer
LINGER_SECONDS: Final = 0.2  # for what a client still sends after its answer
LEAST_BYTES_PER_SECOND: Final = 32 * 1024
# The longest task by GET: 8,000 characters of four bytes, each byte percent-encoded, and the rest of the address.
LONGEST_REQUEST_LINE: Final = 8_000 * 4 * 3 + 16_384

log = logging.getLogger(__name__)
_REFUSED: Final[tuple[tuple[type[Exception], HTTPStatus, str], ...]] = (
    (
        errors.LimitRequestLine,
        HTTPStatus.REQUEST_URI_TOO_LONG,
        "The address is too long: send it as the body of a POST",
    ),
    (
        errors.LimitRequestHeaders,
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The headers are too many or too long",
    ),
    (errors.ExpectationFailed, HTTPStatus.EXPECTATION_FAILED, "Only 100-continue can be expected"),
    (errors.UnsupportedTransferCoding, HTTPStatus.NOT_IMPLEMENTED, "Only chunks are a transfer coding here"),
    (errors.ForbiddenProxyRequest, HTTPStatus.FORBIDDEN, "The request is not allowed"),
    (errors.InvalidHeader, HTTPStatus.BAD_REQUEST, "A header of the request is malformed"),
    (errors.InvalidHeaderName, HTTPStatus.BAD_REQUEST, "The name of a header is malformed"),
    (errors.InvalidHTTPVersion, HTTPStatus.BAD_REQUEST, "The request is neither HTTP/1.0 nor HTTP/1.1"),
    (errors.InvalidRequestMethod, HTTPStatus.BAD_REQUEST, "The method of the request is malformed"),
    (errors.ParseException, HTTPStatus.BAD_REQUEST, "The request is no well-formed HTTP"),
)
_OUR_FAULT: Final = (
    errors.InvalidResponseHeader,
    errors.InvalidResponseHeaderName,
    errors.ConfigurationProblem,
)


class ClientSocket(socket.socket):
    """A client's connection; what is received comes in time, or not at all."""

    patience: float = HEAD_SECONDS  # seconds that one read may take
    ends_at: float = 0.0  # by the monotonic clock
    request: Any = None

    @classmethod
    def taking(cls, accepted: socket.socket) -> "ClientSocket":
        return cls(fileno=accepted.detach())

    def allow(self, seconds: float) -> None:
        """Start to count anew."""
        self.patience, self.ends_at = seconds, time.monotonic() + seconds

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Receive as any socket does.

        Raises: TimeoutError where the client did not send in time; the connection is of no more use then.
        """
        before = self.gettimeout()
        if before == 0:
            return super().recv(bufsize, flags)
        left = min(self.ends_at - time.monotonic(), self.patience)
        try:
            data = self._recv_within(left if before is None else min(left, before), bufsize, flags)
        except TimeoutError:
            if self.request is not None:
                self.request.force_close()
            # With this number gunicorn takes it for what it is: a client that is not there.
            raise TimeoutError(errno.ECONNRESET, "the client did not send in time") from None
        finally:
            self.settimeout(before)
        self.ends_at += len(data) / LEAST_BYTES_PER_SECOND
        return data

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send as any socket does.

        Raises: TimeoutError where the client did not take it in time.
        """
        before = self.gettimeout()
        self.settimeout(SEND_SECONDS)
        try:
            super().sendall(data, flags)
        except TimeoutError:
            raise TimeoutError(errno.EPIPE, "the client did not receive in time") from None
        finally:
            self.settimeout(before)

    def _recv_within(self, seconds: float, bufsize: int, flags: int) -> bytes:
        if seconds <= 0:
            raise TimeoutError
        self.settimeout(seconds)
        return super().recv(bufsize, flags)


class _LongRequest(Request):  # type: ignore[misc] # gunicorn has no types
    """A request whose line may be longer than gunicorn lets anybody choose."""

    def _parse_python(self, unreader: Any, buf: Any) -> Any:
        self.limit_request_line = LONGEST_REQUEST_LINE
        return super()._parse_python(unreader, buf)

    def _parse_fast(self, unreader: Any, buf: Any) -> Any:
        self.limit_request_line = self._fast_limit_request_line = LONGEST_REQUEST_LINE
        return super()._parse_fast(unreader, buf)


class _LongRequests(RequestParser):  # type: ignore[misc] # gunicorn has no types
    mesg_class = _LongRequest


class PatientWorker(gthread.ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """Gunicorn's threaded worker over connections that are bounded in time."""

    def enqueue_req(self, conn: Any) -> None:
        if not isinstance(conn.sock, ClientSocket):
            conn.sock = ClientSocket.taking(conn.sock)
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        if not conn.initialized and not conn.wait_for_data(PROMPT_SECONDS):
            return gthread._DEFER
        if conn.parser is None:
            conn.parser = _LongRequests(conn.cfg, conn.sock, conn.client)
        conn.sock.request = None
        conn.sock.allow(HEAD_SECONDS)
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        conn.sock.request = req
        conn.sock.allow(BODY_SECONDS)
        try:
            return super().handle_request(req, conn)
        finally:
            conn.sock.allow(LINGER_SECONDS)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Answer what no application could: the log names the kind of error, never what was sent."""
        status, detail = _refusal_of(exc)
        if status is HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("a request could not be answered", exc_info=exc)
        else:
            log.warning("a request was refused", extra={"error": type(exc).__name__, "status": int(status)})
        try:
            client.sendall(_problem(status, detail))
        except OSError:
            log.debug("a refusal could not be sent")


def _refusal_of(error: Exception) -> tuple[HTTPStatus, str]:
    if not isinstance(error, _OUR_FAULT):
        for kind, status, detail in _REFUSED:
            if isinstance(error, kind):
                return status, detail
    return HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong here; it is in the log"


def _problem(status: HTTPStatus, detail: str) -> bytes:
    body = {"type": "about:blank", "title": status.phrase, "status": int(status), "detail": detail}
    content = json.dumps(body).encode()
    head = (
        f"HTTP/1.1 {int(status)} {status.phrase}",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(content)}",
        "Connection: close",
    )
    return "\r\n".join([*head, "", ""]).encode() + content
