"""How a call gets to the server and an answer back. `HttpTransport` is the real one; anything that sends will do."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from typing import Final, Protocol
from urllib.parse import urlsplit

from cortex_client.errors import NoAnswer

TIMEOUT_SECONDS: Final = 30.0

# How a connection ends that the other side closed while nobody used it.
_CLOSED: Final = (RemoteDisconnected, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: its path with its query string, its body as bytes."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer as it came; the names of its headers are in lower case."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Transport(Protocol):
    def send(self, call: Call) -> Reply:
        """Send one call and return its answer, whatever its status.

        Raises: NoAnswer where none arrives whole.
        """

    def close(self) -> None:
        """Let go of what is kept open; a later call opens it again."""


class HttpTransport:
    """HTTP/1.1 over connections that are kept alive; safe for threads, each of which takes one for itself.

    A connection on which anything went wrong is never used again: an answer that comes late can never be taken for
    the answer to a later call.
    """

    def __init__(self, base_url: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        """
        Args:
            base_url: such as `http://127.0.0.1:8766`; a path in it stands before every call's own.
            timeout: seconds that any one read or write may take.
        Raises: ValueError for what is no http or https address.
        """
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"not an http or https address: {base_url!r}")
        self._open = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self._timeout = timeout
        self._idle: list[HTTPConnection] = []
        self._guard = threading.Lock()

    def send(self, call: Call) -> Reply:
        kept = self._take_kept()
        if kept is not None:
            try:
                return self._exchange(kept, call)
            except _CLOSED:
                kept.close()  # it was closed while nobody used it, and nothing was answered: once more, on a new one
        try:
            return self._exchange(self._open(self._host, self._port, timeout=self._timeout), call)
        except _CLOSED as error:
            raise _no_answer(call, error) from error

    def close(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take_kept(self) -> HTTPConnection | None:
        with self._guard:
            return self._idle.pop() if self._idle else None

    def _exchange(self, connection: HTTPConnection, call: Call) -> Reply:
        try:
            connection.request(
                call.method, self._prefix + call.path, body=call.body, headers=dict(call.headers)
            )
            response = connection.getresponse()
        except _CLOSED:
            connection.close()
            raise
        except (OSError, HTTPException) as error:
            connection.close()
            raise _no_answer(call, error) from error
        return self._read(connection, call, response)

    def _read(self, connection: HTTPConnection, call: Call, response: HTTPResponse) -> Reply:
        try:
            body = response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            raise _no_answer(call, error) from error
        if response.will_close:
            connection.close()
        else:
            with self._guard:
                self._idle.append(connection)
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(status=response.status, body=body, headers=headers)


def _no_answer(call: Call, error: Exception) -> NoAnswer:
    path = call.path.partition("?")[0]
    return NoAnswer(f"{call.method} {path} got no whole answer ({type(error).__name__}: {error})")
