"""A small world for the laws of the delta: a vault that changes, a session in it, and clients that lose answers.

Everything goes through the wire into the real database. In `delta=content` the client is the one that we ship
(`cortex_client`); for `delta=ids`, `IdsClient` follows the five rules of docs/wire.md.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from cortex_client import Call, Conversation, Cortex, Reply, Turn
from tests.clients import Api

Body = dict[str, Any]
TOPICS = ("oak", "ash", "elm")
SESSION = "chat"


class DjangoTransport:
    """Sends the client's calls to this process instead of over a socket."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def send(self, call: Call) -> Reply:
        response = self._api.client.generic(
            call.method,
            call.path,
            call.body or b"",
            content_type="application/json",
            headers={**call.headers, **self._api.headers},
        )
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(status=response.status_code, body=response.content, headers=headers)

    def close(self) -> None:
        """There is nothing to close."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer on its way to the client that asked."""

    who: int
    asked: Mapping[str, Any]
    body: Body
    question: Any  # as its client knows it
    reply: Reply
    base: str  # the cursor that the question named
    held: frozenset[str]  # what the client held when it asked
    turn: int  # of the session, after it

    @property
    def told(self) -> Body:
        return dict(self.body["working_memory"])

    @property
    def cursor(self) -> int:
        return int(self.told["cursor"])

    @property
    def new(self) -> list[str]:
        return [entry["ref"] for entry in self.told["new"]]

    @property
    def sent(self) -> list[str]:
        return [item["ref"] for item in self.body["items"]]

    @property
    def served(self) -> set[str]:
        return {*self.sent, *self.told.get("carried", ())}

    @property
    def reset(self) -> bool:
        return self.reply.headers.get("cortex-delta") == "reset"


class SessionClient(Protocol):
    """One end of a conversation."""

    @property
    def cursor(self) -> str: ...

    @property
    def held(self) -> set[str]: ...

    @property
    def lost(self) -> frozenset[str]: ...

    def ask(self, task: str, asked: Mapping[str, Any]) -> tuple[Any, Reply]: ...

    def apply(self, question: Any, reply: Reply) -> bool: ...

    def drop(self, refs: set[str]) -> None: ...

    def start_over(self) -> None: ...

    def restart(self) -> None: ...


class ContentClient:
    """The client that we ship."""

    def __init__(self, api: Api) -> None:
        self._cortex = Cortex(transport=DjangoTransport(api))
        self._chat = Conversation(self._cortex, SESSION, model="claude")
        self.last: Turn | None = None

    @property
    def cursor(self) -> str:
        return self._chat.buffer.cursor

    @property
    def held(self) -> set[str]:
        return set(self._chat.buffer.held)

    @property
    def lost(self) -> frozenset[str]:
        return self._chat.buffer.dropped

    def text_of(self, ref: str) -> str:
        return self._chat.buffer.held[ref].content

    def ask(self, task: str, asked: Mapping[str, Any]) -> tuple[Any, Reply]:
        question = self._chat.question(task, **asked)
        return question, self._chat.send(question)

    def apply(self, question: Any, reply: Reply) -> bool:
        self.last = self._chat.take(question, reply)
        return self.last.applied

    def drop(self, refs: set[str]) -> None:
        self._chat.drop(refs)

    def start_over(self) -> None:
        self._chat.forget_all()

    def restart(self) -> None:
        kept = json.loads(json.dumps(self._chat.buffer.to_json()))
        self._chat = Conversation(
            self._cortex, SESSION, buffer=type(self._chat.buffer).from_json(kept), model="claude"
        )


@dataclass
class IdsClient:
    """A client of `delta=ids`: it knows refs, and follows the rules."""

    api: Api
    cursor: str = "0"
    held: set[str] = field(default_factory=set)
    lost: frozenset[str] = frozenset()

    def ask(self, task: str, asked: Mapping[str, Any]) -> tuple[Any, Reply]:
        said = {
            "task": task,
            "session_id": SESSION,
            "model": "claude",
            "format": "smp",
            "legend": False,
            **asked,
        }
        body = json.dumps({**said, "since": self.cursor, "dropped": sorted(self.lost)}).encode()
        call = Call(method="POST", path="/v1/context", body=body)
        return (self.cursor, self.lost), DjangoTransport(self.api).send(call)

    def apply(self, question: Any, reply: Reply) -> bool:
        since, lost = question
        if since != self.cursor:
            return False
        told = json.loads(reply.body)["working_memory"]
        new = {entry["ref"] for entry in told["new"]}
        gone = {*told["evicted"], *(entry["ref"] for entry in told["superseded"])}
        kept = set() if reply.headers.get("cortex-delta") == "reset" else self.held - lost - gone
        self.held = kept | new
        self.lost = frozenset(self.lost - lost - new)
        self.cursor = told["cursor"]
        return True

    def drop(self, refs: set[str]) -> None:
        self.lost |= refs & self.held
        self.held -= refs

    def start_over(self) -> None:
        self.cursor, self.held, self.lost = "0", set(), frozenset()

    def restart(self) -> None:
        """All that it has is three values."""
