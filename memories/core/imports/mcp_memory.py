"""The MCP reference memory server: JSON Lines of entities with observations, and of relations between entities."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memories.core.imports.drafts import Document, Fact, Found, Unread
from memories.core.imports.reading import about, lines_of, listed, mapping, tags_of, text_of

NAME: Final = "mcp"


def is_row(value: Any) -> bool:
    row = mapping(value)
    if row.get("type") == "entity":
        return "entityType" in row or "observations" in row
    return row.get("type") == "relation" and "relationType" in row


def read(documents: Sequence[Document]) -> Found:
    for document in documents:
        for place, value in lines_of(document):
            if isinstance(value, Unread):
                yield value
            elif mapping(value).get("type") == "entity":
                yield from _entity(mapping(value), place)
            elif mapping(value).get("type") == "relation":
                yield _relation(mapping(value), place)
            else:
                yield Unread(place=place, reason="neither an entity nor a relation")


def _entity(row: Mapping[str, Any], place: str) -> Found:
    name = text_of(row.get("name"))
    observations = listed(row.get("observations"))
    if not name or not observations:
        reason = "an entity without a name" if not name else "an entity of which nothing is said"
        yield Unread(place=place, reason=reason)
        return
    for index, said in enumerate(observations):
        text = text_of(said)
        if not text:
            yield Unread(place=f"{place}.observations[{index}]", reason="no text in it")
            continue
        yield Fact(
            external_id=f"{name[:80]}: {text}",
            content=about(name, text),
            entities=(name[:200],),
            tags=tags_of([row.get("entityType")]),
        )


def _relation(row: Mapping[str, Any], place: str) -> Fact | Unread:
    one, other = text_of(row.get("from")), text_of(row.get("to"))
    verb = text_of(row.get("relationType")).replace("_", " ")
    if not (one and other and verb):
        return Unread(place=place, reason="a relation with an end missing")
    return Fact(
        external_id=f"{one[:80]} {verb[:30]} {other[:80]}",
        content=f"{one} {verb} {other}",
        entities=(one[:200], other[:200]),
    )
