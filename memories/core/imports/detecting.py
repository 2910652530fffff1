"""Which product an export comes from, told from what is in it and never from a promise."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from memories.core.imports import benchmarks, chatgpt, claude, markdown, mcp_memory, mem0, pam
from memories.core.imports.drafts import Document, Found
from memories.core.imports.reading import Unreadable, decoded, lines_of, listed, mapping, parsed

READERS: Final[Mapping[str, Callable[[Sequence[Document]], Found]]] = {
    chatgpt.NAME: chatgpt.read,
    claude.NAME: claude.read,
    markdown.NAME: markdown.read,
    mem0.NAME: mem0.read,
    mcp_memory.NAME: mcp_memory.read,
    pam.NAME: pam.read,
    benchmarks.LOCOMO: benchmarks.read_locomo,
    benchmarks.LONGMEMEVAL: benchmarks.read_longmemeval,
}
OWN: Final = "cortex"
_OWN_HEADER: Final = "cortex_export"
_SIGNS: Final[tuple[tuple[str, Callable[[Any], bool]], ...]] = (
    (pam.NAME, pam.is_export),
    (benchmarks.LONGMEMEVAL, benchmarks.is_longmemeval),
    (benchmarks.LOCOMO, benchmarks.is_locomo),
    (claude.NAME, claude.is_memories),
    (mem0.NAME, mem0.is_export),
)


def detect(documents: Sequence[Document]) -> str | None:
    """Return the name of the product, `cortex` for our own lines, None where nothing is recognised."""
    for document in documents:
        if not markdown.is_file(document) and (found := _product_of(document)):
            return found
    return markdown.NAME if any(map(markdown.is_file, documents)) else None


def _product_of(document: Document) -> str | None:
    try:
        value = parsed(decoded(document)[0])
    except Unreadable:
        return _product_of_lines(document)
    if _OWN_HEADER in mapping(value):
        return OWN
    if mcp_memory.is_row(value):
        return mcp_memory.NAME
    talks = listed(value) or listed(mapping(value).get("conversations"))
    if any(map(chatgpt.is_conversation, talks)):
        return chatgpt.NAME
    if any(map(claude.is_conversation, talks)):
        return claude.NAME
    return next((name for name, is_it in _SIGNS if is_it(value)), None)


def _product_of_lines(document: Document) -> str | None:
    for number, (_, value) in enumerate(lines_of(document)):
        if number == 0 and _OWN_HEADER in mapping(value):
            return OWN
        if mcp_memory.is_row(value):
            return mcp_memory.NAME
        if number > 20:
            return None
    return None
