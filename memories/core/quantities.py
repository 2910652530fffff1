"""Figures as they are compared: with their unit, in one scale, and times of day on one clock.

`1.5 km` and `1500 m` are one length, `10 ms` and `10 s` are two spans; `2 pm` is `14:00`. What cannot be
converted, such as euros into dollars, has a scale of its own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

_SCALES: Final[Mapping[str, Mapping[str, str]]] = {
    # dimension: how much of the base unit one of these is
    "length": {
        "mm millimeter millimeters millimetre millimetres": "0.001",
        "cm centimeter centimeters centimetre centimetres": "0.01",
        "m meter meters metre metres metro metros": "1",
        "km kilometer kilometers kilometre kilometres kilometros": "1000",
        "mile miles meile meilen mi": "1609.344",
        "ft foot feet": "0.3048",
        "inch inches": "0.0254",
        "yard yards yd": "0.9144",
    },
    "time": {
        "ns nanosecond nanoseconds": "0.000000001",
        "µs us microsecond microseconds": "0.000001",
        "ms millisecond milliseconds": "0.001",
        "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos": "1",
        "min mins minute minutes minuten minuto minutos": "60",
        "h hr hrs hour hours stunde stunden heure heures hora horas": "3600",
        "day days tag tage tagen jour jours dia dias": "86400",
        "week weeks woche wochen semaine semaines semana semanas": "604800",
    },
    "months": {
        "month months monat monate monaten mois mes meses": "1",
        "year years yr yrs jahr jahre jahren an ans annees ano anos": "12",
    },
    "mass": {
        "µg mcg microgram micrograms": "0.000001",
        "mg milligram milligrams milligramm": "0.001",
        "g gram grams gramm gramme grammes gramo gramos": "1",
        "kg kilo kilos kilogram kilograms kilogramm": "1000",
        "lb lbs": "453.592",
        "oz ounce ounces": "28.3495",
    },
    "volume": {
        "ml milliliter milliliters millilitre millilitres": "0.001",
        "cl": "0.01",
        "dl": "0.1",
        "l liter liters litre litres litro litros": "1",
        "gallon gallons": "3.785412",
    },
    "data": {
        "byte bytes": "1",
        "kb kib kilobyte kilobytes": "1024",
        "mb mib megabyte megabytes": "1048576",
        "gb gib gigabyte gigabytes": "1073741824",
        "tb tib terabyte terabytes": "1099511627776",
    },
    "speed": {"km/h kph": "1", "mph": "1.609344"},
    "power": {"watt watts": "1", "kw kilowatt kilowatts": "1000"},
    "energy": {"kwh": "1"},
    "share": {"% percent prozent": "1"},
    "celsius": {"°c degrees degree grad celsius": "1"},
    "fahrenheit": {"°f fahrenheit": "1"},
    "euros": {"€ eur euro euros": "1", "cents cent": "0.01"},
    "dollars": {"$ usd dollar dollars": "1"},
    "sterling": {"£ gbp pound pounds": "1"},
    "francs": {"chf francs franken": "1"},
    "yen": {"¥ yen jpy": "1"},
}
_UNITS: Final = {
    name: (dimension, Decimal(scale))
    for dimension, scales in _SCALES.items()
    for names, scale in scales.items()
    for name in names.split()
}
# Different scales of these measure one thing: what is 900 euros is not 900 dollars.
_ALIKE: Final = {
    "dollars": "money",
    "euros": "money",
    "sterling": "money",
    "francs": "money",
    "yen": "money",
    "celsius": "heat",
    "fahrenheit": "heat",
}
_MAGNITUDES: Final = {
    name: Decimal(10) ** power
    for names, power in (
        ("k thousand tausend mil", 3),
        ("m million millions mio millionen millones", 6),
        ("bn billion", 9),
    )
    for name in names.split()
}
_SIGNS: Final = "€$£¥"
_FIGURE: Final = r"\d{1,18}(?:[.,]\d{1,18}){0,6}"


def _one_of(names: Mapping[str, object]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


CLOCK: Final = (
    r"(?P<hour>(?:[01]?\d|2[0-3]))(?:(?:[:h](?P<minute>[0-5]\d))(?![\d:])\s?(?P<noon>[ap]\.?m\b)?|\s?(?P<noon2>[ap]\.?m)\b"
    r"|\s?(?P<full>uhr|o'clock)\b)"
)
QUANTITY: Final = (
    rf"(?P<sign>[{_SIGNS}])?\s?(?P<figure>{_FIGURE})"
    rf"(?:\s?(?P<times>k|mio|bn)\b|\s(?P<times2>{_one_of({n: 1 for n in _MAGNITUDES if len(n) > 2})})\b)?"
    rf"(?:[\s-]?(?P<unit>{_one_of(_UNITS)})(?![\w]))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A figure in the base unit of its dimension; a bare count has none."""

    amount: Decimal
    dimension: str | None
    figure: Decimal  # as written, before the unit's scale

    def measures_the_same(self, other: "Quantity") -> bool:
        """Whether the two can be held against one another."""
        return self.dimension == other.dimension

    def differs_in_unit_only(self, other: "Quantity") -> bool:
        """Whether the same figure stands before two units of one kind of thing."""
        kinds = [_ALIKE.get(str(each.dimension), each.dimension) for each in (self, other)]
        return self.figure == other.figure and self.dimension != other.dimension and kinds[0] == kinds[1]


def read_quantity(match: re.Match[str], *, decimal_comma: bool) -> Quantity | None:
    """Return what a match of `QUANTITY` measures; None for what is no figure, such as a version `1.2.3`."""
    written = _decimal(match["figure"], decimal_comma=decimal_comma)
    if written is None:
        return None
    figure = written * _MAGNITUDES.get(match["times"] or match["times2"] or "", Decimal(1))
    name = match["unit"] or match["sign"]
    dimension, scale = _UNITS[name] if name else (None, Decimal(1))
    return Quantity(amount=figure * scale, dimension=dimension, figure=figure)


def unit_dimension(word: str) -> str | None:
    """Return what a unit measures: `hour` a time; None for other words."""
    return _UNITS[word][0] if word in _UNITS else None


def read_clock(match: re.Match[str]) -> str:
    """Return the time of a match of `CLOCK` as HH:MM; unmarked before noon (`5:30`) it stays as said."""
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    noon = match["noon"] or match["noon2"]
    if noon:
        hour = hour % 12 + (12 if noon.startswith("p") else 0)
    return f"{hour:02}:{minute:02}"


def may_be_one_time(a: str, b: str) -> bool:
    """Whether two times of day may be one: 5:30 in the afternoon is 17:30."""
    (hour, minute), (other, more) = ([int(part) for part in each.split(":")] for each in (a, b))
    return minute == more and (hour - other) % 12 == 0


def _decimal(figure: str, *, decimal_comma: bool) -> Decimal | None:
    point, comma = (",", ".") if decimal_comma else (".", ",")
    if figure.count(point) > 1:
        point, comma = comma, point
    grouped = re.fullmatch(rf"\d{{1,3}}(?:{re.escape(comma)}\d{{3}})+(?:{re.escape(point)}\d+)?", figure)
    if grouped:
        figure = figure.replace(comma, "")
    elif comma in figure:
        if point in figure or figure.count(comma) > 1:
            return None
        point = comma  # a lone 1,5 is no thousand
    try:
        return Decimal(figure.replace(point, "."))
    except InvalidOperation:
        return None
