"""Portable AI Memory 1.0: typed memories with confidence, validity and who replaced whom."""

from collections.abc import Mapping, Sequence
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
    share_of,
    tags_of,
    text_of,
)
from memories.core.kinds import Kind

NAME: Final = "pam"
SCHEMA: Final = "portable-ai-memory"
_KINDS: Final = {
    "preference": Kind.PREFERENCE,
    "decision": Kind.DECISION,
    "event": Kind.EVENT,
    "episode": Kind.EVENT,
    "episodic": Kind.EVENT,
    "procedure": Kind.PROCEDURE,
    "skill": Kind.PROCEDURE,
    "workflow": Kind.PROCEDURE,
    "goal": Kind.ACTION,
    "task": Kind.ACTION,
    "question": Kind.QUESTION,
    "summary": Kind.SUMMARY,
    "observation": Kind.OBSERVATION,
    "style": Kind.STYLE,
    "instruction": Kind.STYLE,
    "constraint": Kind.NEGATIVE,
}
_GONE: Final = frozenset({"deleted", "retracted", "forgotten", "redacted"})


def is_export(value: Any) -> bool:
    return mapping(value).get("schema") == SCHEMA


def read(documents: Sequence[Document]) -> Found:
    for document in documents:
        text, lost = decoded(document)
        yield from lost
        try:
            content = mapping(parsed(text))
        except Unreadable as error:
            yield Unread(place=document.name, reason=str(error))
            continue
        successors, strange = _successors(listed(content.get("relations")), document.name)
        yield from strange
        for index, item in enumerate(listed(content.get("memories"))):
            yield _fact(mapping(item), f"{document.name}.memories[{index}]", successors)


def _successors(relations: Sequence[Any], name: str) -> tuple[dict[str, str], list[Unread]]:
    """Return who replaced whom by the relations, and those of a kind that is not kept."""
    after: dict[str, str] = {}
    strange: list[Unread] = []
    for index, item in enumerate(relations):
        row = mapping(item)
        one, other = id_of(row.get("from"), row.get("source")), id_of(row.get("to"), row.get("target"))
        if row.get("type") == "supersedes" and one and other:
            after[other] = one
        elif row.get("type") == "superseded_by" and one and other:
            after[one] = other
        else:
            place = f"{name}.relations[{index}]"
            strange.append(Unread(place=place, reason="a relation of a kind that is not kept here"))
    return after, strange


def _fact(value: Mapping[str, Any], place: str, successors: Mapping[str, str]) -> Fact | Unread:
    content, memory_id = text_of(value.get("content")), id_of(value.get("id"))
    status = text_of(value.get("status")).lower()
    if not content or not memory_id:
        return Unread(place=place, reason="no id" if content else "no text in content")
    if status in _GONE:
        return Unread(place=place, reason=f"{status} there")
    temporal, confidence = mapping(value.get("temporal")), mapping(value.get("confidence"))
    trust = [share_of(confidence.get(name)) for name in ("current", "initial")] + [
        share_of(value.get("confidence"))
    ]
    created_at = moment_of(temporal.get("created_at"))
    platform = text_of(mapping(value.get("provenance")).get("platform"))
    return Fact(
        external_id=memory_id,
        content=content,
        kind=_KINDS.get(text_of(value.get("type")).lower(), Kind.CLAIM),
        title=platform[:200],
        confidence=next((each for each in trust if each is not None), None),
        occurred_at=created_at,
        changed_at=moment_of(temporal.get("updated_at")) or created_at,
        valid_from=moment_of(temporal.get("valid_from")),
        valid_to=moment_of(temporal.get("valid_until")),
        is_archived=status in {"archived", "inactive", "disputed"},
        replaced_by=id_of(temporal.get("superseded_by"), successors.get(memory_id)) or None,
        tags=tags_of(value.get("tags")),
    )
