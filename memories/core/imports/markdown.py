"""Folders of Markdown notes: front matter, observations, relations, wiki links, tags.

`- [category] what is so #tag (context)` is an observation, `- relation [[Target]]` a relation; all else is prose, from
which claims are taken as from any text. Only what front matter commonly holds is read of YAML: `key: value`, and lists.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from memories.core.imports.drafts import Document, Fact, Found, Note, Unread
from memories.core.imports.reading import about, decoded, id_of, moment_of, tags_of, text_of
from memories.core.kinds import Kind

NAME: Final = "markdown"
SUFFIXES: Final = (".md", ".markdown")
_FRONT: Final = re.compile(r"\A---[ \t]*\n(?P<front>.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY: Final = re.compile(r"(?P<key>[\w -]{1,60}):(?:\s+(?P<value>.*))?\Z")
_ITEM: Final = re.compile(r"\s*-\s+(?P<item>.+)")
_OBSERVATION: Final = re.compile(r"\s{0,8}[-*]\s+\[(?P<category>[^\[\]\n]{2,60})\]\s+(?P<text>\S.*)")
_RELATION: Final = re.compile(
    r"\s{0,8}[-*]\s+(?P<verb>[^\[\]\n]{1,80}?)\s*\[\[(?P<target>[^\[\]\n]{1,200})\]\]\s*(?:\([^()\n]*\))?\s*"
)
_LINK: Final = re.compile(r"!?\[\[(?P<target>[^\[\]|\n]{1,200})(?:\|(?P<shown>[^\[\]\n]{1,200}))?\]\]")
_TAG: Final = re.compile(r"(?<![\w#/&])#(?P<tag>[^\W\d_][\w/-]{0,60})")
_FENCE: Final = re.compile(r"[ \t]{0,3}(?:```|~~~)")
_KINDS: Final = {
    "decision": Kind.DECISION,
    "preference": Kind.PREFERENCE,
    "rule": Kind.NEGATIVE,
    "constraint": Kind.NEGATIVE,
    "event": Kind.EVENT,
    "question": Kind.QUESTION,
    "todo": Kind.ACTION,
    "task": Kind.ACTION,
    "action": Kind.ACTION,
    "procedure": Kind.PROCEDURE,
    "method": Kind.PROCEDURE,
    "style": Kind.STYLE,
    "summary": Kind.SUMMARY,
}


@dataclass(slots=True, kw_only=True)
class _Page:
    name: str
    page_id: str
    title: str
    written_at: datetime | None
    tags: tuple[str, ...]
    prose: list[str] = field(default_factory=list)


def is_file(document: Document) -> bool:
    return document.name.lower().endswith(SUFFIXES)


def read(documents: Sequence[Document]) -> Found:
    """Yield what each note states line by line, then the prose around it."""
    for document in sorted(documents, key=lambda each: each.name):
        if is_file(document):
            yield from _note(document)


def _note(document: Document) -> Found:
    text, lost = decoded(document)
    yield from lost
    text = text.replace("\r\n", "\n").replace("\x00", "")
    front, body = _split(text)
    base = document.name.rpartition("/")[2].rpartition(".")[0]
    page = _Page(
        name=document.name,
        page_id=id_of(front.get("permalink"), document.name),
        title=text_of(front.get("title")) or base,
        written_at=moment_of(front.get("modified"))
        or moment_of(front.get("created"))
        or moment_of(front.get("date")),
        tags=tags_of(front.get("tags")),
    )
    yield from _lines(page, body)
    prose = "\n".join(page.prose).strip()
    if prose and any(character.isalnum() for character in prose):
        yield _prose(page, prose)
    elif not body.strip():
        yield Unread(place=document.name, reason="no text in it")


def _lines(page: _Page, body: str) -> Iterator[Fact]:
    in_code = False
    for line in body.split("\n"):
        in_code ^= _FENCE.match(line) is not None
        if not in_code and (seen := _OBSERVATION.fullmatch(line)) and seen["category"].strip().lower() != "x":
            yield _observation(page, seen)
        elif not in_code and (tied := _RELATION.fullmatch(line)):
            yield _relation(page, tied)
        else:
            page.prose.append(line)


def _observation(page: _Page, seen: re.Match[str]) -> Fact:
    category = seen["category"].strip().lower()
    said = text_of(_TAG.sub("", _shown(seen["text"]))) or text_of(seen["text"])
    said = " ".join(said.split())
    return Fact(
        external_id=f"{page.page_id[:120]}#{said}",
        content=about(page.title, said),
        kind=_KINDS.get(category, Kind.CLAIM),
        title=page.title,
        occurred_at=page.written_at,
        changed_at=page.written_at,
        tags=tuple(dict.fromkeys((*tags_of([category]), *_tags(seen["text"]), *page.tags)))[:20],
        entities=tuple(dict.fromkeys((page.title[:200], *_targets(seen["text"])))),
    )


def _relation(page: _Page, tied: re.Match[str]) -> Fact:
    link = f"[[{tied['target']}]]"
    target = _shown(link)
    verb = " ".join(tied["verb"].replace("_", " ").split())
    return Fact(
        external_id=f"{page.page_id[:120]}#{verb} {target}",
        content=f"{page.title} {verb} {target}",
        title=page.title,
        occurred_at=page.written_at,
        changed_at=page.written_at,
        tags=page.tags,
        entities=(page.title[:200], *_targets(link)),
    )


def _prose(page: _Page, prose: str) -> Note:
    return Note(
        external_id=page.page_id,
        text=_shown(prose),
        title=page.title,
        occurred_at=page.written_at,
        tags=tuple(dict.fromkeys((*page.tags, *_tags(prose))))[:20],
        entities=tuple(dict.fromkeys((page.title[:200], *_targets(prose))))[:20],
    )


def _shown(text: str) -> str:
    """Write wiki links as a reader sees them."""
    return _LINK.sub(lambda link: link["shown"] or link["target"].rpartition("/")[2], text)


def _targets(text: str) -> Iterator[str]:
    for link in _LINK.finditer(text):
        yield link["target"].partition("#")[0].rpartition("/")[2].strip() or link["target"]


def _tags(text: str) -> Iterator[str]:
    for found in _TAG.finditer(text):
        yield found["tag"]


def _split(text: str) -> tuple[Mapping[str, Any], str]:
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    return _front(found["front"]), text[found.end() :]


def _front(front: str) -> dict[str, Any]:
    """Read the keys of front matter; what is nested deeper than a list is passed over."""
    values: dict[str, Any] = {}
    key = ""
    for line in front.split("\n"):
        if (entry := _KEY.match(line)) and not line[:1].isspace():
            key = entry["key"].strip().lower()
            values[key] = _value(entry["value"] or "")
        elif key and (item := _ITEM.fullmatch(line)):
            held = values.get(key)
            values[key] = [*(held if isinstance(held, list) else []), _bare(item["item"])]
    return values


def _value(written: str) -> Any:
    text = written.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_bare(each) for each in text[1:-1].split(",")]
    return _bare(text)


def _bare(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
