"""Ask a history's questions as the turns of one session, and weigh what travels. `python -m bench.sessions`

Each question is asked three ways, with the same budget: without a session; in a session that names what is new
(`delta=ids`); and by `cortex_client`, to which only text travels that it does not hold (`delta=content`). The client's
buffer must then have the evidence that the whole pack has: what was saved must not be missing.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench import corpus
from contextpack.core.canonical import wire_text
from contextpack.demo.client import ServerTrouble
from contextpack.demo.server import SOURCE_DIR, Server, end_on_terminate, throwaway_server
from contextpack.evaluation.histories import History
from contextpack.evaluation.loading import UnreadableFile, load
from cortex_client import Conversation, Cortex, CortexError

TURNS: Final = 40
BUDGET: Final = 3_000
MODEL: Final = "claude"
BULK_SIZE: Final = 500
DATA: Final = SOURCE_DIR / "bench" / "data"
OUTPUT: Final = SOURCE_DIR / "var" / "sessions.json"
OPERATOR: Final = "the-operators-key-of-a-throw-away-server"
SETTINGS: Final = {"CORTEX_THROTTLE": "", "CORTEX_API_KEY": OPERATOR}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCost:
    """One question: bytes of the bodies, tokens of the items, and how much of the evidence arrives."""

    whole: int  # bytes without a session
    ids: int
    content: int
    markdown_whole: int
    markdown_content: int
    tokens: int  # of the items, without a session
    tokens_content: int
    items: int
    sent: int  # items whose text travelled
    evidence: int
    evidence_in_pack: int
    evidence_in_buffer: int  # in what the client rebuilt: what travelled, and what it held
    evidence_seen: int  # in anything that the client holds
    parts: Mapping[
        str, int
    ]  # bytes of each part of the content body; "keys" are the names and brackets around them


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCost:
    """A history's questions as one session."""

    name: str
    memories: int
    turns: tuple[TurnCost, ...]

    def total(self, name: str) -> int:
        return sum(getattr(turn, name) for turn in self.turns)

    def saved(self, name: str, *, beside: str = "whole") -> float:
        """Return which share of the bytes a way of asking spares; negative where it costs more."""
        return 1 - self.total(name) / self.total(beside)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "memories": self.memories,
            "saved": {
                "ids": round(self.saved("ids"), 3),
                "content": round(self.saved("content"), 3),
                "content, markdown": round(self.saved("markdown_content", beside="markdown_whole"), 3),
                "content, tokens of the items": round(self.saved("tokens_content", beside="tokens"), 3),
            },
            "turns": [asdict(turn) for turn in self.turns],
        }


def main() -> int:
    options = _options()
    end_on_terminate()
    try:
        costs = measure(options.paths or [DATA], turns=options.turns, budget=options.budget)
    except (ServerTrouble, CortexError, UnreadableFile) as trouble:
        print(f"bench: {trouble}", file=sys.stderr)
        return 1
    show(costs, turns=options.turns, budget=options.budget, each=options.each)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(json.dumps([cost.as_json() for cost in costs], indent=1) + "\n")
    print(f"kept in {OUTPUT}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.sessions", description=__doc__)
    parser.add_argument(
        "paths", nargs="*", type=Path, help="files in the shape of LoCoMo (default: bench/data)"
    )
    parser.add_argument(
        "--turns", type=int, default=TURNS, help=f"questions of each history (default: {TURNS})"
    )
    parser.add_argument(
        "--budget", type=int, default=BUDGET, help=f"tokens of each pack (default: {BUDGET:,})"
    )
    parser.add_argument("--each", action="store_true", help="also print every turn")
    return parser.parse_args()


# -- Measuring -----------------------------------------------------------------------------------


def measure(paths: Sequence[Path], *, turns: int = TURNS, budget: int = BUDGET) -> list[SessionCost]:
    """Ask every history of some files, each in a vault of its own on one throw-away server.

    Raises: ServerTrouble, CortexError, UnreadableFile.
    """
    histories = load(paths).histories
    with throwaway_server(settings=SETTINGS) as server:
        return [_session(server, history, number, turns, budget) for number, history in enumerate(histories)]


def _session(server: Server, history: History, number: int, turns: int, budget: int) -> SessionCost:
    with Cortex(server.url, OPERATOR, vault=f"history-{number}") as cortex:
        refs = _write(cortex, history)
        asked: dict[str, Any] = {"model": MODEL, "token_budget": budget}
        chat = Conversation(cortex, "content", **asked)
        costs = [
            _turn(
                cortex, chat, question.text, {refs[turn] for turn in question.evidence if turn in refs}, asked
            )
            for question in history.questions[:turns]
        ]
    return SessionCost(name=history.name, memories=len(history.turns), turns=tuple(costs))


