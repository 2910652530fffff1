"""What a pack looks like as JSON rows and as markdown, and what each item of it costs there.

`item_text` and `headings_of` are the one truth about the size of a body: the packer counts what they answer,
and the renderers send what they answer. In markdown a memory is one line that ends in its citation, and nothing
that a memory says can end that line, open another structure, or cite.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any, Final, TypedDict

from contextpack.core.canonical import wire_text
from contextpack.core.envelope import (
    Why,
    coverage_block,
    model_block,
    pin_block,
    project_memory_object,
    receipt_block,
    rounded,
    sent_items,
)
from contextpack.core.types import (
    Candidate,
    ContextRequest,
    DeltaMode,
    Heading,
    Item,
    Pack,
    PackFormat,
    PackLayer,
    PinStub,
    ReceiptStub,
)
from memories.core.marks import (
    DROP_PREFIX,
    EMPTY_PACK,
    HELD_PREFIX,
    NOTE_PREFIX,
    NOTHING_NEW,
    PACK_HEADER,
)

NOTHING_MATCHES: Final = "nothing here matches the task"

# Control characters, and the invisible ones that hide or reorder text; joiners stay, scripts and emoji need them.
_UNSEEN: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_TAG: Final = re.compile(r"<(?=\s*[/!?|]|[^\W\d_])")
_CITED: Final = re.compile(r"\[(\s*mem_\w*\s*)\]", re.IGNORECASE)
_CITING: Final = re.compile(r"\[(?=[\s\u200c\u200d]*mem_)", re.IGNORECASE)
_IMAGE: Final = re.compile(r"!\[")
_BLOCK_START: Final = re.compile(r"[#>+*\-=~`|_]")
_ORDINAL_START: Final = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


class Row(TypedDict):
    """A memory object with what only the json format tells."""

    ref: str
    content: str
    layer: str
    relevance: float | None
    relevance_basis: str | None
    why: Why
    source_url: str | None
    confidence: float | None
    occurred_at: str | None
    entities: list[str]
    kind: str
    rung: str
    utility: float | None
    conflicted: bool
    occurrences: int
    folded_refs: list[str]
    source_urls: list[str]


class JsonPack(TypedDict):
    """The body of the json format."""

    layers: dict[str, list[Row]]
    budget: dict[str, float]
    coverage: dict[str, Any]
    model: dict[str, Any]
    warnings: list[dict[str, Any]]
    cursor: str | None
    follow_ups: list[dict[str, Any]]
    working_memory: dict[str, Any] | None
    receipt: dict[str, Any] | None
    pin: dict[str, str] | None


def item_text(item: Item, fmt: PackFormat) -> str:
    """Return exactly what one item adds to a body, keys, separators and citation included."""
    if fmt is PackFormat.MARKDOWN:
        return _line(item)
    if fmt is PackFormat.SMP:
        return wire_text(project_memory_object(item)) + ","
    return wire_text(row(item)) + ","


def headings_of(candidate: Candidate, fmt: PackFormat) -> tuple[Heading, ...]:
    """Return the headings under which a memory stands in a body, the outermost first."""
    layer = candidate.layer.value
    if fmt is PackFormat.SMP:
        return ()
    if fmt is PackFormat.JSON:
        return (Heading(path=(layer,), text=f'"{layer}":[],'),)
    section = Heading(path=(layer,), text=f"## {layer}\n")
    day = _day_of_group(candidate)
    return (section, Heading(path=(layer, day), text=f"### {day}\n")) if day else (section,)


def _day_of_group(candidate: Candidate) -> str | None:
    """Return the day under which a memory stands in markdown.

    The sides of a conflict stand side by side whatever their days, so each tells its own.
    """
    return None if candidate.conflicted else _day(candidate)


def _day(candidate: Candidate) -> str | None:
    return candidate.occurred_at.astimezone(UTC).date().isoformat() if candidate.occurred_at else None


def row(item: Item) -> Row:
    """Return an item as the json format shows it: a memory object, and what packing did with it."""
    return {
        **project_memory_object(item),
        "kind": item.candidate.kind.value,
        "rung": item.rung.value,
        "utility": rounded(item.utility),
        "conflicted": item.candidate.conflicted,
        "occurrences": item.occurrences,
        "folded_refs": list(item.folded_refs),
        "source_urls": list(item.source_urls or item.candidate.source_urls),
    }


def as_json(
    pack: Pack,
    request: ContextRequest,
    *,
    working_memory: Mapping[str, Any] | None = None,
    receipt: ReceiptStub | None = None,
    pin: PinStub | None = None,
    cursor: str | None = None,
    follow_ups: Sequence[Mapping[str, Any]] = (),
    send_refs: frozenset[str] | None = None,
) -> JsonPack:
    """Return the json body of a pack: its rows grouped by layer, each with what packing did with it.

    Args:
        working_memory: the session's delta; it is told as a warning, too, for readers who know only those.
        send_refs: where given, only these items travel.
    Source: CMP §5 (`distinct_facts_per_1k_tokens` in the budget), §8.2 (the delta among the warnings).
    """
    return {
        "layers": {
            layer.value: [row(item) for item in items]
            for layer, items in _by_layer(sent_items(pack, send_refs))
        },
        "budget": {
            "tokens": pack.budget.tokens,
            "used": pack.budget.used,
            "distinct_facts_per_1k_tokens": round(pack.distinct_facts_per_1k_tokens, 2),
        },
        "coverage": coverage_block(pack.coverage),
        "model": model_block(request),
        "warnings": _warnings(pack.stated, working_memory),
        "cursor": cursor,
        "follow_ups": [dict(call) for call in follow_ups],
        "working_memory": None if working_memory is None else dict(working_memory),
        "receipt": receipt_block(receipt),
        "pin": pin_block(pin),
    }


def as_markdown(
    pack: Pack,
    request: ContextRequest,
    *,
    working_memory: Mapping[str, Any] | None = None,
    send_refs: frozenset[str] | None = None,
) -> str:
    """Return a pack as text that is ready for a prompt: a line for each memory, each with its citation.

    Args:
        working_memory: the session's delta; told only where a request asks for new content alone, since the
            reader then has to keep, and to drop, what it was sent before.
        send_refs: where given, only these items travel.
    Returns: lines under the headings of their layers, in the order of the layers, and of their days; one line
        where there is nothing to say.
    """
    sections = list(_by_layer(sent_items(pack, send_refs)))
    parts = [_opening(pack, anything_sent=bool(sections)), _note(pack)]
    opened: set[tuple[str, ...]] = set()
    for _, items in sections:
        for item in sorted(items, key=_place_in_section):
            headings = headings_of(item.candidate, PackFormat.MARKDOWN)
            parts.extend(heading.text for heading in headings if heading.path not in opened)
            opened.update(heading.path for heading in headings)
            parts.append(_line(item))
    if request.delta is DeltaMode.CONTENT and working_memory is not None:
        parts.append(_notice(working_memory))
    return "".join(parts)


def inert(text: str) -> str:
    """Return a memory's text as one line of markdown in which nothing is structure.

    Line breaks become " / ", a mark that would open a block is escaped, a tag loses its bracket, and what
    looks like a citation is put in parentheses. Nothing is stripped from the inside of a mark, so no
    removal can make a new one.
    """
    text = _in_one_line(text if text.isprintable() else _UNSEEN.sub("", text))
    text = _TAG.sub("&lt;", text)
    text = _CITING.sub("(", _CITED.sub(r"(\1)", text))
    text = _IMAGE.sub(r"!\\[", text)
    if _BLOCK_START.match(text):
        return "\\" + text
    return _ORDINAL_START.sub(r"\1\\\2", text, count=1) if _ORDINAL_START.match(text) else text


def _in_one_line(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return " / ".join(line for line in lines if line)


def _line(item: Item) -> str:
    candidate = item.candidate
    parts = (
        "-",
        (_day(candidate) or "") if candidate.conflicted else "",
        inert(item.text),
        "(conflicted)" if candidate.conflicted else "",
        f"[{candidate.ref}]",
    )
    return " ".join(part for part in parts if part) + "\n"


def _place_in_section(item: Item) -> tuple[str, str, int]:
    """Say where an item stands in its section; equals keep the pack's order.

    What has no day and what is in conflict comes first, then day after day, each thread in its own order.
    """
    candidate = item.candidate
    day = _day_of_group(candidate)
    return (day, candidate.thread or "", candidate.position or 0) if day else ("", "", 0)


def _by_layer(items: Iterable[Item]) -> Iterator[tuple[PackLayer, list[Item]]]:
    """Yield the layers that hold something, in their order, with their items in pack order."""
    grouped: dict[PackLayer, list[Item]] = {layer: [] for layer in PackLayer}
    for item in items:
        grouped[item.candidate.layer].append(item)
    return ((layer, held) for layer, held in grouped.items() if held)


def _warnings(stated: Sequence[str], delta: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    warnings: list[dict[str, Any]] = [{"code": "degraded", "message": message} for message in stated]
    if delta is not None:
        counts = ", ".join(f"{len(delta[name])} {name}" for name in ("new", "evicted", "superseded"))
        warnings.append({"code": "working_memory", "message": counts, "working_memory": dict(delta)})
    return warnings


def _opening(pack: Pack, *, anything_sent: bool) -> str:
    if anything_sent:
        return f"{PACK_HEADER}\n"
    return f"{NOTHING_NEW if pack.items else EMPTY_PACK}\n"


def _note(pack: Pack) -> str:
    weak = pack.items and pack.coverage.status == "weak"
    notes = [*([NOTHING_MATCHES] if weak else []), *(inert(message) for message in pack.stated)]
    return f"{NOTE_PREFIX}{'; '.join(notes)}\n" if notes else ""


def _notice(delta: Mapping[str, Any]) -> str:
    """Name what is still held and what to drop; the blank line before it ends the list of memories."""
    dropped = [*delta.get("evicted", ()), *delta.get("retracted", ())]
    dropped += [_succession(link["ref"], link["replacement"]) for link in delta.get("superseded", ())]
    kept = ", ".join(delta.get("carried", ()))
    parts = [
        f"{HELD_PREFIX}{kept}." if kept else "",
        f"{DROP_PREFIX}{', '.join(dropped)}." if dropped else "",
    ]
    told = " ".join(part for part in parts if part)
    return f"\n{told}\n" if told else ""


def _succession(ref: str, replacement: str | None) -> str:
    return f"{ref} (now {replacement})" if replacement else ref
