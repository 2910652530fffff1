"""A conversation in pictures: what each answer brought and took, and which memory the client held when.

Pure functions over the log; a memory that may not be named is counted, and named nowhere.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from memories.admin.charts import Chart, Column, Part, columns, heat_map
from sessions.models import DeltaRecord

ROWS_DRAWN: Final = 60
NOT_HELD, HELD, SERVED, FULLER, NEW = range(5)
HEATS: Final = ("held", "served again, not sent", "sent in a fuller form", "new")
NEWS: Final = (
    ("new", "green"),
    ("carried", "blue"),
    ("changed", "teal"),
    ("evicted", "amber"),
    ("superseded", "violet"),
    ("retracted", "rose"),
)
_GONE: Final = ("evicted", "superseded", "retracted")


def news_of_turns(records: Sequence[DeltaRecord]) -> Chart:
    """Draw for each answer how many memories were new to the client, known already, or taken back."""
    bars = [
        Column(
            name=_name(record),
            parts=tuple(
                Part(name=word, value=len(record.payload["told"].get(word, ())), tone=tone)
                for word, tone in NEWS
            ),
        )
        for record in records
    ]
    return columns(bars, label="What each answer brought and took", each="turn")


def savings_of_turns(records: Sequence[DeltaRecord]) -> list[float]:
    """Return the tokens that each answer spared, oldest first."""
    return [float(record.payload["told"]["tokens_saved"]) for record in records]


def held_map(
    records: Sequence[DeltaRecord], *, named: Collection[str], texts: Mapping[str, str]
) -> tuple[Chart, int]:
    """Draw which memory the client held after which answer.

    Args:
        named: the refs that may appear.
        texts: ref → what to call it.
    Returns: the map, and how many memories have no room in it; those are shown that were served most.
    """
    lines = {ref: _course(ref, records) for ref in _in_order(records) if ref in named}
    busiest = sorted(lines, key=lambda ref: -sum(heat > HELD for heat, _ in lines[ref]))[:ROWS_DRAWN]
    shown = [ref for ref in lines if ref in set(busiest)]
    chart = heat_map(
        [texts.get(ref) or ref for ref in shown],
        [_name(record) for record in records],
        [lines[ref] for ref in shown],
        label="Which memory the client held after which turn",
        each="memory",
        heats=HEATS,
    )
    return chart, len(lines) - len(shown)


def _name(record: DeltaRecord) -> str:
    return f"{record.turn}" if not record.payload["told"].get("repeated") else f"{record.turn}′"


def _in_order(records: Sequence[DeltaRecord]) -> list[str]:
    """Return every ref of the log, in the order in which they first came up."""
    return list(
        dict.fromkeys(
            ref
            for record in records
            for word in ("new", "carried", "changed", *_GONE)
            for ref in _refs(record.payload["told"].get(word, ()))
        )
    )


def _refs(told: Iterable[Any]) -> Iterable[str]:
    return (entry if isinstance(entry, str) else entry[0] for entry in told)


def _course(ref: str, records: Sequence[DeltaRecord]) -> list[tuple[int, str]]:
    """Return for each answer how the client stood with a memory after it, and that in words."""
    course: list[tuple[int, str]] = []
    held = False
    for record in records:
        told = record.payload["told"]
        heat, words = _standing(ref, told, held=held)
        held = heat != NOT_HELD
        course.append((heat, words))
    return course


def _standing(ref: str, told: Mapping[str, Any], *, held: bool) -> tuple[int, str]:
    gone = next((word for word in _GONE if ref in _refs(told.get(word, ()))), None)
    if gone is not None:
        return NOT_HELD, gone
    if ref in _refs(told.get("new", ())):
        return NEW, "new"
    if ref in told.get("changed", ()):
        return FULLER, "sent in a fuller form"
    if ref in told.get("carried", ()):
        return SERVED, "served again"
    return (HELD, "held") if held and not told.get("reset") else (NOT_HELD, "not held")
