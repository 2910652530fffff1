"""Lines through figures: a chart with axes, and a spark beside a word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.safestring import SafeString

from memories.admin.charts.svg import Chart, bounds, element, figure, picture

CHART_WIDTH: Final = 680
CHART_HEIGHT: Final = 220
_LEFT: Final = 52
_TOP: Final = 10
_FOOT: Final = 26
_STEPS: Final = 4
_NAMES_SHOWN: Final = 8

SPARK_WIDTH: Final = 96
SPARK_HEIGHT: Final = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: a figure for each place on the axis; None where there is none."""

    name: str
    values: tuple[float | None, ...]
    tone: str


def line_chart(lines: Sequence[Line], places: Sequence[str], *, label: str, each: str) -> Chart:
    """Draw lines over one axis, from 0 up.

    Args:
        places: the names along the axis, one for each value of a line.
        each: what a place stands for; heads the table's first column.
    """
    known = [value for line in lines for value in line.values if value is not None]
    top = max([*known, 0.0]) or 1.0
    drawn = [*_grid(top), *_names(places)]
    for line in lines:
        points = [
            (_across(place, len(places)), _up(value, top))
            for place, value in enumerate(line.values)
            if value is not None
        ]
        drawn.append(
            element(
                "polyline",
                element("title", line.name),
                points=_joined(points),
                class_=f"cx-line cx-s-{line.tone}",
            )
        )
    return Chart(
        svg=picture(*drawn, label=label, width=CHART_WIDTH, height=CHART_HEIGHT, class_="cx-lines"),
        label=label,
        head=(each.capitalize(), *(line.name for line in lines)),
        rows=tuple(
            (
                name,
                *(
                    "" if line.values[place] is None else figure(float(line.values[place] or 0))
                    for line in lines
                ),
            )
            for place, name in enumerate(places)
        ),
        legend=tuple((line.tone, line.name) for line in lines),
        wide=True,
    )


def sparkline(values: Sequence[float], *, label: str) -> Chart:
    """Draw the course of a figure, small enough to stand beside it; its name tells the first and the last."""
    least, greatest = bounds([*values, 0.0])
    usable = SPARK_HEIGHT - 4
    points = [
        (
            2 + place * (SPARK_WIDTH - 4) / max(len(values) - 1, 1),
            2 + usable - (value - least) / (greatest - least) * usable,
        )
        for place, value in enumerate(values)
    ]
    spoken = f"{label}: from {figure(float(values[0]))} to {figure(float(values[-1]))}" if values else label
    return Chart(
        svg=picture(
            element("polyline", points=_joined(points), class_="cx-line cx-s-blue"),
            label=spoken,
            width=SPARK_WIDTH,
            height=SPARK_HEIGHT,
            class_="cx-spark",
        ),
        label=spoken,
    )


def _grid(top: float) -> list[SafeString]:
    drawn: list[SafeString] = []
    for step in range(_STEPS + 1):
        value = top * step / _STEPS
        y = _up(value, top)
        drawn.append(element("line", x1=_LEFT, y1=y, x2=CHART_WIDTH, y2=y, class_="cx-axis"))
        drawn.append(
            element("text", _rounded(value), x=_LEFT - 8, y=y + 4, text_anchor="end", class_="cx-words")
        )
    return drawn


def _names(places: Sequence[str]) -> list[SafeString]:
    every = max(1, -(-len(places) // _NAMES_SHOWN))
    return [
        element(
            "text",
            name,
            x=_across(place, len(places)),
            y=CHART_HEIGHT - 6,
            text_anchor="start" if place == 0 else "middle",
            class_="cx-words",
        )
        for place, name in enumerate(places)
        if place % every == 0 and place < len(places) - every / 2
    ]


def _across(place: int, count: int) -> float:
    return _LEFT + place * (CHART_WIDTH - _LEFT - 6) / max(count - 1, 1)


def _up(value: float, top: float) -> float:
    return _TOP + (1 - value / top) * (CHART_HEIGHT - _TOP - _FOOT)


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{figure(float(x))},{figure(float(y))}" for x, y in points)


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2f}"