def _write(cortex: Cortex, history: History) -> dict[str, str]:
    """Write a history as what was said, turn by turn; returns turn → ref."""
    bodies = [
        {
            "content": f"{turn.speaker}: {turn.text}",
            "kind": "event",
            "occurred_at": turn.said_at.isoformat(),
            "thread": turn.session,
            "position": turn.position,
            "speaker": turn.speaker,
            "source": {"url": f"history://{turn.id}"},
        }
        for turn in history.turns
    ]
    results = [
        result for part in corpus.in_portions(bodies, BULK_SIZE) for result in cortex.remember_all(part)
    ]
    return {
        turn.id: result["ref"] for turn, result in zip(history.turns, results, strict=True) if "ref" in result
    }


def _turn(
    cortex: Cortex, chat: Conversation, task: str, evidence: set[str], asked: Mapping[str, Any]
) -> TurnCost:
    """Ask one question every way, the client's last but one so that nothing is warm for it alone."""
    smp: dict[str, Any] = {**asked, "format": "smp", "legend": False}
    markdown = {**asked, "format": "markdown"}
    whole = cortex.send_context(task, **smp).body
    ids = cortex.send_context(task, **smp, session_id="ids").body
    question = chat.question(task)
    reply = chat.send(question)
    turn = chat.take(question, reply)
    text = cortex.send_context(task, **markdown).body
    delta = cortex.send_context(task, **markdown, session_id="markdown", delta="content").body
    pack = json.loads(whole)
    return TurnCost(
        whole=len(whole),
        ids=len(ids),
        content=turn.bytes,
        markdown_whole=len(text),
        markdown_content=len(delta),
        tokens=pack["budget"]["used"],
        tokens_content=turn.tokens,
        items=len(pack["items"]),
        sent=len(turn.new),
        evidence=len(evidence),
        evidence_in_pack=len(evidence & {item["ref"] for item in pack["items"]}),
        evidence_in_buffer=len(evidence & {memory.ref for memory in turn.pack}),
        evidence_seen=len(evidence & chat.buffer.held.keys()),
        parts=_parts(reply.body),
    )


def _parts(body: bytes) -> dict[str, int]:
    """Weigh the parts of an envelope; those of the session's delta each by itself."""
    envelope = json.loads(body)
    delta = envelope.pop("working_memory")
    told = {**envelope, **{f"working_memory.{name}": value for name, value in delta.items()}}
    weighed = {name: len(wire_text(value).encode()) for name, value in told.items()}
    return {**weighed, "keys": len(body) - sum(weighed.values())}


# -- Telling -------------------------------------------------------------------------------------


def show(costs: Sequence[SessionCost], *, turns: int, budget: int, each: bool = False) -> None:
    """Print what each session costs, in bytes of the bodies unless it says tokens."""
    print(
        f"{turns} questions as the turns of one session, {budget:,} tokens a pack, envelope without its legend"
    )
    print(
        f"{'':16}{'bytes':>10}{'ids':>10}{'content':>10}{'saved':>8}{'tokens':>8}{'markdown':>10}  evidence"
    )
    for cost in costs:
        if each:
            _show_turns(cost)
        kept = cost.total("evidence_in_buffer"), cost.total("evidence_in_pack"), cost.total("evidence")
        lost = "" if kept[0] == kept[1] else f", LOST {kept[1] - kept[0]}"
        print(
            f"{cost.name[:16]:16}{cost.total('whole'):10,}{cost.total('ids'):10,}{cost.total('content'):10,}"
            f"{cost.saved('content'):8.1%}{cost.saved('tokens_content', beside='tokens'):8.1%}"
            f"{cost.saved('markdown_content', beside='markdown_whole'):10.1%}"
            f"  {kept[0]} of {kept[2]} in the buffer, {kept[1]} in the packs{lost}; "
            f"{cost.total('evidence_seen')} held"
        )
    _show_parts([turn for cost in costs for turn in cost.turns])


def _show_parts(turns: Sequence[TurnCost]) -> None:
    """Print where the bytes of an answer with new content go, the largest parts first."""
    means = {name: sum(turn.parts[name] for turn in turns) / len(turns) for name in turns[0].parts}
    told = [
        f"{name} {mean:,.0f}" for name, mean in sorted(means.items(), key=lambda part: -part[1]) if mean >= 10
    ]
    print(f"\na content answer has {sum(means.values()):,.0f} bytes on average: {', '.join(told)}\n")


def _show_turns(cost: SessionCost) -> None:
    print(f"{'turn':>4}{'items':>7}{'sent':>6}{'bytes':>9}{'ids':>9}{'content':>9}  {cost.name}")
    for number, turn in enumerate(cost.turns, start=1):
        print(f"{number:4}{turn.items:7}{turn.sent:6}{turn.whole:9,}{turn.ids:9,}{turn.content:9,}")


if __name__ == "__main__":
    sys.exit(main())
