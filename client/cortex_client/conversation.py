"""A conversation: its questions, and the memories that the model holds of their answers.

    with Cortex("http://127.0.0.1:8766", token) as cortex:
        chat = Conversation(cortex, "chat-42", model="claude", token_budget=3_000)
        turn = chat.ask("Prepare the Atlas launch")
        prompt = turn.markdown(limit=12_000)

Only text that the conversation does not hold travels; `Turn.pack` is the whole pack all the same.
"""

import json
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from cortex_client.buffer import Buffer, Delta
from cortex_client.calls import Cortex
from cortex_client.errors import NoAnswer
from cortex_client.memory import Memory
from cortex_client.rendering import HEADER, as_markdown
from cortex_client.transport import Reply

DELTA_HEADER: Final = "cortex-delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer, and the pack that it stands for."""

    task: str
    pack: tuple[
        Memory, ...
    ]  # what travelled, most useful first; then what was held already, most useful first
    delta: Delta
    coverage: Mapping[str, Any]
    tokens: int  # what the answer is estimated to cost
    bytes: int  # of its body
    cursor: str | None  # where the next page begins
    receipt: str | None
    applied: (
        bool  # False where another answer overtook this one: the pack is good, but it does not count as held
    )

    @property
    def new(self) -> tuple[Memory, ...]:
        """The memories whose text travelled: unknown until now, or fuller than before."""
        return tuple(self.delta.sent.values())

    def markdown(self, *, limit: int | None = None, header: str = HEADER) -> str:
        """Return the pack as text for a prompt; see `rendering.as_markdown`."""
        return as_markdown(self.pack, limit=limit, header=header)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What is read of an envelope."""

    delta: Delta
    coverage: Mapping[str, Any]
    tokens: int
    bytes: int
    cursor: str | None
    receipt: str | None

    @classmethod
    def read(cls, reply: Reply) -> Self:
        try:
            envelope = json.loads(reply.body)
            return cls(
                delta=Delta.from_wire(envelope, reset=reply.headers.get(DELTA_HEADER) == "reset"),
                coverage=envelope["coverage"],
                tokens=envelope["budget"]["used"],
                bytes=len(reply.body),
                cursor=envelope["cursor"],
                receipt=envelope["receipt"] and envelope["receipt"]["id"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise NoAnswer("the answer is no envelope of a session") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """What a conversation cost, and what it would have cost beside that."""

    turns: int = 0
    tokens_sent: int = 0
    tokens_saved: int = 0  # the server's estimate for the items that did not travel
    bytes_received: int = 0

    @property
    def share(self) -> float:
        """Which share of the items' tokens did not have to travel, 0 to 1."""
        whole = self.tokens_sent + self.tokens_saved
        return self.tokens_saved / whole if whole else 0.0

    def with_one_more(self, answer: _Answer) -> "Savings":
        return Savings(
            turns=self.turns + 1,
            tokens_sent=self.tokens_sent + answer.tokens,
            tokens_saved=self.tokens_saved + answer.delta.tokens_saved,
            bytes_received=self.bytes_received + answer.bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, and the buffer that it was asked from."""

    task: str
    base: Buffer
    asked: Mapping[str, Any] = field(default_factory=dict)


class Conversation:
    """One session of the server and its memory buffer; safe for threads.

    After every answer that is applied, the buffer holds exactly what the server takes the session to hold. Where an
    answer is lost (time-out, cut short), `ask` tries again as its `Cortex` is told to, and raises `NoAnswer` when it
    gives up; the buffer is then as it was, and the next question makes up for it.
    """

    def __init__(
        self, cortex: Cortex, session_id: str, *, buffer: Buffer | None = None, **asked: Any
    ) -> None:
        """
        Args:
            buffer: what was kept of this session before, such as `Buffer.from_json`.
            asked: for every question, such as `model`, `token_budget`, `project`; see `Cortex.context`.
        """
        self._cortex = cortex
        self.session_id = session_id
        self._asked = asked
        self._guard = threading.Lock()
        self._buffer = Buffer() if buffer is None else buffer
        self._savings = Savings()

    @property
    def buffer(self) -> Buffer:
        return self._buffer

    @property
    def savings(self) -> Savings:
        return self._savings

    # -- Asking ----------------------------------------------------------------------------------

    def ask(self, task: str, **asked: Any) -> Turn:
        """Ask for what the model needs for a task.

        Args:
            asked: for this question alone; `cursor=turn.cursor` reads on in an answer.
        Raises: NoAnswer, Problem.
        """
        question = self.question(task, **asked)
        return self.take(question, self.send(question))

    def question(self, task: str, **asked: Any) -> Question:
        """Return a question from the present buffer; `send` asks it, `take` reads its answer."""
        return Question(task=task, base=self._buffer, asked={**self._asked, **asked})

    def send(self, question: Question) -> Reply:
        said = {**question.asked, **question.base.question}
        return self._cortex.send_context(
            question.task, **said, session_id=self.session_id, format="smp", legend=False
        )

    def take(self, question: Question, reply: Reply) -> Turn:
        """Read an answer, and apply it if nothing was applied since its question.

        An answer that comes late or twice is read and not applied. Of memories that were dropped after the question
        it is still to be said that they are not held.

        Raises: NoAnswer for a body that is no envelope of this session.
        """
        answer = _Answer.read(reply)
        delta = answer.delta
        with self._guard:
            present = self._buffer
            applied = present.cursor == question.base.cursor and delta.follows(present.cursor)
            if applied:
                lost_meanwhile = present.dropped - question.base.dropped - delta.sent.keys()
                self._buffer = question.base.after(delta).without(lost_meanwhile)
            self._savings = self._savings.with_one_more(answer)
        return Turn(
            task=question.task,
            pack=question.base.pack(delta),
            delta=delta,
            coverage=answer.coverage,
            tokens=answer.tokens,
            bytes=answer.bytes,
            cursor=answer.cursor,
            receipt=answer.receipt,
            applied=applied,
        )

    # -- What the model holds --------------------------------------------------------------------

    def drop(self, refs: Collection[str]) -> None:
        """Say that the text of these was lost, in a compaction for example; it comes again when it is needed."""
        with self._guard:
            self._buffer = self._buffer.without(refs)

    def forget_all(self) -> None:
        """Start over with nothing, as after a compaction that kept nothing."""
        with self._guard:
            self._buffer = Buffer()

    def markdown(self, *, limit: int | None = None, header: str = HEADER) -> str:
        """Return all that is held as text for a prompt, what was served last first."""
        return as_markdown(reversed([*self._buffer.held.values()]), limit=limit, header=header)
