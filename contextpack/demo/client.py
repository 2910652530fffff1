"""A client that needs the standard library only: one connection, kept alive, JSON in and JSON out."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlencode

TIMEOUT_SECONDS: Final = 60.0


class ServerTrouble(Exception):
    """The server did not start, stopped answering, or answered with another status than it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer as it came."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    seconds: float

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Calls one server with one token; not for use by several threads at once."""

    def __init__(self, *, host: str, port: int, token: str = "") -> None:
        self._connection = HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, *, expect: int | None = 200, **query: Any) -> Reply:
        return self.call("GET", f"{path}?{urlencode(query)}" if query else path, expect=expect)

    def post(self, path: str, body: Any, *, expect: int | None = 200) -> Reply:
        return self.call("POST", path, body=body, expect=expect)

    def call(self, method: str, path: str, *, body: Any = None, expect: int | None = 200) -> Reply:
        """Send one request and read the whole answer.

        Args:
            expect: the only status that is right; None takes any.
        Raises: ServerTrouble where there is no answer, or another one than expected.
        """
        sent = None if body is None else json.dumps(body).encode()
        headers = self._headers if sent is None else {**self._headers, "Content-Type": "application/json"}
        reply = self._exchange(method, path, sent, headers)
        if expect is not None and reply.status != expect:
            told = reply.body[:300].decode(errors="replace")
            raise ServerTrouble(f"{method} {path} answered {reply.status}, not {expect}: {told}")
        return reply

    def close(self) -> None:
        self._connection.close()

    def _exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        started = time.perf_counter()
        try:
            self._connection.request(method, path, body=body, headers=dict(headers))
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise ServerTrouble(f"{method} {path} got no answer ({type(error).__name__}: {error})") from error
        return Reply(
            status=response.status,
            headers={name.lower(): value for name, value in response.getheaders()},
            body=content,
            seconds=time.perf_counter() - started,
        )
