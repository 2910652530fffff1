"""What a proposed text changes in another one, word by word. Pure and bounded, however long or alike the texts are."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final

COMPARED_WORDS: Final = (
    200  # between a common beginning and a common end; what is longer is replaced as a whole
)
_UNSPACED: Final = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3005-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
)
_PIECE: Final = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\w)+|\s+|.", re.DOTALL)
"""A word, a character of a script without spaces, white space, or any other character."""


class Op(StrEnum):
    EQUAL = "equal"
    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A stretch of text that both have, or that only the old (delete) or the new one (insert) has."""

    op: Op
    text: str


def diff(old: str, new: str) -> list[Change]:
    """Tell how one text becomes another.

    Returns: stretches in order, no two neighbours of one kind. What is equal or deleted adds up to the old text, what
        is equal or inserted to the new one.
    """
    ours, theirs = _PIECE.findall(old), _PIECE.findall(new)
    start = _shared(ours, theirs)
    end = _shared(ours[start:][::-1], theirs[start:][::-1])
    middle = _compared(ours[start : len(ours) - end], theirs[start : len(theirs) - end])
    pieces = [(Op.EQUAL, ours[:start]), *middle, (Op.EQUAL, ours[len(ours) - end :])]
    return list(_joined(pieces))


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return how many pieces two texts begin with in common."""
    count = 0
    for mine, yours in zip(ours, theirs, strict=False):
        if mine != yours:
            break
        count += 1
    return count


def _compared(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[Op, Sequence[str]]]:
    if max(len(ours), len(theirs)) > 2 * COMPARED_WORDS:  # words and what stands between them
        yield Op.DELETE, ours
        yield Op.INSERT, theirs
        return
    for tag, a, b, c, d in SequenceMatcher(a=ours, b=theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            yield Op.EQUAL, ours[a:b]
        else:
            yield Op.DELETE, ours[a:b]
            yield Op.INSERT, theirs[c:d]


def _joined(pieces: Sequence[tuple[Op, Sequence[str]]]) -> Iterator[Change]:
    """Join neighbours of one kind; what is nothing is left out."""
    op, text = Op.EQUAL, ""
    for kind, words in pieces:
        if not words:
            continue
        if kind is not op and text:
            yield Change(op=op, text=text)
            text = ""
        op, text = kind, text + "".join(words)
    if text:
        yield Change(op=op, text=text)
