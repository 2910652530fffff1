"""Transports that misbehave: what networks do to answers that a server has committed already."""

from collections.abc import Iterable, Iterator
from typing import Any

from cortex_client import Call, NoAnswer, Reply, Transport

FATES = ("deliver", "lose", "cut", "garble", "double", "stale")


class FaultyTransport:
    """Passes every call on to the server, and does with its answer what the next fate says.

    `deliver` it; `lose` it after the server acted; `cut` its body in the middle, so that its length tells; `garble`
    it, a cut that no header tells; `double` the call and deliver the second answer; deliver the `stale` answer to the
    call before instead.
    """

    def __init__(self, wire: Transport, fates: Iterable[str]) -> None:
        self._wire = wire
        self._fates: Iterator[str] = iter(fates)
        self._before: Reply | None = None
        self.sent: list[Call] = []

    def send(self, call: Call) -> Reply:
        self.sent.append(call)
        reply, before = self._wire.send(call), self._before
        self._before = reply
        match next(self._fates, "deliver"):
            case "lose":
                raise NoAnswer("lost on the way")
            case "cut":
                return Reply(
                    status=reply.status, headers=reply.headers, body=reply.body[: len(reply.body) // 2]
                )
            case "garble":
                kept = {name: value for name, value in reply.headers.items() if name != "content-length"}
                return Reply(status=reply.status, headers=kept, body=reply.body[: len(reply.body) // 2])
            case "double":
                return self._wire.send(call)
            case "stale" if before is not None:
                return before
            case _:
                return reply

    def close(self) -> None:
        self._wire.close()


class ScriptedTransport:
    """Answers from a script, and remembers what it was asked."""

    def __init__(self, *script: Reply | Exception) -> None:
        self.script = list(script)
        self.sent: list[Call] = []

    def send(self, call: Call) -> Reply:
        self.sent.append(call)
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """There is nothing to close."""


def problem(status: int, body: str = '{"title": "t", "detail": "d"}', **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(
        status=status, body=body.encode(), headers={"content-type": "application/problem+json", **named}
    )


def answer(body: str = "{}", **headers: Any) -> Reply:
    return Reply(status=200, body=body.encode(), headers={"content-type": "application/json", **headers})
