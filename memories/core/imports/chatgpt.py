"""ChatGPT exports: `conversations.json`, or `conversations-NNN.json` beside `export_manifest.json`.

A conversation is a tree of nodes; what was said last is `current_node`, and its parents up to the root are the
conversation as it was seen. Hidden messages, instructions, tool calls and their output are left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from memories.core.imports.drafts import Conversation, Document, Found, Message, Unread
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

NAME: Final = "chatgpt"
_FILE: Final = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")
_SPOKEN: Final = frozenset({"user", "assistant"})
_TEXTS: Final = frozenset({"text", "multimodal_text"})


def is_file(document: Document) -> bool:
    return _FILE.search(document.name) is not None


def is_conversation(value: Any) -> bool:
    return "mapping" in mapping(value)


def read(documents: Sequence[Document]) -> Found:
    """Yield the conversations of an export, in the order of its files."""
    for document in sorted(documents, key=lambda each: each.name):
        if is_file(document) or len(documents) == 1:
            yield from _file(document)


def _file(document: Document) -> Found:
    text, lost = decoded(document)
    yield from lost
    try:
        content = parsed(text)
    except Unreadable as error:
        yield Unread(place=document.name, reason=str(error))
        return
    found = listed(content) or listed(mapping(content).get("conversations"))
    if not found:
        yield Unread(place=document.name, reason="holds no list of conversations")
    for index, item in enumerate(found):
        yield from _conversation(item, f"{document.name}[{index}]")


def _conversation(item: Any, place: str) -> Found:
    value = mapping(item)
    nodes = mapping(value.get("mapping"))
    conversation_id = id_of(value.get("conversation_id"), value.get("id"))
    if not conversation_id or not nodes:
        yield Unread(place=place, reason="no id" if nodes else "no messages: mapping is missing or empty")
        return
    messages: list[Message] = []
    for node_id in _seen(value, nodes):
        made = _message(node_id, mapping(nodes[node_id]), f"{place}.{node_id[:40]}", len(messages))
        if isinstance(made, Message):
            messages.append(made)
        elif made is not None:
            yield made
    if not messages:
        yield Unread(place=place, reason="nothing in it was said")
        return
    yield Conversation(
        external_id=conversation_id,
        title=text_of(value.get("title")),
        url=f"https://chatgpt.com/c/{conversation_id}" if re.fullmatch(r"[\w-]+", conversation_id) else "",
        occurred_at=moment_of(value.get("create_time")),
        messages=tuple(messages),
    )


def _seen(value: Mapping[str, Any], nodes: Mapping[str, Any]) -> list[str]:
    """Return the nodes from the root to what was said last; a chain that runs in a circle ends where it closes."""
    node = value.get("current_node")
    if not isinstance(node, str) or node not in nodes:
        node = _latest_leaf(nodes)
    path: dict[str, None] = {}
    while isinstance(node, str) and node in nodes and node not in path:
        path[node] = None
        node = mapping(nodes[node]).get("parent")
    return list(path)[::-1]


def _latest_leaf(nodes: Mapping[str, Any]) -> str:
    leaves = [node for node, value in nodes.items() if not listed(mapping(value).get("children"))] or list(
        nodes
    )
    return max(enumerate(leaves), key=lambda each: (_time(nodes[each[1]]), each[0]))[1]


def _time(node: Any) -> float:
    moment = moment_of(mapping(mapping(node).get("message")).get("create_time"))
    return moment.timestamp() if moment else 0.0


def _message(node_id: str, node: Mapping[str, Any], place: str, position: int) -> Message | Unread | None:
    """Return None for what is no message, such as the root."""
    said = mapping(node.get("message"))
    if not said:
        return None
    role = text_of(mapping(said.get("author")).get("role"))
    content = mapping(said.get("content"))
    if mapping(said.get("metadata")).get("is_visually_hidden_from_conversation"):
        return None
    if role not in _SPOKEN or (text_of(content.get("content_type")) or "text") not in _TEXTS:
        return None if role in {"system", "tool", *_SPOKEN} else Unread(place=place, reason="nobody said it")
    recipient = said.get("recipient")
    if isinstance(recipient, str) and recipient not in {"all", ""}:
        return None  # a call of a tool
    text = "\n".join(_parts(content))
    if not text:
        return Unread(place=place, reason="no text in it")
    return Message(
        external_id=id_of(said.get("id"), node_id),
        speaker=role,
        text=text,
        position=position,
        occurred_at=moment_of(said.get("create_time")),
    )


def _parts(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts among the parts; images are named, not read."""
    for part in listed(content.get("parts")) or [content.get("text")]:
        if isinstance(part, str):
            found = text_of(part)
        else:
            kind = text_of(mapping(part).get("content_type"))
            found = text_of(mapping(part).get("text")) or ("[image]" if "image" in kind else "")
        if found:
            yield found
