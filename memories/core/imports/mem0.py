"""mem0: `{"results": [{id, memory, metadata, created_at, updated_at, user_id, categories}]}`, or that list alone."""

from collections.abc import Sequence
from typing import Any, Final

from memories.core.imports.drafts import Document, Fact, Found, Unread
from memories.core.imports.reading import (
    Unreadable,
    decoded,
    id_of,
    listed,
    mapping,
    moment_of,
    parsed,
    tags_of,
    text_of,
)

NAME: Final = "mem0"


def is_export(value: Any) -> bool:
    rows = _rows(value)
    return bool(rows) and "memory" in mapping(rows[0]) and "id" in mapping(rows[0])


def _rows(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return listed(mapping(value).get("results")) or listed(mapping(value).get("memories"))


def read(documents: Sequence[Document]) -> Found:
    for document in documents:
        text, lost = decoded(document)
        yield from lost
        try:
            rows = _rows(parsed(text))
        except Unreadable as error:
            yield Unread(place=document.name, reason=str(error))
            continue
        for index, item in enumerate(rows):
            yield _fact(item, f"{document.name}[{index}]")


def _fact(item: Any, place: str) -> Fact | Unread:
    value = mapping(item)
    content, memory_id = text_of(value.get("memory")), id_of(value.get("id"), value.get("hash"))
    if not content or not memory_id:
        return Unread(place=place, reason="no id" if content else "no text in memory")
    created_at = moment_of(value.get("created_at"))
    return Fact(
        external_id=memory_id,
        content=content,
        occurred_at=created_at,
        changed_at=moment_of(value.get("updated_at")) or created_at,
        expires_at=moment_of(value.get("expiration_date")),
        tags=tags_of(value.get("categories")),
    )
