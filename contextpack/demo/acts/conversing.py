"""CMP §8: a conversation is told what is new, what went, and what was replaced; nothing is announced twice."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from contextpack.demo.protocol import DELTA_KEYS
from contextpack.demo.scene import Scene, refs_of, replace_memory
from contextpack.demo.seeds import LATER_SUCCESSOR, REPLACED_LATER

TIGHT: Final = 1_200
WIDE: Final = 11_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer within a session."""

    envelope: dict[str, Any]
    sent_bytes: int

    @property
    def cited(self) -> list[str]:
        return refs_of(self.envelope["items"])

    @property
    def memory(self) -> dict[str, Any]:
        memory: dict[str, Any] = self.envelope["working_memory"]
        return memory

    @property
    def new(self) -> list[str]:
        return refs_of(self.memory["new"])


def play(scene: Scene) -> None:
    scene.report.heading("§8  A conversation that is not told twice")
    first, second, third = turns = [_turn(scene, "chat-42", budget) for budget in (TIGHT, WIDE, WIDE)]
    scene.shown["example_smp_delta_turn2"] = second.envelope
    scene.report.table(
        ("turn", "budget", "cited", "new", "cursor"),
        [
            (number, turn.envelope["budget"]["tokens"], len(turn.cited), len(turn.new), turn.memory["cursor"])
            for number, turn in enumerate(turns, start=1)
        ],
    )
    _three_turns(scene, first, second, third)
    _content_only(scene, turns)
    _lost_answer(scene, second)
    _replaced(scene)


def _turn(scene: Scene, session: str, budget: int, **more: Any) -> Turn:
    reply = scene.ask(model="claude", token_budget=budget, session_id=session, **more)
    return Turn(envelope=reply.json(), sent_bytes=len(reply.body))


def _three_turns(scene: Scene, first: Turn, second: Turn, third: Turn) -> None:
    report, carried = scene.report, set(first.cited)
    report.check("a delta has exactly the protocol's keys", tuple(first.memory) == DELTA_KEYS)
    report.check("turn 1: a fresh session, so all that is cited is new", first.new == first.cited)
    report.check("turn 2: the wider pack holds the tight one", carried < set(second.cited))
    report.check(
        "turn 2: only what fits now is new, none of it was sent before",
        set(second.new) == set(second.cited) - carried,
    )
    report.check("turn 3: the same again, so nothing is new", not third.new)
    cursors = [turn.memory["cursor"] for turn in (first, second, third)]
    report.check("the deltas are numbered 1, 2, 3", cursors == ["1", "2", "3"], found=cursors)
    report.line(
        f"not to be sent again: about {_tokens(second, carried):,} tokens on turn 2 ({len(carried)} refs), "
        f"{_tokens(third, third.cited):,} on turn 3 ({len(third.cited)} refs)"
    )


def _content_only(scene: Scene, full: list[Turn]) -> None:
    """The same three turns, where only text travels that the session was not sent yet."""
    report = scene.report
    budgets = (TIGHT, WIDE, WIDE)
    lean = [_turn(scene, "chat-43", budget, delta="content", legend=False) for budget in budgets]
    bare = [_turn(scene, "chat-44", budget, legend=False) for budget in budgets]
    report.table(
        ("turn", "bytes, delta=ids", "bytes, delta=content", "tokens saved"),
        [
            (number, f"{whole.sent_bytes:,}", f"{turn.sent_bytes:,}", f"{turn.memory['tokens_saved']:,}")
            for number, (whole, turn) in enumerate(zip(bare, lean, strict=True), start=1)
        ],
    )
    held = set(lean[0].cited)
    again = held.intersection(lean[1].cited)
    report.check("delta=content sends no text twice", again <= set(lean[1].memory["changed"]), found=again)
    report.check(
        "what it sends and what it says is held are the same pack",
        [set(turn.cited) | set(turn.memory["carried"]) for turn in lean]
        == [set(turn.cited) for turn in full],
    )
    report.check(
        "a repeated question costs refs only",
        not lean[2].cited and lean[2].sent_bytes < bare[2].sent_bytes / 2,
    )


def _lost_answer(scene: Scene, second: Turn) -> None:
    again = _turn(scene, "chat-42", WIDE, since=1)
    scene.report.check(
        "a client that lost the answer to turn 2 names cursor 1 and is told all of it again",
        set(again.new) == set(second.new),
    )


def _replaced(scene: Scene) -> None:
    old = scene.refs[REPLACED_LATER]
    head = replace_memory(scene, REPLACED_LATER, LATER_SUCCESSOR, reason="counted again this morning")
    turn = _turn(scene, "chat-42", WIDE)
    told = {"ref": old, "replacement": head}
    scene.report.check(
        "a held memory that is replaced is named with its successor", told in turn.memory["superseded"]
    )
    scene.report.check(
        "the successor is new, the old one is gone", turn.new == [head] and old not in turn.cited
    )


def _tokens(turn: Turn, refs: Iterable[str]) -> int:
    """Estimate what these items cost, at the profile's own characters for each token."""
    wanted = set(refs)
    items: list[Mapping[str, Any]] = turn.envelope["items"]
    letters = sum(len(json.dumps(item, ensure_ascii=False)) for item in items if item["ref"] in wanted)
    chars_per_token: float = turn.envelope["model"]["chars_per_token"]
    return round(letters / chars_per_token)
