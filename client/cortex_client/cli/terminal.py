"""How text reaches a terminal or a pipe: nothing that a memory says can move the cursor, colour or reorder anything."""

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self, TextIO

NARROWEST: Final = 24
WIDEST: Final = 100  # longer lines read badly, however wide the window is

_JOINERS: Final = "\u200c\u200d"  # scripts and emoji need them
_PICTURES: Final = 0x2400  # where the pictures of the control characters begin: ␀ ␁ ␂ …
_DELETE: Final = 0x7F
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# In JSON these are as they are in the text unless they are escaped: C1, what hides or reorders, and line separators.
_RAW_IN_JSON: Final = re.compile(
    r"[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_STYLES: Final = {"strong": "1", "faint": "2", "good": "32", "warn": "33", "bad": "31", "name": "36"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Where output goes: how wide it is, and whether it shows colours."""

    width: int = 80
    colours: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Self:
        shown = stream.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        columns = shutil.get_terminal_size().columns
        return cls(width=max(NARROWEST, min(columns, WIDEST)), colours=shown and not plain)

    def styled(self, style: str, text: str) -> str:
        """Return text in a style; it must be `plain` already."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colours and text else text

    def paragraph(self, text: str, *, indent: str = "  ") -> str:
        """Return a memory's text, made plain and broken into lines that fit, each one indented."""
        lines = (
            line for part in text.splitlines() for line in _broken(plain(part), self.width - len(indent))
        )
        return "".join(f"{indent}{line}\n" for line in lines)


def plain(text: str) -> str:
    """Return text on one line without anything that a terminal obeys.

    Control characters become their pictures (␛), white space becomes spaces, and what is invisible or reorders text
    goes.
    """
    return "".join(_shown(character) for character in text)


def columns_of(text: str) -> int:
    """Return how many columns a plain text takes: wide characters two, combining ones none."""
    return sum(_columns(character) for character in text)


def as_json(data: Any) -> str:
    """Return one line of JSON in which every character that a terminal obeys is escaped."""
    text = json.dumps(data, ensure_ascii=False)
    return _RAW_IN_JSON.sub(lambda found: json.dumps(found.group())[1:-1], text) + "\n"


def speak_utf8(*streams: TextIO) -> None:
    """Let no character that a locale lacks, nor half a surrogate, end a command."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def warn(text: str) -> None:
    """Say something about the command itself, beside its output."""
    sys.stderr.write(f"cortex: {plain(text)}\n")


def _shown(character: str) -> str:
    if character in "\t\n\v\f\r\x85\u2028\u2029":
        return " "
    if unicodedata.category(character) not in _UNSEEN or character in _JOINERS:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(_PICTURES + code)
    return "␡" if code == _DELETE else ""


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _broken(line: str, room: int) -> Iterator[str]:
    """Break a line between words, and within a word that is longer than a line."""
    begun = ""
    for word in line.split():
        joined = f"{begun} {word}" if begun else word
        if columns_of(joined) <= room:
            begun = joined
            continue
        if begun:
            yield begun
        *full, begun = _pieces(word, room)
        yield from full
    if begun:
        yield begun


def _pieces(word: str, room: int) -> Iterator[str]:
    piece, taken = "", 0
    for character in word:
        needed = _columns(character)
        if taken + needed > room:
            yield piece
            piece, taken = "", 0
        piece, taken = piece + character, taken + needed
    yield piece
