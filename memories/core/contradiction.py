"""What sets two similar texts apart, and when they cannot both hold.

`contradicts` flags a conflict, and a false alarm costs trust: so it wants the same subject, the same frame around it,
and one plain difference; when unsure it is silent. `distinguishing_marks` are what it looks at: numbers, dates, names
and negations.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import product
from typing import Final

from memories.core.dating import ORDINAL_DAY, dates_in, without_dates
from memories.core.entities import entity_key, spot_entities
from memories.core.exclusion import Reason, excludes, have_other_figures
from memories.core.polarity import ANYWHERE, NEGATIONS
from memories.core.slots import Row, read_row, says_the_same
from memories.core.text import DEFAULT_LANGUAGE, content_terms, normalise, sentences, terms, word_set

FRAME_OVERLAP: Final = 0.6  # Jaccard of what stands around a differing value
DENIAL_OVERLAP: Final = 0.8  # the same where the difference is a mere "not"
SENTENCES_COMPARED: Final = 12
LONGEST_SENTENCE_COMPARED: Final = 400
_LONGEST_COMPARED: Final = SENTENCES_COMPARED * LONGEST_SENTENCE_COMPARED
_LONGEST_CACHED: Final = 2_000

# -- Marks: numbers, dates, names, negations -----------------------------------------------------

_NUMBER_WORDS: Final = {
    word: str(number)
    for number, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
} | {"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90"}
_NUMBER: Final = re.compile(
    r"(?P<figure>\d+(?:[.,:]\d+)*)|(?P<han>[一二三四五六七八九十百千万両两〇零]+)"
    rf"|\b(?P<word>{'|'.join(_NUMBER_WORDS)})\b"
)
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_UNSPACED_NEGATIONS: Final = re.compile("[不没沒未無无非別别勿莫]|ない|なく|ません|않|없|아니|못|ไม่|อย่า")
_NO_NEGATION: Final = re.compile(
    r"\b(?:not (?:only|just)|no (?:doubt|problem|matter|later than|one)|why not|if not|or not)\b"
)
_WORD: Final = re.compile(r"[^\W_]+")
_FOREIGN_DIGIT: Final = re.compile(r"(?![0-9])\d")
_BY: Final = re.compile(r"\bby\b")

# These keep texts apart too, but two of them may well hold together: a shop opens, and it closes.
_FURTHER_POLES: Final = word_set(
    """open opens opened opening close closes closed closing before after above below more less fewer minimum maximum
    min max least most increase increased decrease decreased up down start starts started stop stops stopped add added
    remove removed include includes included exclude excludes excluded accept accepted reject rejected approve approved
    decline declined pass passed fail failed succeeded buy bought sell sold first last left right early late higher
    lower faster slower with without unless except"""
)
_POLES: Final = _FURTHER_POLES.union(*(left | right for left, right in ANYWHERE)) - {"never", "on"}
_SWITCHED_ON: Final = re.compile(r"\bon\s?(?:[.,;!)]|$)")  # elsewhere it is a preposition


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What two texts must have in common before anyone may call them the same claim."""

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    names: tuple[str, ...]
    negations: int
    poles: frozenset[str]


def distinguishing_marks(text: str) -> Marks:
    """Return the marks of a text; texts whose marks differ do not say the same."""
    return _read_marks(text) if len(text) > _LONGEST_CACHED else _MARKS_KNOWN.of(text)


