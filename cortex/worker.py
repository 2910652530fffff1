"""The server's worker: a client that sends slowly, or not at all, keeps a thread for moments only.

Gunicorn's threads wait for a client as long as it likes. Here each read ends by a deadline, which every byte that
arrives moves on a little: a large body over a thin line has its time, silence and a trickle have not.

What never becomes a request, because its first line or its headers cannot be read, is refused in the form of all refusals.
"""

import errno
import json
import socket
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from gunicorn.workers import gthread

PROMPT_SECONDS: Final = 0.2  # for a new connection's first byte; then it waits without a thread
HEAD_SECONDS: Final = 5.0
BODY_SECONDS: Final = 5.0
SEND_SECONDS: Final = 30.0  # for one piece of an answer
LINGER_SECONDS: Final = 0.2  # for what a client still sends after its answer
LEAST_BYTES_PER_SECOND: Final = 32 * 1024


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


class _Overheard:
    """Stands in for a connection and keeps what is said to it."""

    def __init__(self) -> None:
        self.said = b""

    def gettimeout(self) -> float:
        return 0.0

    def sendall(self, data: bytes) -> None:
        self.said += data

    @property
    def status(self) -> HTTPStatus | None:
        with suppress(IndexError, ValueError):
            return HTTPStatus(int(self.said.split(b" ", 2)[1]))
        return None


def _refusal(status: HTTPStatus) -> bytes:
    detail = status.description or status.phrase
    body = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    sent = json.dumps(body).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n"
        f"Content-Type: application/problem+json\r\nContent-Length: {len(sent)}\r\n\r\n"
    )
    return head.encode() + sent


class PatientWorker(gthread.ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """Gunicorn's threaded worker over connections that are bounded in time."""

    def enqueue_req(self, conn: Any) -> None:
        if not isinstance(conn.sock, ClientSocket):
            conn.sock = ClientSocket.taking(conn.sock)
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        if not conn.initialized and not conn.wait_for_data(PROMPT_SECONDS):
            return gthread._DEFER
        conn.sock.request = None
        conn.sock.allow(HEAD_SECONDS)
        return super().handle(conn)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Let gunicorn judge what went wrong, and say it in our own form."""
        overheard = _Overheard()
        super().handle_error(req, overheard, addr, exc)
        if overheard.status is not None:
            with suppress(OSError):
                client.sendall(_refusal(overheard.status))

    def handle_request(self, req: Any, conn: Any) -> Any:
        conn.sock.request = req
        conn.sock.allow(BODY_SECONDS)
        try:
            return super().handle_request(req, conn)
        finally:
            conn.sock.allow(LINGER_SECONDS)
