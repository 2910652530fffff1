"""Claude exports: `conversations.json`, and where they are there `projects.json` and `memories.json`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from memories.core.imports.drafts import Conversation, Document, Found, Message, Note, Unread
from memories.core.imports.reading import (
    Unreadable,
    decoded,
    id_of,
    listed,
    mapping,
    moment_of,
    parsed,
    text_of,
)

NAME: Final = "claude"
_SPEAKERS: Final = {"human": "user", "assistant": "assistant"}


def is_conversation(value: Any) -> bool:
    return "chat_messages" in mapping(value)


def is_memories(value: Any) -> bool:
    first = mapping(value[0] if isinstance(value, list) and value else value)
    return "conversations_memory" in first or "project_memories" in first


def read(documents: Sequence[Document]) -> Found:
    """Yield the conversations, then what was kept of projects, then what Claude remembered."""
    for document in sorted(documents, key=_order):
        if document.name.endswith(".json"):
            yield from _file(document)


def _order(document: Document) -> tuple[int, str]:
    base = document.name.rpartition("/")[2]
    known = ("conversations.json", "projects.json", "memories.json")
    return (known.index(base) if base in known else len(known), document.name)


def _file(document: Document) -> Found:
    text, lost = decoded(document)
    yield from lost
    try:
        content = parsed(text)
    except Unreadable as error:
        yield Unread(place=document.name, reason=str(error))
        return
    base = document.name.rpartition("/")[2]
    if is_memories(content):
        for index, item in enumerate(content if isinstance(content, list) else [content]):
            yield from _memories(mapping(item), f"{document.name}[{index}]")
        return
    if base == "users.json":
        return
    for index, item in enumerate(listed(content)):
        place = f"{document.name}[{index}]"
        if is_conversation(item):
            yield from _conversation(mapping(item), place)
        elif "docs" in mapping(item) or "prompt_template" in mapping(item):
            yield from _project(mapping(item), place)
        else:
            yield Unread(place=place, reason="neither a conversation nor a project")
    if not isinstance(content, list):
        yield Unread(place=document.name, reason="holds no list")


def _conversation(value: Mapping[str, Any], place: str) -> Found:
    conversation_id = id_of(value.get("uuid"))
    if not conversation_id:
        yield Unread(place=place, reason="no uuid")
        return
    messages: list[Message] = []
    for index, said in enumerate(listed(value.get("chat_messages"))):
        made = _message(mapping(said), f"{place}.chat_messages[{index}]", conversation_id, len(messages))
        if isinstance(made, Message):
            messages.append(made)
        else:
            yield made
    if not messages:
        yield Unread(place=place, reason="nothing in it was said")
        return
    yield Conversation(
        external_id=conversation_id,
        title=text_of(value.get("name")),
        url=f"https://claude.ai/chat/{conversation_id}" if re.fullmatch(r"[\w-]+", conversation_id) else "",
        occurred_at=moment_of(value.get("created_at")),
        messages=tuple(messages),
    )


def _message(said: Mapping[str, Any], place: str, conversation_id: str, position: int) -> Message | Unread:
    sender = said.get("sender")
    if not isinstance(sender, str) or sender not in _SPEAKERS:
        return Unread(place=place, reason="the sender is neither human nor assistant")
    text = "\n".join(_texts(said)) or text_of(said.get("text"))
    files = [text_of(mapping(each).get("file_name")) for each in listed(said.get("attachments"))]
    text = "\n".join([text, *(f"[attachment {name}]" for name in files if name)]).strip()
    if not text:
        return Unread(place=place, reason="no text in it")
    return Message(
        external_id=id_of(said.get("uuid"), f"{conversation_id}#{position}"),
        speaker=_SPEAKERS[sender],
        text=text,
        position=position,
        occurred_at=moment_of(said.get("created_at")),
    )


def _texts(said: Mapping[str, Any]) -> Iterator[str]:
    """Yield the blocks of text; tool calls and thoughts are no words of the conversation."""
    for block in listed(said.get("content")):
        if mapping(block).get("type") == "text" and (text := text_of(mapping(block).get("text"))):
            yield text


def _project(value: Mapping[str, Any], place: str) -> Found:
    project_id, name = id_of(value.get("uuid"), value.get("name")), text_of(value.get("name"))
    if not project_id:
        yield Unread(place=place, reason="no uuid")
        return
    moment = moment_of(value.get("updated_at")) or moment_of(value.get("created_at"))
    about = (name,) if name else ()
    for part in ("description", "prompt_template"):
        if text := text_of(value.get(part)):
            yield Note(
                external_id=f"{project_id}/{part}", text=text, title=name, occurred_at=moment, entities=about
            )
    for index, each in enumerate(listed(value.get("docs"))):
        doc = mapping(each)
        text = text_of(doc.get("content"))
        if not text:
            yield Unread(place=f"{place}.docs[{index}]", reason="no text in it")
            continue
        yield Note(
            external_id=id_of(doc.get("uuid"), f"{project_id}/doc{index}"),
            text=text,
            title=text_of(doc.get("filename")) or name,
            occurred_at=moment_of(doc.get("created_at")) or moment,
            entities=about,
        )


def _memories(value: Mapping[str, Any], place: str) -> Found:
    owner = id_of(value.get("account_uuid"), "account")
    if text := text_of(value.get("conversations_memory")):
        yield Note(external_id=f"{owner}/memory", text=text, title="What Claude remembered")
    elif not mapping(value.get("project_memories")):
        yield Unread(place=place, reason="no text in it")
    for project_id, each in mapping(value.get("project_memories")).items():
        text = text_of(each)
        if text:
            yield Note(external_id=f"{project_id[:150]}/memory", text=text, title="What Claude remembered")
        else:
            yield Unread(place=f"{place}.project_memories[{project_id[:40]}]", reason="no text in it")
