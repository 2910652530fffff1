"""What the writing calls answer: the verb done, and its outcome as the wire says it.

A tool has no answer of its own: it comes here, as the REST view of the same call does.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memories.access import Caller
from memories.core.kinds import Author
from memories.idempotency import Answer
from memories.likeness import also_similar
from memories.reading import chain_of, proposed_by
from memories.serializers import memory_input, stated_values
from memories.showing import shown
from memories.wire import capture_as_wire, step_as_wire
from memories.writing import CaptureInput, Outcome, capture, edit, forget, propose, remember, supersede

Values = Mapping[str, Any]
"""Validated by the serializer of the same call."""


def capture_text(caller: Caller, values: Values, *, now: datetime) -> Answer:
    """Keep raw text and remember what is found in it (`CaptureSerializer`)."""
    given = CaptureInput(**{**values, "author": Author(values.get("author", Author.AGENT))})
    outcome = capture(caller, given, now=now)
    body = {
        "capture": None if outcome.capture is None else capture_as_wire(outcome.capture),
        "memories": shown(caller, outcome.memories),
    }
    return Answer(status=201, body=body)


def remember_claim(caller: Caller, values: Values, *, now: datetime) -> Answer:
    """Remember one typed memory (`MemorySerializer`)."""
    return _written(caller, remember(caller, memory_input(values), now=now))


def propose_claim(caller: Caller, values: Values, *, now: datetime) -> Answer:
    """Propose one typed memory, which waits for a review whoever calls (`MemorySerializer`)."""
    return _written(caller, propose(caller, memory_input(values), now=now))


def give_successor(caller: Caller, ref: str, values: Values, *, now: datetime) -> Answer:
    """Supersede a memory (`SupersedeSerializer`)."""
    stated = {
        name: value for name, value in values.items() if name not in {"content", "replacement", "reason"}
    }
    done = supersede(
        caller,
        ref,
        content=values.get("content"),
        stated=stated_values(stated),
        replacement=values.get("replacement"),
        reason=values.get("reason", ""),
        now=now,
    )
    body = {
        **shown(caller, [done.memory])[0],
        "proposes_superseding": proposed_by(caller, done.memory),
        "also_similar": also_similar(caller, done.replaced, done.memory, now=now),
    }
    return Answer(status=201 if done.created else 200, body=body)


def approve_other_words(caller: Caller, ref: str, content: str, *, now: datetime) -> Answer:
    """Approve what waits in other words (`ApproveSerializer`); the answer is the memory that says them."""
    successor = edit(caller, ref, content, now=now)
    body = {
        **shown(caller, [successor])[0],
        "proposes_superseding": proposed_by(caller, successor),
        "chain": [step_as_wire(step) for step in chain_of(caller, successor)],
    }
    return Answer(status=200, body=body)


def forget_memory(caller: Caller, ref: str, *, now: datetime) -> Answer:
    """Erase a memory, and report what was erased and what a search still finds."""
    return Answer(status=200, body=forget(caller, ref, now=now).as_wire())


def _written(caller: Caller, outcome: Outcome) -> Answer:
    body = shown(caller, [outcome.memory])[0]
    return Answer(status=201 if outcome.created else 200, body=body)
