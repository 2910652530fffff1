"""The calls: one method each, JSON in, the parsed answer out, refusals as exceptions."""

import itertools
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

from cortex_client.errors import CortexError, NoAnswer, problem_of
from cortex_client.retrying import Retries
from cortex_client.transport import TIMEOUT_SECONDS, Call, HttpTransport, Reply, Transport

Json = dict[str, Any]

REQUEST_ID: Final = "X-Request-Id"
_JSON: Final = "application/json"
_TEXT: Final = "text/markdown"
_LINES: Final = "application/x-ndjson"


class Cortex:
    """A server, as one access token sees it.

    Every call tries again where that is right (`Retries`): on 429 and 503 always, and where no answer arrived
    wherever a repetition does no harm. That is all but `forget` and `end_session`: reads may be repeated, and a write
    carries an `Idempotency-Key`, under which the server acts once.

    Raises, from every method: `Problem` or one of its kinds where the server refuses, `NoAnswer` where none came.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8766",
        token: str = "",
        *,
        vault: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retries: Retries | None = None,
        transport: Transport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Args:
            vault: which vault an operator's key means; a token has its own.
            timeout: seconds that a read or a write on the connection may take.
            transport: sends the calls instead of HTTP to `base_url`.
            sleep: waits between two tries.
        """
        self._transport = HttpTransport(base_url, timeout=timeout) if transport is None else transport
        self._retries = Retries() if retries is None else retries
        self._sleep = sleep
        self._headers = {"Authorization": f"Bearer {token}", "Accept": f"{_JSON}, {_TEXT}"}
        if vault is not None:
            self._headers["X-Cortex-Vault"] = vault
        self._name, self._numbers = uuid.uuid4().hex[:12], itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    # -- Reading ---------------------------------------------------------------------------------

    def context(self, task: str, **asked: Any) -> Json:
        """Ask for the pack for a task, in `format` smp or json.

        Args:
            asked: `format model token_budget project layers entities as_of known_at session_id since dropped delta
                pin legend cursor`.
        """
        return _object(self.send_context(task, **asked))

    def context_markdown(self, task: str, **asked: Any) -> str:
        """Ask for the pack for a task as text that is ready for a prompt."""
        return self.send_context(task, **{**asked, "format": "markdown"}).body.decode()

    def send_context(self, task: str, **asked: Any) -> Reply:
        """Ask for a pack and return the answer as it came, headers and all.

        A repetition is harmless without a session, and in one where `since` says what was applied; in a session
        without `since` the server takes it that an answer which it sent has arrived, so there it is not repeated.
        """
        repeatable = asked.get("session_id") is None or asked.get("since") is not None
        return self._send("POST", "/v1/context", {"task": task, **asked}, repeatable=repeatable)

    def query(self, **mql: Any) -> Json:
        """Query memories: `find` or `ask`, and knobs that only narrow."""
        return _object(self._send("POST", "/v1/query", mql, repeatable=True))

    def expand(self, ref: str, *, direction: str = "document") -> Json:
        """Go on from a ref: `document`, `neighbors` or, from a query's cursor, `more`."""
        return self._get("/v1/expand", {"ref": ref, "direction": direction})

    def memory(self, ref: str) -> Json:
        """Return one memory whole."""
        return self._get(f"/v1/memories/{_segment(ref)}")

    def memories(self, **filters: Any) -> Json:
        """List memories, newest first: one page with `results` and the `next` cursor."""
        return self._get("/v1/memories", filters)

    def receipt(self, ref: str) -> Json:
        """Return what was served in an answer, and why."""
        return self._get(f"/v1/receipts/{_segment(ref)}")

    def session(self, session_id: str) -> Json:
        """Return what the server takes a conversation to hold."""
        return self._get(f"/v1/sessions/{_segment(session_id)}")

    def tools(self) -> list[Json]:
        """Return the tools that this token may use, as the Model Context Protocol describes them."""
        told: list[Json] = self._get("/v1/tools/schema", {"format": "mcp"})["tools"]
        return told

    def export(self) -> bytes:
        """Return the whole vault as JSON Lines; needs the scope `vault:admin`."""
        return self._send("GET", "/v1/export", repeatable=True).body

    # -- Writing ---------------------------------------------------------------------------------

    def remember(self, content: str, **fields: Any) -> Json:
        """Write one memory and return it."""
        return self._write("/v1/memories", {"content": content, **fields})

    def remember_all(self, memories: Sequence[Mapping[str, Any]]) -> list[Json]:
        """Write up to 1,000 memories and return what became of each, in their order."""
        results: list[Json] = self._write("/v1/memories/bulk", {"memories": list(memories)})["results"]
        return results

    def capture(self, content: str, **fields: Any) -> Json:
        """Keep raw text as evidence; returns the `capture` and the `memories` that were found in it."""
        return self._write("/v1/captures", {"content": content, **fields})

    def supersede(
        self, ref: str, content: str | None = None, *, replacement: str | None = None, **fields: Any
    ) -> Json:
        """Put a successor in a memory's place and return it.

        Args:
            content: what the successor says; or
            replacement: the ref of a memory that is there already.
            fields: `reason`, and what a new memory may state.
        """
        said = {"content": content, "replacement": replacement, **fields}
        body = {name: value for name, value in said.items() if value is not None}
        return self._write(f"/v1/memories/{_segment(ref)}/supersede", body)

    def forget(self, ref: str) -> Json:
        """Forget a memory; returns what was erased, and what a search still finds.

        Where no answer came it is not repeated by itself: forgetting again what is forgotten is `NotHere`.
        """
        return _object(self._send("DELETE", f"/v1/memories/{_segment(ref)}"))

    def end_session(self, session_id: str) -> None:
        """Let the server forget a conversation."""
        self._send("DELETE", f"/v1/sessions/{_segment(session_id)}")

    def import_lines(self, lines: bytes) -> Json:
        """Put an export into the vault; returns what was `imported`, and what was `skipped` and why."""
        key = {"Idempotency-Key": uuid.uuid4().hex, "Content-Type": _LINES}
        return _object(self._send("POST", "/v1/import", lines, repeatable=True, headers=key))

    # -- Sending ---------------------------------------------------------------------------------

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Json:
        asked = {name: _word(value) for name, value in (query or {}).items() if value is not None}
        full = f"{path}?{urlencode(asked, doseq=True)}" if asked else path
        return _object(self._send("GET", full, repeatable=True))

    def _write(self, path: str, body: Mapping[str, Any]) -> Json:
        key = {"Idempotency-Key": uuid.uuid4().hex}
        return _object(self._send("POST", path, body, repeatable=True, headers=key))

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        repeatable: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        typed = {} if sent is None else {"Content-Type": _JSON}
        call = Call(
            method=method, path=path, body=sent, headers={**self._headers, **typed, **(headers or {})}
        )
        tried = 0
        while True:
            tried += 1
            try:
                return self._once(call)
            except CortexError as error:
                wait = self._retries.wait_after(error, tried, repeatable=repeatable)
                if wait is None:
                    raise
            self._sleep(wait)

    def _once(self, call: Call) -> Reply:
        """Send a call and return its answer.

        Raises: Problem; NoAnswer, also for the answer to another request of this client, which something on the way
            kept or mixed up. A proxy may name requests as it likes.
        """
        name = f"{self._name}-{next(self._numbers)}"
        reply = self._transport.send(replace(call, headers={**call.headers, REQUEST_ID: name}))
        answered = reply.headers.get(REQUEST_ID.lower(), name)
        if answered != name and answered.startswith(f"{self._name}-"):
            raise NoAnswer("the answer belongs to another request")
        return _accepted(reply)


def _accepted(reply: Reply) -> Reply:
    """Return an answer that is whole and no refusal.

    Raises: Problem; NoAnswer for a body that ends early although the connection did not tell.
    """
    if reply.status >= 400:
        raise problem_of(
            reply.status, _parsed(reply.body), retry_after=_seconds(reply.headers.get("retry-after"))
        )
    length = reply.headers.get("content-length", "")
    if length.isdigit() and int(length) != len(reply.body):
        raise NoAnswer(f"the answer has {len(reply.body)} of {length} bytes")
    if (
        reply.headers.get("content-type", _JSON).startswith(_JSON)
        and reply.body
        and _parsed(reply.body) is None
    ):
        raise NoAnswer("the answer is cut short: it is no JSON")
    return reply


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _object(reply: Reply) -> Json:
    parsed = _parsed(reply.body)
    if not isinstance(parsed, dict):
        raise NoAnswer("the answer is no JSON object")
    return parsed


def _seconds(header: str | None) -> float | None:
    """Read `Retry-After`; a date in it is passed over, this server sends seconds."""
    return float(header) if header is not None and header.isdigit() else None


def _segment(name: str) -> str:
    return quote(name, safe="")


def _word(value: Any) -> Any:
    """Return a value as a query string spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
