"""Answers as people read them: a card for each memory, what it says first, where it is from below."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cortex_client.cli.terminal import Terminal, plain
from cortex_client.rendering import LAYERS

Row = Mapping[str, Any]

_COVERAGE = {
    "empty": "Nothing is remembered that could be served.",
    "weak": "Nothing answers this; what follows holds anyway.",
    "usable": "There is more than the budget held.",
}


def card(terminal: Terminal, row: Row, *, notes: Iterable[str] = ()) -> str:
    """Return one memory, as an answer or the API carries it."""
    head = " ".join(_head(terminal, row))
    foot = [*_found_by(row), *notes, *_cited(row)]
    return (
        f"{head}\n"
        + terminal.paragraph(row["content"])
        + "".join(terminal.styled("faint", line) + "\n" for line in _lines(terminal, foot))
    )


def cards(terminal: Terminal, rows: Iterable[Row]) -> str:
    return "\n".join(card(terminal, row) for row in rows)


def pack(terminal: Terminal, answer: Row) -> str:
    """Return a pack in format json: its cards, rules first, and what it says about itself."""
    layers: Mapping[str, Sequence[Row]] = answer["layers"]
    ordered = sorted(layers, key=lambda name: LAYERS.index(name) if name in LAYERS else len(LAYERS))
    rows = [row for name in ordered for row in layers[name]]
    budget = answer["budget"]
    told = f"{_memories(len(rows))}, {budget['used']} of {budget['tokens']} tokens"
    return _told(terminal, rows, answer["coverage"], [told, *answer["warnings"]])


def turn(terminal: Terminal, answer: Row) -> str:
    """Return an answer within a conversation: what is new first."""
    new = set(answer["new"])
    rows = sorted(answer["pack"], key=lambda row: row["ref"] not in new)
    told = f"{_memories(len(rows))}, {len(new)} of them new; {answer['tokens_saved']} tokens did not travel"
    gone = [f"{ref} is no longer served" for ref in answer["retracted"]]
    gone += [
        f"{ref} was replaced by {successor or 'another'}" for ref, successor in answer["superseded"].items()
    ]
    return _told(terminal, rows, answer["coverage"], [told, *gone])


def found(terminal: Terminal, answer: Row) -> str:
    """Return the answer to a query."""
    told = f"{_memories(answer['returned'])} of {answer['narrowed_to']} that match"
    more = [f"more: cortex expand --direction more {answer['cursor']}"] if answer["cursor"] else []
    return _told(terminal, answer["items"], {}, [told, *more])


def written(terminal: Terminal, memory: Row) -> str:
    notes = []
    if memory["status"] == "pending":
        notes.append("waits for a review")
    if memory["occurrences"] > 1:
        notes.append(f"known already, said {memory['occurrences']} times")
    return card(terminal, memory, notes=[*notes, *memory["flags"]])


def captured(terminal: Terminal, answer: Row) -> str:
    if answer["capture"] is None:
        return "Nothing was kept: this was an answer of Cortex itself.\n"
    told = f"Kept as {plain(answer['capture']['ref'])}; {_memories(len(answer['memories']))} found in it.\n"
    return "\n".join([told, *(written(terminal, memory) for memory in answer["memories"])])


def expanded(terminal: Terminal, answer: Row) -> str:
    document = answer["document"]
    parts = []
    if document:
        chain = [
            f"{step['ref']}: {plain(step['content'])}" for step in document["chain"] if "content" in step
        ]
        parts.append(card(terminal, document, notes=chain))
    rest = [row for row in answer["items"] if not document or row["ref"] != document["ref"]]
    parts += [card(terminal, row) for row in rest]
    names = ", ".join(plain(entity["name"]) for entity in answer["entities"])
    parts += [f"about {names}\n"] if names else []
    return "\n".join(parts) or "Nothing is behind this ref.\n"


def forgotten(terminal: Terminal, answers: Iterable[Row]) -> str:
    lines = []
    for answer in answers:
        erased = ", ".join(f"{count} {name}" for name, count in answer["erased"].items() if count)
        left = sum(answer["probes"].values())
        probe = terminal.styled("bad", f"{left} traces are left") if left else "no trace is left"
        lines.append(f"{plain(answer['ref'])} is forgotten ({plain(erased)}); {probe}\n")
    return "".join(lines)


def imported(terminal: Terminal, report: Row) -> str:
    counts: Mapping[str, int] = report["imported"]
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"
    reasons = Counter(line["reason"] for line in report["skipped"])
    skipped = [terminal.paragraph(f"{count} lines skipped: {reason}") for reason, count in reasons.items()]
    return "".join([f"Imported {plain(told)}.\n", *skipped])


def held(terminal: Terminal, answer: Row) -> str:
    server = answer["server"]
    asked = f"at turn {server['turn']}" if server else "unknown to the server"
    told = f"{plain(answer['session_id'])}: {_memories(len(answer['held']))} held, {asked}"
    return _told(terminal, list(reversed(answer["held"])), {}, [told])


def sessions(terminal: Terminal, kept: Iterable[Row]) -> str:
    return "".join(f"{plain(one['session_id'])}  {_memories(one['held'])}\n" for one in kept)


def _told(terminal: Terminal, rows: Sequence[Row], coverage: Row, last: Iterable[str]) -> str:
    note = _COVERAGE.get(coverage.get("status", ""))
    parts = [terminal.styled("warn", note) + "\n"] if note else []
    parts += [card(terminal, row) for row in rows]
    parts.append("".join(terminal.styled("faint", plain(line)) + "\n" for line in last))
    return "\n".join(parts)


def _head(terminal: Terminal, row: Row) -> Iterator[str]:
    yield terminal.styled("name", plain(row["ref"]))
    yield terminal.styled("strong", plain(row.get("kind") or row["layer"]))
    if row.get("relevance") is not None:
        yield f"{row['relevance']:.0%}"
    if row.get("occurred_at"):
        yield plain(row["occurred_at"][:10])
    if row.get("project"):
        yield plain(row["project"])
    if row.get("conflicted"):
        yield terminal.styled("warn", "disputed")
    if row.get("superseded_by"):
        yield terminal.styled("warn", f"replaced by {plain(row['superseded_by'])}")


def _found_by(row: Row) -> Iterator[str]:
    why = row.get("why") or {}
    if words := why.get("matched_terms"):
        yield f"by {' '.join(plain(word) for word in words)}"


def _cited(row: Row) -> Iterator[str]:
    urls = row.get("source_urls") or [row.get("source_url")]
    yield from (plain(url) for url in urls if url)


def _lines(terminal: Terminal, parts: Sequence[str]) -> list[str]:
    text = terminal.paragraph(" · ".join(parts)) if parts else ""
    return text.splitlines()


def _memories(count: int) -> str:
    return f"{count} {'memory' if count == 1 else 'memories'}"
