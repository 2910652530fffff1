"""Where one text stands within another, however it was wrapped, spaced, cased or accented there.

Both are read as words and single characters: a word of a spaced script is found whole or not at all, a script
without spaces is found anywhere, and white space only separates. Every function is linear in its input.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from memories.core.text import INVISIBLE, MARKS, normalise

# Scripts that set no space between words; Hangul does.
_UNSPACED: Final = (
    "\u0e01-\u0e3a\u0e40-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3005-\u3007\u3031-\u3035\u3041-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_PIECE: Final = re.compile(
    f"[{_UNSPACED}][{MARKS}{INVISIBLE}\uff9e\uff9f]*"
    f"|(?:(?![{_UNSPACED}])[\\w{MARKS}{INVISIBLE}])+"
    r"|\S"
)
_ASCII_PIECE: Final = re.compile(
    r"\w+|[^\s\x1c-\x1f]", re.ASCII
)  # four separators that only Unicode calls white
_EDGE: Final = "\0"  # no text that is stored has it


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A text's pieces in their normal form, and where each stands in the text."""

    pieces: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """Many passages, to be looked for at once: a text is read once, and compared with those alone whose longest piece
    it has."""

    by_piece: Mapping[str, tuple[tuple[str, str], ...]]  # longest piece → form and passage

    @classmethod
    def of(cls, passages: Iterable[str]) -> "Passages":
        found: dict[str, list[tuple[str, str]]] = {}
        for passage in dict.fromkeys(passages):
            if pieces := _read(passage).pieces:
                found.setdefault(max(pieces, key=len), []).append((_form(pieces), passage))
        return cls(by_piece={piece: tuple(some) for piece, some in found.items()})

    def quoted_in(self, *texts: str) -> list[str]:
        """Return the passages that any of the texts holds, each once."""
        return list(dict.fromkeys(passage for text in texts for passage in self._held(text)))

    def _held(self, text: str) -> Iterator[str]:
        pieces = _read(text).pieces
        form = _form(pieces)
        for piece in dict.fromkeys(pieces):
            for sought, passage in self.by_piece.get(piece, ()):
                if sought in form:
                    yield passage


def telling_word(passage: str) -> str | None:
    """Return a word that every plain (ASCII) text which holds a passage has, up to its case.

    Returns: None where no plain text can hold it.
    """
    pieces = _read(passage).pieces
    return max(pieces, key=len) if pieces and all(piece.isascii() for piece in pieces) else None


def quotes(text: str, passage: str) -> bool:
    """Tell whether a text holds a passage."""
    sought = _read(passage).pieces
    return bool(sought) and _form(sought) in _form(_read(text).pieces)


def cut(text: str, passages: Iterable[str], *, mark: str) -> str:
    """Replace each occurrence of each passage in a text by a mark; occurrences that overlap get one."""
    read = _read(text)
    form = _form(read.pieces)
    starts = list(accumulate((len(piece) + 1 for piece in read.pieces), initial=0))
    found = [
        (read.spans[first][0], read.spans[last - 1][1])
        for sought in {_read(passage).pieces for passage in passages}
        for first, last in _occurrences(form, starts, sought)
    ]
    return mark.join(_outside(text, sorted(found)))


def _read(text: str) -> _Read:
    if text.isascii():
        matches = list(_ASCII_PIECE.finditer(text))
        return _Read(
            pieces=tuple(match.group().casefold() for match in matches),
            spans=tuple(match.span() for match in matches),
        )
    known: dict[str, list[str]] = {}
    read: list[tuple[str, tuple[int, int]]] = []
    for match in _PIECE.finditer(text):
        raw = match.group()
        if raw not in known:
            known[raw] = _PIECE.findall(normalise(raw))  # one character may stand for several: … and ½
        read += ((piece, match.span()) for piece in known[raw])
    return _Read(pieces=tuple(piece for piece, _ in read), spans=tuple(span for _, span in read))


def _form(pieces: Sequence[str]) -> str:
    return _EDGE + "".join(piece + _EDGE for piece in pieces)


def _occurrences(form: str, starts: Sequence[int], sought: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield from which piece to which the sought ones stand; those that follow do not overlap."""
    if not sought:
        return
    wanted = _form(sought)
    for match in re.finditer(re.escape(wanted[:-1]) + f"(?={_EDGE})", form):
        first = bisect_left(starts, match.start())
        yield first, first + len(sought)


def _outside(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield what stands before, between and behind spans, which are sorted."""
    end = 0
    for index, (start, stop) in enumerate(spans):
        if index == 0 or start >= end:
            yield text[end:start]
        end = max(end, stop)
    yield text[end:]
