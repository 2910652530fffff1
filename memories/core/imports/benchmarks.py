"""LoCoMo and LongMemEval: long histories of talk, a conversation for each session. Their questions are left out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
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

LOCOMO: Final = "locomo"
LONGMEMEVAL: Final = "longmemeval"
BETWEEN_TURNS: Final = timedelta(seconds=20)  # only a session's beginning is dated
_SESSION: Final = re.compile(r"session_(\d{1,6})")
_WEEKDAY: Final = re.compile(r"\s*\([A-Za-z]+\)\s*")
_FORMATS: Final = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d %H:%M", "%Y/%m/%d")
_SPEAKERS: Final = frozenset({"user", "assistant"})


def is_locomo(value: Any) -> bool:
    sample = mapping(_first(value))
    talk = mapping(sample.get("conversation")) or sample
    return any(_SESSION.fullmatch(key) for key in talk)


def is_longmemeval(value: Any) -> bool:
    return "haystack_sessions" in mapping(_first(value))


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def read_locomo(documents: Sequence[Document]) -> Found:
    for document, content in _contents(documents):
        if isinstance(content, Unread):
            yield content
            continue
        base = document.name.rpartition("/")[2].removesuffix(".json")
        for index, sample in enumerate(content if isinstance(content, list) else [content]):
            yield from _sample(mapping(sample), f"{base}-{index}" if index else base, document.name)


def read_longmemeval(documents: Sequence[Document]) -> Found:
    seen: set[str] = set()  # sessions come again in the haystacks of other questions
    for document, content in _contents(documents):
        if isinstance(content, Unread):
            yield content
            continue
        for index, item in enumerate(content if isinstance(content, list) else [content]):
            yield from _haystack(mapping(item), f"{document.name}[{index}]", seen)


def _contents(documents: Sequence[Document]) -> Iterator[tuple[Document, Any]]:
    for document in documents:
        text, lost = decoded(document)
        for each in lost:
            yield document, each
        try:
            yield document, parsed(text)
        except Unreadable as error:
            yield document, Unread(place=document.name, reason=str(error))


def _sample(sample: Mapping[str, Any], name: str, place: str) -> Found:
    talk = mapping(sample.get("conversation")) or sample
    named = id_of(sample.get("sample_id"), name)
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    if not numbers:
        yield Unread(place=place, reason="no sessions in it")
    for number in numbers:
        key = f"session_{number}"
        began_at = _moment(talk.get(f"{key}_date_time"))
        turns = [
            (id_of(turn.get("dia_id"), str(at)), text_of(turn.get("speaker")), _shared(turn))
            for at, turn in enumerate(map(mapping, listed(talk[key])))
        ]
        yield from _session(f"{named}/{key}", turns, began_at, f"{place}.{key}")


def _shared(turn: Mapping[str, Any]) -> str:
    text, caption = text_of(turn.get("text")), text_of(turn.get("blip_caption"))
    return f"{text} [shared {caption}]".strip() if caption else text


def _haystack(item: Mapping[str, Any], place: str, seen: set[str]) -> Found:
    sessions, dates = listed(item.get("haystack_sessions")), listed(item.get("haystack_dates"))
    ids = listed(item.get("haystack_session_ids"))
    if not sessions:
        yield Unread(place=place, reason="no sessions in it")
    for index, session in enumerate(sessions):
        at = f"{place}.haystack_sessions[{index}]"
        named = id_of(ids[index] if index < len(ids) else None, f"{id_of(item.get('question_id'))}/{index}")
        if named in seen:
            continue
        seen.add(named)
        turns = [
            (str(number), role if role in _SPEAKERS else "", text_of(turn.get("content")))
            for number, turn in enumerate(map(mapping, listed(session)))
            if isinstance(role := turn.get("role", ""), str)
        ]
        yield from _session(named, turns, _moment(dates[index] if index < len(dates) else None), at)


def _session(
    name: str, turns: Sequence[tuple[str, str, str]], began_at: datetime | None, place: str
) -> Found:
    messages: list[Message] = []
    for number, (turn_id, speaker, text) in enumerate(turns):
        if not speaker or not text:
            yield Unread(place=f"{place}[{number}]", reason="no speaker" if text else "no text in it")
            continue
        messages.append(
            Message(
                external_id=f"{name}#{turn_id}",
                speaker=speaker[:200],
                text=text,
                position=len(messages),
                occurred_at=began_at + BETWEEN_TURNS * number if began_at else None,
            )
        )
    if messages:
        yield Conversation(external_id=name, title=name, occurred_at=began_at, messages=tuple(messages))
    else:
        yield Unread(place=place, reason="nothing in it was said")


def _moment(value: Any) -> datetime | None:
    text = _WEEKDAY.sub(" ", text_of(value)[:100]).strip()
    for form in _FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return moment_of(text)
