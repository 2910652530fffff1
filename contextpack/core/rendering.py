"""What a pack looks like as JSON rows and as markdown, and what each item of it costs there.

`item_text` and `section_text` are the one truth about the size of a body: the packer counts what they answer,
and the renderers send what they answer. In markdown a memory is one line that ends in its citation, and nothing
that a memory says can end that line, open another structure, or cite.
"""

import re
from datetime import UTC
from typing import Final, TypedDict

from contextpack.core.canonical import wire_text
from contextpack.core.envelope import Why, project_memory_object, rounded
from contextpack.core.types import Item, PackFormat, PackLayer

# Line and paragraph breaks of every kind, with the blanks around them.
_BREAKS: Final = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
# Control characters, and the invisible ones that hide or reorder text; joiners stay, scripts and emoji need them.
_UNSEEN: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_BLANKS: Final = re.compile(r"\s+")
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


def item_text(item: Item, fmt: PackFormat) -> str:
    """Return exactly what one item adds to a body, keys, separators and citation included."""
    if fmt is PackFormat.MARKDOWN:
        return _line(item)
    if fmt is PackFormat.SMP:
        return wire_text(project_memory_object(item)) + ","
    return wire_text(row(item)) + ","


def section_text(layer: PackLayer, fmt: PackFormat) -> str:
    """Return what opening a layer's section adds to a body."""
    if fmt is PackFormat.MARKDOWN:
        return f"## {layer.value}\n"
    if fmt is PackFormat.JSON:
        return f'"{layer.value}":[],'
    return ""


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


def inert(text: str) -> str:
    """Return a memory's text as one line of markdown in which nothing is structure.

    Line breaks become " / ", a mark that would open a block is escaped, a tag loses its bracket, and what
    looks like a citation is put in parentheses. Nothing is stripped from the inside of a mark, so no
    removal can make a new one.
    """
    text = _BLANKS.sub(" ", _BREAKS.sub(" / ", _UNSEEN.sub("", text).strip()))
    text = _TAG.sub("&lt;", text)
    text = _CITING.sub("(", _CITED.sub(r"(\1)", text))
    text = _IMAGE.sub(r"!\\[", text)
    if _BLOCK_START.match(text):
        return "\\" + text
    return _ORDINAL_START.sub(r"\1\\\2", text, count=1) if _ORDINAL_START.match(text) else text


def _line(item: Item) -> str:
    candidate = item.candidate
    day = candidate.occurred_at
    parts = (
        "-",
        day.astimezone(UTC).date().isoformat() if day else "",
        inert(item.text),
        "(conflicted)" if candidate.conflicted else "",
        f"[{candidate.ref}]",
    )
    return " ".join(part for part in parts if part) + "\n"
