"""What a task asks for beside its words: whom it names, which days it speaks of, whether it asks when.

Rules, not a model: what they do not see costs nothing, what they see wrongly only moves ranks.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Final

from memories.core.days import day_after, end_of_month
from memories.core.entities import entity_key
from memories.core.text import DEFAULT_LANGUAGE, word_set
from memories.core.traits import AMBIGUOUS, MONTHS

TELLING_DAYS: Final = 14  # people tell afterwards: so long after a day something may still be about it
TELLING_FADES: Final = 20.0  # and so much less likely for each day
MONTH_TELLING_DAYS: Final = 10
MONTH_TELLING_SHARE: Final = 0.4
_DATES_LIMIT: Final = 8
READ_OF_A_TASK: Final = 16_000  # characters, once composed: twice what the longest task in letters has
_TASK_LIMIT: Final = 4_000  # characters that are read for dates and names

_WHEN: Final = re.compile(
    r"(?<![^\W_])(?:when|how long|(?:what|which) (?:date|day|month|year|time)|since when|wann|wie lange|seit wann"
    r"|an welchem tag|quand|depuis quand|cu[aá]ndo|quando|wanneer)(?![^\W_])",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"(?<!\d)(\d{4})-(\d{2})(?:-(\d{2}))?(?!\d)")
_DOTTED: Final = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})?(?!\d)")
_WORD: Final = re.compile(r"[^\W_]+")
_NUMBER: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|º|ª)?")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_BETWEEN: Final = word_set("of de del the")
_NAME: Final = re.compile(r"[^\W\d_][\w’'-]*")
_POSSESSIVE: Final = re.compile(r"['’]s?$")
_SENTENCE_END: Final = re.compile(r"[.?!:\n]\s*$")
_LOOKED_BACK: Final = 40
_NOUNS_HAVE_CAPITALS: Final = word_set("german")
# An article, a number word or an inflected adjective: it stands before a thing rather than a name.
_LEADS_A_NOUN: Final = re.compile(
    r"(?:(?<![^\W_])(?:das|was|im|am|vom|zum|zur|beim|ins|ans|[mdsk]?ein|viel|welch)|[a-zäöüß](?:e|en|er|es|em)|\d)[ \n]$"
)
# What a question or a sentence begins with is no name because of its capital.
_OPENERS: Final = word_set(
    """what when where who whom whose which how why did does do is are was were has have had can could would will
    should in on at for by after before during from the a an i i'm i've i'd i'll"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySpan:
    """Days that a task speaks of, both included; without a year they are meant in every year."""

    first: date
    last: date
    has_year: bool = True

    @property
    def is_month(self) -> bool:
        return (self.last - self.first).days > 7

    def closeness(self, day: date) -> float:
        """Return 1 for a day of the span or the one before it, and less for those shortly after it."""
        first, last = (self.first, self.last) if self.has_year else self._in_year_of(day)
        late = (day - last).days
        if late <= 0:
            return float((first - day).days <= (0 if self.is_month else 1))
        if self.is_month:
            return MONTH_TELLING_SHARE if late <= MONTH_TELLING_DAYS else 0.0
        return 1.0 - late / TELLING_FADES if late <= TELLING_DAYS else 0.0

    def _in_year_of(self, day: date) -> tuple[date, date]:
        """Return the span in the year in which it lies behind the given day, or holds it."""
        spans = [
            (_in_year(self.first, day.year - ago), _in_year(self.last, day.year - ago)) for ago in (0, 1)
        ]
        return spans[0] if (spans[0][0] - day).days <= 1 else spans[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A task as retrieval reads it."""

    text: str  # without the names of those who speak in the vault; the whole task where nothing else is left
    speakers: frozenset[str] = frozenset()  # keys of those of them whom it names
    spans: tuple[DaySpan, ...] = ()
    asks_when: bool = False
    date_words: frozenset[str] = frozenset()  # in lower case: the words that its dates consist of
    names: frozenset[str] = frozenset()  # in lower case: words inside a sentence that begin with a capital
    sure_names: frozenset[str] = frozenset()  # those of them that are surely no thing


def read_question(
    task: str, *, speakers: Collection[str], today: date, language: str = DEFAULT_LANGUAGE
) -> Question:
    """Read a task.

    Args:
        speakers: the names of those who speak in the vault, as they are written there.
        today: what "yesterday" is measured from.
        language: of the vault; where every noun has a capital, fewer words are sure to be names.
    """
    lowered = task.casefold()  # few of those who speak are named: only for them a pattern is worth making
    named = {
        name: _word_pattern(name) for name in speakers if name.casefold() in lowered and entity_key(name)
    }
    spoken = {name: pattern for name, pattern in named.items() if pattern.search(task)}
    spans = spans_in(task[:_TASK_LIMIT], today=today)
    rest = task
    for pattern in spoken.values():
        rest = pattern.sub(" ", rest)
    return Question(
        text=rest if _WORD.search(rest) else task,
        speakers=frozenset(entity_key(name) for name in spoken),
        spans=spans,
        date_words=frozenset(_date_words(task[:_TASK_LIMIT])) if spans else frozenset(),
        asks_when=bool(_WHEN.search(task)),
        names=frozenset(bare_name(word) for word, _ in _capitalised(task[:_TASK_LIMIT])),
        sure_names=frozenset(_sure_names(task[:_TASK_LIMIT], language)),
    )


def _word_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_]){re.escape(name)}(?:['’]s?)?(?![^\W_])", re.IGNORECASE)


def bare_name(word: str) -> str:
    """Return a word in lower case and without a possessive ending: as `Question.names` has it."""
    return _POSSESSIVE.sub("", word).casefold()


def _sure_names(task: str, language: str) -> Iterator[str]:
    for word, before in _capitalised(task):
        if language not in _NOUNS_HAVE_CAPITALS or not _LEADS_A_NOUN.search(before):
            yield bare_name(word)


def _capitalised(task: str) -> Iterator[tuple[str, str]]:
    """Yield (word, what stands right before it) for the words that have a capital inside a sentence."""
    for found in _NAME.finditer(task):
        word, before = found.group(), task[max(0, found.start() - _LOOKED_BACK) : found.start()]
        opens = not before.strip() or _SENTENCE_END.search(before[-4:])
        if word[:1].isupper() and not opens and word.casefold() not in _OPENERS:
            yield word, before


# -- Dates ---------------------------------------------------------------------------------------


def spans_in(text: str, *, today: date) -> tuple[DaySpan, ...]:
    """Find the dates in a text: ISO, "3 May 2023", "May 3rd", "3. Mai", "May 2023", "in May", "yesterday", "last week".

    Returns: at most eight, in no particular order.
    """
    found = [*_written_in_digits(text), *_named_months(text), *_relative(text, today)]
    return tuple(dict.fromkeys(found))[:_DATES_LIMIT]


def _written_in_digits(text: str) -> Iterator[DaySpan]:
    for year, month, day in _ISO.findall(text):
        yield from _span(int(year), int(month), int(day) if day else None)
    for day, month, year in _DOTTED.findall(text):
        yield from _span(int(year) if year else None, int(month), int(day))


def _named_months(text: str) -> Iterator[DaySpan]:
    words = [word for word in _WORD.findall(text) if word.casefold() not in _BETWEEN]
    for place, word in enumerate(words):
        month = MONTHS.get(word.casefold())
        if month is None:
            continue
        before = words[place - 1] if place else ""
        after = words[place + 1 : place + 3]
        day = _day_in(before) or (_day_in(after[0]) if after else None)
        years = [
            int(w) for w in after[: 2 if day and after and _day_in(after[0]) else 1] if _YEAR.fullmatch(w)
        ]
        year = years[0] if years else None
        if day or year or word.casefold() not in AMBIGUOUS or (word[:1].isupper() and place):
            yield from _span(year, month, day)


def _date_words(text: str) -> Iterator[str]:
    """Yield the words of a text that dates are made of: months, years, days, "week"."""
    for word in _WORD.findall(text.casefold()):
        if word in _TIME_UNITS or word in MONTHS or _YEAR.fullmatch(word) or _day_in(word):
            yield word


def _day_in(word: str) -> int | None:
    found = _NUMBER.fullmatch(word.casefold())
    return int(found[1]) if found and 1 <= int(found[1]) <= 31 else None


def _span(year: int | None, month: int, day: int | None) -> Iterator[DaySpan]:
    """Yield the span, if there is such a day."""
    known = year if year is not None else 2024  # a leap year: every day of a year has a place in it
    try:
        first = date(known, month, day or 1)
    except ValueError:
        return
    last = first if day else end_of_month(first)
    yield DaySpan(first=first, last=last, has_year=year is not None)


def _in_year(day: date, year: int) -> date:
    try:
        return day.replace(year=max(1, year))
    except ValueError:  # 29 February
        return day.replace(year=max(1, year), day=28)


_TODAY: Final = {
    "today": 0,
    "heute": 0,
    "hoy": 0,
    "oggi": 0,
    "yesterday": 1,
    "gestern": 1,
    "hier": 1,
    "ayer": 1,
    "ieri": 1,
}
_LAST: Final = word_set("last past previous letzte letzten letzter vorige vorigen")
_THIS: Final = word_set("this diese dieser diesen")
_TIME_UNITS: Final = word_set("week month day woche monat tag last this yesterday today gestern heute")
_PERIODS: Final = {"week": 7, "woche": 7, "month": 30, "monat": 30}


def _relative(text: str, today: date) -> Iterator[DaySpan]:
    words = [word.casefold() for word in _WORD.findall(text)]
    for word in words:
        if word in _TODAY:
            yield from _between(today, -_TODAY[word], -_TODAY[word])
    for before, word in pairwise(words):
        days = _PERIODS.get(word)
        if days is None:
            continue
        if before in _THIS:
            yield from _between(today, -days, 0)
        elif before in _LAST:
            yield from _between(today, -2 * days, -(days // 7))


def _between(today: date, first: int, last: int) -> Iterator[DaySpan]:
    """Yield the days from so many after today to so many after it, as far as there are such days."""
    begins, ends = day_after(today, first), day_after(today, last)
    if ends is not None:
        yield DaySpan(first=begins or date.min, last=ends)
