"""What a client holds of a conversation's memories: a value, and the one way in which it changes.

The server's known-set of the session and this buffer are the same set, as long as each answer is applied to the
buffer that its question was asked from, and to no other. An answer that is lost, or that another one overtook, is
not applied; the next question names the old cursor, and what was lost comes again.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from cortex_client.memory import Memory

NOTHING_APPLIED: Final = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What an answer says of a session, read from the wire."""

    cursor: str
    new: tuple[str, ...]
    changed: tuple[str, ...]
    carried: tuple[str, ...]
    evicted: tuple[str, ...]
    superseded: Mapping[str, str | None]  # ref → what replaced it, where the client has that
    retracted: tuple[str, ...]
    tokens_saved: int
    sent: Mapping[str, Memory]  # the memories whose text travelled, in the order in which they were sent
    reset: bool = False  # the server could not find the cursor of the question again: this starts over

    def follows(self, cursor: str) -> bool:
        """Tell whether this can be the answer to a question from a cursor, and no older one that came again.

        Cursors only grow; after a reset they may begin anew.
        """
        return self.reset or int(self.cursor) > int(cursor)

    @classmethod
    def from_wire(cls, answer: Mapping[str, Any], *, reset: bool = False) -> Self:
        """Read the envelope of an answer in `delta=content`.

        Raises: KeyError, TypeError where it is none.
        """
        told = answer["working_memory"]
        memories = (Memory.from_wire(item) for item in answer["items"])
        return cls(
            cursor=told["cursor"],
            new=tuple(entry["ref"] for entry in told["new"]),
            changed=tuple(told["changed"]),
            carried=tuple(told["carried"]),
            evicted=tuple(told["evicted"]),
            superseded={entry["ref"]: entry["replacement"] for entry in told["superseded"]},
            retracted=tuple(told["retracted"]),
            tokens_saved=told["tokens_saved"],
            sent={memory.ref: memory for memory in memories},
            reset=reset,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """The memories held, and how far the client came."""

    cursor: str = NOTHING_APPLIED  # of the answer applied last
    held: Mapping[str, Memory] = field(
        default_factory=dict
    )  # what was served last, and is most useful, stands last
    dropped: frozenset[str] = (
        frozenset()
    )  # lost since then; named until an answer to a question that did was applied

    @property
    def question(self) -> dict[str, Any]:
        """What a question says of this buffer."""
        said: dict[str, Any] = {"since": self.cursor, "delta": "content"}
        return said | {"dropped": sorted(self.dropped)} if self.dropped else said

    def without(self, refs: Collection[str]) -> "Buffer":
        """Return the buffer after the text of these was lost; whatever else is named changes nothing."""
        lost = self.held.keys() & set(refs)
        held = {ref: memory for ref, memory in self.held.items() if ref not in lost}
        return replace(self, held=held, dropped=self.dropped | lost)

    def after(self, delta: Delta) -> "Buffer":
        """Return the buffer after an answer to a question that was asked from this very one."""
        moved = {*delta.evicted, *delta.retracted, *delta.superseded, *delta.sent, *delta.carried}
        held = {} if delta.reset else {ref: memory for ref, memory in self.held.items() if ref not in moved}
        held.update((memory.ref, memory) for memory in reversed(self.pack(delta)))
        return Buffer(cursor=delta.cursor, held=held)

    def pack(self, delta: Delta) -> tuple[Memory, ...]:
        """Return the whole pack of an answer: what travelled, then what this buffer held of it already."""
        held = (self.held[ref] for ref in delta.carried if ref in self.held)
        return (*delta.sent.values(), *held)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads: plain lists, dicts and strings, for a client that is restarted."""
        return {
            "cursor": self.cursor,
            "held": [memory.to_wire() for memory in self.held.values()],
            "dropped": sorted(self.dropped),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        memories = (Memory.from_wire(item) for item in data["held"])
        return cls(
            cursor=data["cursor"],
            held={memory.ref: memory for memory in memories},
            dropped=frozenset(data["dropped"]),
        )
