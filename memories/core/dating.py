"""The dates that a text names: days, months, weekdays, years, each as one comparable key. Pure text, no calendar."""

import re
from typing import Final

_MONTH_NAMES: Final = (
    "january jan januar janvier enero",
    "february feb februar fevrier febrero",
    "march mar marz mars marzo",
    "april apr avril abril",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug aout agosto",
    "september sept sep septembre septiembre",
    "october oct oktober octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember decembre diciembre",
)
MONTHS: Final = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
WEEKDAYS: Final = {
    name: day
    for day, names in (
        ("monday", "montag lundi lunes"),
        ("tuesday", "dienstag mardi martes"),
        ("wednesday", "mittwoch mercredi miercoles"),
        ("thursday", "donnerstag jeudi jueves"),
        ("friday", "freitag vendredi viernes"),
        ("saturday", "samstag sonnabend samedi sabado"),
        ("sunday", "sonntag dimanche domingo"),
    )
    for name in names.split()
}
_MONTH: Final = "|".join(MONTHS)
DATE_PATTERN: Final = (
    r"(?P<iso>\b(?P<iso_year>\d{4})[-/.](?P<iso_month>\d{1,2})[-/.](?P<iso_day>\d{1,2})(?!\d))"
    rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? (?P<month>{_MONTH})\b\.?(?:,?(?: de)? (?P<year>\d{{4}})\b)?"
    rf"|\b(?P<month2>{_MONTH})\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year2>\d{{4}})\b)?"
    rf"|\b(?P<month3>{_MONTH}) (?P<year3>\d{{4}})\b"
    r"|\b(?P<numeric>\d{1,2}[/.]\d{1,2}[/.]\d{2,4})\b(?!\.\d)"
    r"|\b(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b"
    r"|\b(?P<relative>today|tomorrow|yesterday)\b"
    r"|\b(?:in|since|until|by|before|after|during|from) (?P<bare_year>(?:19|20)\d\d)\b"
)
# "am 3. Mai": the point ends no sentence.
ORDINAL_DAY: Final = re.compile(
    r"\b(?P<day>\d{1,2})\.\s(?=(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b)"
)
_DATE: Final = re.compile(DATE_PATTERN)
_DATE_HINT: Final = re.compile(r"\d|day|tomorrow")  # cheap, and in every date


def dates_in(plain: str) -> tuple[str, ...]:
    """Return the keys of the dates in a normalised text, in order, each once."""
    if not _DATE_HINT.search(plain):
        return ()
    return tuple(dict.fromkeys(date_key(match) for match in _DATE.finditer(plain)))


def without_dates(plain: str) -> str:
    """Return a normalised text with a blank in the place of each date."""
    return _DATE.sub(" ", plain) if _DATE_HINT.search(plain) else plain


def date_key(match: re.Match[str]) -> str:
    """Return what a match of `DATE_PATTERN` is compared by: 2024-05-03, -----05-03 without a year, monday."""
    part = match.groupdict()
    if part["iso"]:
        return f"{part['iso_year']}-{int(part['iso_month']):02}-{int(part['iso_day']):02}"
    month = part["month"] or part["month2"] or part["month3"]
    if month:
        year = part["year"] or part["year2"] or part["year3"] or "----"
        day = part["day"] or part["day2"]
        return f"{year}-{MONTHS[month]:02}-{int(day):02}" if day else f"{year}-{MONTHS[month]:02}"
    return str(part["numeric"] or part["weekday"] or part["relative"] or part["bare_year"])