class _KnownMarks:
    """Remembers marks by the digest of a text: what a process remembers must not outlive a forgotten text."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: dict[bytes, Marks] = {}
        self._changing = threading.Lock()

    def of(self, text: str) -> Marks:
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found = self._known.get(key)
        if found is None:
            found = _read_marks(text)
            with self._changing:
                while len(self._known) >= self._size:
                    del self._known[next(iter(self._known))]
                self._known[key] = found
        return found


def _read_marks(text: str) -> Marks:
    plain = _plain(text)
    words = _words_of(plain)
    return Marks(
        numbers=_numbers_in(plain),
        dates=dates_in(plain),
        names=names(text),
        negations=_count_negations(plain, words),
        poles=_POLES.intersection(words) | ({"on"} if _SWITCHED_ON.search(plain) else frozenset()),
    )


_MARKS_KNOWN: Final = _KnownMarks(size=16_384)


def numbers(text: str) -> tuple[str, ...]:
    """Return the numbers of a text that are no dates, in order, each once: `1,000` as 1000, `three` as 3."""
    return _numbers_in(_plain(text))


def dates(text: str) -> tuple[str, ...]:
    """Return the dates, weekdays and years that a text names, in order, each once."""
    return dates_in(_plain(text))


def names(text: str) -> tuple[str, ...]:
    """Return the keys of the names in a text, each once, who acts before who is acted on."""
    keys = tuple(dict.fromkeys(entity_key(name) for name in spot_entities(text, limit=None)))
    return keys[::-1] if len(keys) > 1 and _BY.search(text) else keys


def _plain(text: str) -> str:
    """Return the normal form with the digits of every script written as 0 to 9."""
    folded = normalise(text)
    if folded.isascii():
        return folded
    return _FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match.group())), folded)


def _numbers_in(plain: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_each_number(without_dates(plain))))


def _each_number(text: str) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        found = match.group()
        if match.lastgroup == "word":
            yield _NUMBER_WORDS[found]
        else:
            yield found.replace(",", "") if _GROUPED.fullmatch(found) else found


def _words_of(plain: str) -> list[str]:
    return _WORD.findall(plain.replace("'", "").replace("’", ""))


def _count_negations(plain: str, words: list[str]) -> int:
    idle = sum(
        len(NEGATIONS.intersection(_words_of(match.group()))) for match in _NO_NEGATION.finditer(plain)
    )
    unspaced = 0 if plain.isascii() else len(_UNSPACED_NEGATIONS.findall(plain))
    return sum(word in NEGATIONS for word in words) - idle + unspaced


# -- Contradictions ------------------------------------------------------------------------------

_LINK: Final = re.compile(
    r"\s*(?:[=:]|"
    r"\b(?:(?:is|are) (?:located|based|hosted|called|named|owned|led|married|set) ?(?:in|at|on|by|to)?"
    r"|is|are|equals?|costs?|takes?|has|have|lasts?|uses|needs?|requires?|allows?|weighs|measures"
    r"|lives in|works (?:at|for)|reports to|(?:must|should|has to|have to) be|defaults? to"
    r"|(?:listens?|runs?) on|(?:starts?|ends?|opens?|closes?|stays?|expires?) (?:at|in|on|after))\b)\s*"
)
_OPEN_ENDED: Final = re.compile(
    r"\b(?:at least|at most|up to|more than|less than|fewer than|over|under|between|about|around|or more|or less|from)\b"
)
_UNCERTAIN: Final = re.compile(
    r"\?\s*$|\b(?:if|unless|might|maybe|perhaps|could|would|(?:was|were)(?! born)|used to)\b"
)
_WITHOUT: Final = re.compile(r"\b(?:without|ohne|sans|sin|senza|sem)\b")
_NUMBERED_THING: Final = re.compile(
    r"(?:#|\b(?:ticket|issue|pr|bug|task|step|chapter|page|section|seat|order|invoice|id|sprint|phase|part))\s*\d"
)
_PRONOUN_FIRST: Final = re.compile(r"^(?:it|he|she|they|this|that|these|those|there)\b")


@dataclass(frozen=True, kw_only=True)
class _Statement:
    """One sentence, read as subject, link and predicate where it has them: each part when it is first asked for."""

    sentence: str
    plain: str
    language: str

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Content terms without numbers and negations, in order."""
        return tuple(_frame_terms(self.plain, self.language))

    @cached_property
    def distinct(self) -> frozenset[str]:
        return frozenset(self.terms)

    @cached_property
    def _parts(self) -> tuple[str, str, str]:
        found = _LINK.search(self.plain)
        if found is None:
            return self.plain, "", ""
        return self.plain[: found.start()], found.group().strip(), self.plain[found.end() :]

    @property
    def link(self) -> str:
        return self._parts[1]

    @property
    def predicate(self) -> str:
        return self._parts[2].strip(" .!")

    @cached_property
    def subject(self) -> frozenset[str]:
        return frozenset(_frame_terms(self._parts[0], self.language))

    @cached_property
    def predicate_terms(self) -> frozenset[str]:
        return frozenset(_frame_terms(self._parts[2], self.language))

    @cached_property
    def subject_numbers(self) -> tuple[str, ...]:
        return numbers(self._parts[0])

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The numbers of the predicate."""
        return numbers(self._parts[2])

    @cached_property
    def marks(self) -> Marks:
        return distinguishing_marks(self.sentence)

    @cached_property
    def row(self) -> Row:
        return read_row(self.sentence, self.plain, self.language)


def contradicts(
    a: str, b: str, *, language: str = DEFAULT_LANGUAGE, read: "ReadTexts | None" = None
) -> Reason | None:
    """Say why two texts cannot both hold, or None where they can, or where it is not certain.

    Args:
        read: remembers what it read of each text; whoever compares many pairs hands in one, of one language, and
            drops it afterwards.
    Returns: "number" where the same thing has another figure, "value" where it has another name or date,
        "negation" where one denies what the other says.
    """
    read = {} if read is None else read
    ours, theirs = (_known_statements(text[:_LONGEST_COMPARED], language, read) for text in (a, b))
    for left, right in product(ours, theirs):
        reason = _clash(left, right)
        if reason is not None:
            return reason
    return None


def _clash(a: _Statement, b: _Statement) -> Reason | None:
    if a.plain == b.plain or not _may_be_about_one(a, b) or says_the_same(a.row, b.row):
        return None
    reason = excludes(a.row, b.row)
    if reason is not None:
        is_idle = a.row.negations != b.row.negations and a.marks.negations == b.marks.negations
        return None if is_idle else reason
    if not _same_order(a, b):
        return None
    if _denies(a, b):
        return "negation"
    if not _same_frame(a, b):
        return None
    return "number" if _other_number(a, b) else None


def _may_be_about_one(a: _Statement, b: _Statement) -> bool:
    """Whether half of the shorter one's terms are the other's, too: quickly told, and never so of two subjects."""
    return 2 * len(a.distinct & b.distinct) >= min(len(a.distinct), len(b.distinct))


ReadTexts = dict[str, tuple[_Statement, ...]]


def _known_statements(text: str, language: str, read: ReadTexts) -> tuple[_Statement, ...]:
    if text not in read:
        read[text] = _statements(text, language)
    return read[text]


def _statements(text: str, language: str) -> tuple[_Statement, ...]:
    found = sentences(ORDINAL_DAY.sub(r"\g<day> ", text))[:SENTENCES_COMPARED]
    plains = [
        (sentence, _plain(sentence)) for sentence in found if len(sentence) <= LONGEST_SENTENCE_COMPARED
    ]
    return tuple(
        _Statement(sentence=sentence, plain=plain, language=language)
        for sentence, plain in plains
        if not _UNCERTAIN.search(plain) and not _PRONOUN_FIRST.match(plain)
    )


def _frame_terms(text: str, language: str) -> list[str]:
    """Return the content terms of a text without its dates, numbers and negations."""
    undated = without_dates(text)
    without = NEGATIONS | _NUMBER_WORDS.keys()
    kept = " ".join(
        word for word in undated.split() if word.strip(".,;!") not in without and "n't" not in word
    )
    return [
        term
        for term in content_terms(kept, language)
        if not any(c.isdecimal() for c in term) and term not in _AUXILIARIES
    ]


_AUXILIARIES: Final = frozenset(terms("do does did longer ever yet anymore currently now really actually"))


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def _same_order(a: _Statement, b: _Statement) -> bool:
    """Tell whether the common terms stand in one order: Ana pays Bob is not Bob pays Ana."""
    common = a.distinct & b.distinct
    return [t for t in dict.fromkeys(a.terms) if t in common] == [
        t for t in dict.fromkeys(b.terms) if t in common
    ]


def _denies(a: _Statement, b: _Statement) -> bool:
    if (a.numbers, a.subject_numbers, a.marks.dates) != (b.numbers, b.subject_numbers, b.marks.dates):
        return False
    if any(_WITHOUT.search(s.plain) for s in (a, b)):  # it denies a part, not the whole
        return False
    opposed = _opposed_words(a, b)
    negated_once = {a.marks.negations, b.marks.negations} == {0, 1}
    if negated_once == bool(opposed):  # neither denies, or "not allowed" against "forbidden"
        return False
    ours, theirs = a.distinct - opposed, b.distinct - opposed
    said = (ours & theirs) - frozenset(terms(" ".join(a.marks.names)))
    enough = len(said) + len(a.numbers) >= (1 if opposed else 2)
    return enough and _jaccard(ours, theirs) >= DENIAL_OVERLAP


def _opposed_words(a: _Statement, b: _Statement) -> frozenset[str]:
    """Return the terms by which one says the opposite of the other."""
    for left, right in ANYWHERE:
        for here, there in ((left, right), (right, left)):
            ours, theirs = a.marks.poles & here, b.marks.poles & there
            if ours and theirs and not a.marks.poles & there and not b.marks.poles & here:
                return frozenset(terms(" ".join(ours | theirs)))
    return frozenset()


def _same_frame(a: _Statement, b: _Statement) -> bool:
    """Tell whether both say something of one subject in one way."""
    return (
        bool(a.subject)
        and a.subject == b.subject
        and a.link == b.link
        and a.subject_numbers == b.subject_numbers
    )


def _other_number(a: _Statement, b: _Statement) -> bool:
    if (
        not a.numbers
        or len(a.numbers) != len(b.numbers)
        or a.numbers == b.numbers
        or a.marks.dates != b.marks.dates
        or not have_other_figures(a.row, b.row)
    ):
        return False
    if any(_OPEN_ENDED.search(s.predicate) or _NUMBERED_THING.search(s.predicate) for s in (a, b)):
        return False
    return _jaccard(a.predicate_terms, b.predicate_terms) >= FRAME_OVERLAP
