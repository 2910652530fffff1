"""When something happened or is due, as a day: read from a text, measured from when it was said, never guessed.

What may mean two days means none: a bare weekday, 04/05/2026, a day without a year and without a tense, two days in
one sentence. A month or a year stands for its first day.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final

from memories.core.dating import DATE_PATTERN, MONTHS, WEEKDAYS
from memories.core.days import day_after
from memories.core.text import normalise

_NUMBERS: Final = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
        start=1,
    )
} | {"a": 1}
_MONTH: Final = "|".join(MONTHS)
_WEEKDAYS: Final = WEEKDAYS | {day: day for day in WEEKDAYS.values()}
_WEEKDAY: Final = "|".join(_WEEKDAYS)
_WORDED: Final = (
    r"(?P<two_back>\b(?:the )?day before yesterday\b|\bvorgestern\b|\banteayer\b|\bavant-hier\b)"
    r"|(?P<one_back>\byesterday\b|\bgestern\b|\bayer\b|(?:^|[.!?;] )hier, )"
    r"|(?P<same>\btoday\b|\btonight\b|\bthis morning\b|\bheute\b|\baujourd.?hui\b)"
    r"|(?P<one_on>\btomorrow\b)"
    rf"|\b(?P<ago>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>day|week)s? ago\b"
    r"|\bvor (?P<ago_de>\d{1,3}|zwei|drei|vier) (?P<unit_de>tag|woche)e?n\b"
    rf"|\b(?P<which>last|next|this|letzten|letzte|nachsten|nachste) (?P<weekday_of>{_WEEKDAY})\b"
    r"|\b(?P<span>last|letzten|le mois|el mes) (?P<span_of>month|year|monat|dernier|pasado)\b"
    r"|(?P<cjk>(?P<cjk_year>\d{4})年(?P<cjk_month>\d{1,2})月(?:(?P<cjk_day>\d{1,2})日)?)"
    rf"|\b(?:in|im) (?P<month_alone>{_MONTH})\b(?! \d)"
)
_MENTION: Final = re.compile(f"{_WORDED}|{DATE_PATTERN}")
_GERMAN_NUMBERS: Final = {"zwei": 2, "drei": 3, "vier": 4}
_SINCE: Final = re.compile(r"\b(?:since|seit|depuis|desde)(?: [^\W\d]{1,10})?\s$")
_REPEATED: Final = re.compile(
    r"\b(?:every|each|jeden|jede|cada|chaque|weekly|monthly|daily)\b|days\b(?! ago)"
)
_PAST: Final = re.compile(
    r"\b(?:was|were|had|did|went|met|saw|came|got|made|took|gave|left|began|broke|built|bought|brought|fell|felt|found"
    r"|flew|grew|held|kept|lost|paid|ran|said|sent|sold|spent|spoke|stood|told|thought|won|wrote|drove|ate|chose|lit"
    r"|(?!need|feed|speed|exceed|indeed|hundred|shed|bed|red|seed|embed)[^\W\d]{2,}ed)\b"
)
_FUTURE: Final = re.compile(
    r"\b(?:will|shall|going to|due|deadline|planned|scheduled|until|upcoming|findet|plan to)\b"
)
_DUE: Final = re.compile(
    rf"\b(?:by|before|until|due(?: on| by)?|bis(?: zum)?|deadline:?)\s(?:(?:on|the|end of|eod)\s)?(?={_MENTION.pattern})"
)


_WEEK: Final = {
    name: number
    for number, name in enumerate(
        ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """A day that is named; None where it cannot be told which."""

    day: date | None
    is_weekday: bool = False
    number: int = 0  # of a bare weekday


def tells_of_a_day(text: str) -> bool:
    """Tell whether a text speaks of a day, a month or a year, and not of every such day, nor of all since then."""
    plain = normalise(text)
    if _REPEATED.search(plain):
        return False
    return any(
        not _SINCE.search(plain[max(0, found.start() - 24) : found.start()]) for found in _found(plain)
    )


def day_told(text: str, *, said_at: datetime | None) -> datetime | None:
    """Return the start of the one day that a text tells of, in UTC.

    Args:
        said_at: what "yesterday" is measured from; None: such days cannot be told.
    Returns: None where there is none, or more than one that it may be.
    """
    plain = normalise(text)
    mentions = [_read(found, plain, said_at) for found in _found(plain)]
    days = {mention.day for mention in mentions if not mention.is_weekday}
    if len(days) != 1 or None in days:
        return None
    (day,) = days
    fits = all(day and day.weekday() == mention.number for mention in mentions if mention.is_weekday)
    return _start(day) if day and fits else None


def day_due(text: str, *, said_at: datetime | None) -> date | None:
    """Return the day until which something is to be done, or on which, if it says so plainly."""
    plain = normalise(text)
    lead = _DUE.search(plain)
    found = _MENTION.match(plain, lead.end()) if lead else None
    if found is None:
        relative = [each for each in _found(plain) if each["one_on"] or each["same"]]
        return _read(relative[0], plain, said_at).day if len(relative) == 1 else None
    if found["weekday"]:
        return _next(found["weekday"], said_at)
    return _read(found, plain, said_at, ahead=True).day


def _found(plain: str) -> Iterator[re.Match[str]]:
    return _MENTION.finditer(plain)


def _start(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)


def _read(
    found: re.Match[str], plain: str, said_at: datetime | None, *, ahead: bool | None = None
) -> _Mention:
    part = found.groupdict()
    if part["weekday"]:
        return _Mention(day=None, is_weekday=True, number=_WEEK[part["weekday"]])
    if part["iso"] or part["cjk"]:
        figures = (
            ("iso_year", "iso_month", "iso_day") if part["iso"] else ("cjk_year", "cjk_month", "cjk_day")
        )
        year, month, day = (int(part[name] or 1) for name in figures)
        return _Mention(day=_day(year, month, day))
    if part["numeric"]:
        return _Mention(day=_numeric(part["numeric"]))
    if part["bare_year"]:
        is_in = found.group().startswith("in ")
        return _Mention(day=_day(int(part["bare_year"]), 1, 1) if is_in else None)
    name = part["month"] or part["month2"] or part["month3"] or part["month_alone"]
    if name:
        number, day = MONTHS[name], int(part["day"] or part["day2"] or 1)
        if year_named := part["year"] or part["year2"] or part["year3"]:
            return _Mention(day=_day(int(year_named), number, day))
        return _Mention(day=_without_year(number, day, plain, said_at, ahead=ahead))
    return _Mention(day=None if said_at is None else _relative(part, said_at.date()))


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _numeric(written: str) -> date | None:
    """Read 23/05/2026 or 3.5.2026; with strokes and two small numbers it may be either order."""
    first, second, year = (int(figure) for figure in re.split(r"[/.]", written))
    if year < 1000:
        return None
    if "." in written or first > 12 or first == second:
        return _day(year, second, first)
    return _day(year, first, second) if second > 12 else None


def _without_year(
    month: int, day: int, plain: str, said_at: datetime | None, *, ahead: bool | None
) -> date | None:
    """Return the day of the year that the tense tells."""
    if said_at is None:
        return None
    if ahead is None:
        is_past, is_future = bool(_PAST.search(plain)), bool(_FUTURE.search(plain))
        if is_past == is_future:
            return None
        ahead = is_future
    said, days = said_at.date(), [_day(said_at.year + years, month, day) for years in (-1, 0, 1)]
    known = [each for each in days if each]
    if ahead:
        return next((each for each in known if each >= said), None)
    return next((each for each in reversed(known) if each <= said), None)


def _relative(part: dict[str, str | None], said: date) -> date | None:
    for name, days in (("two_back", -2), ("one_back", -1), ("same", 0), ("one_on", 1)):
        if part[name]:
            return day_after(said, days)
    if part["relative"]:
        return day_after(said, {"yesterday": -1, "today": 0, "tomorrow": 1}[part["relative"]])
    if count := part["ago"] or part["ago_de"]:
        number = _NUMBERS.get(count) or _GERMAN_NUMBERS.get(count) or int(count)
        is_weeks = (part["unit"] or part["unit_de"]) in {"week", "woche"}
        return day_after(said, -number * (7 if is_weeks else 1))
    if part["which"]:
        return (
            _last(_WEEKDAYS[part["weekday_of"] or ""], said)
            if part["which"].startswith(("la", "le"))
            else None
        )
    if part["span"] and part["span_of"] == "year":
        return _day(said.year - 1, 1, 1)
    if part["span"]:
        before = day_after(said.replace(day=1), -1)
        return before and before.replace(day=1)
    return None


def _last(weekday: str, said: date) -> date | None:
    """Return the latest such day; where that was today or yesterday, a week earlier may be meant."""
    ago = (said.weekday() - _WEEK[weekday]) % 7
    return day_after(said, -ago) if ago > 1 else None


def _next(weekday: str, said_at: datetime | None) -> date | None:
    if said_at is None:
        return None
    on = (_WEEK[weekday] - said_at.weekday()) % 7
    return day_after(said_at.date(), on) if on else None
