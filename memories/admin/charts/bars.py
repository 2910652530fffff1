"""Bars of several parts: one that lies, or a row of standing ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.safestring import SafeString

from memories.admin.charts.svg import Chart, element, picture

BAR_WIDTH: Final = 1_000
BAR_HEIGHT: Final = 28
_GAP: Final = 2.0

COLUMN_WIDTH: Final = 34
COLUMN_GAP: Final = 8
COLUMNS_HEIGHT: Final = 140
_FOOT: Final = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a bar: what it is, how much, in which tone."""

    name: str
    value: float
    tone: str


def stacked_bar(parts: Sequence[Part], *, label: str, unit: str, total: float | None = None) -> Chart:
    """Draw one bar that lies; it takes the width that there is.

    Args:
        total: what the whole width stands for; None: the parts together. Parts beyond it are scaled down.
    """
    shown = [part for part in parts if part.value > 0]
    sum_of_parts = sum(part.value for part in shown)
    whole = max(total or 0.0, sum_of_parts) or 1.0
    drawn: list[SafeString] = []
    left = 0.0
    for part in shown:
        width = part.value / whole * BAR_WIDTH
        drawn.append(
            element(
                "rect",
                element("title", f"{part.name}: {_counted(part.value)} {unit}"),
                x=left,
                y=0,
                width=max(width - _GAP, 0.5),
                height=BAR_HEIGHT,
                class_=f"cx-t-{part.tone}",
            )
        )
        left += width
    told = ", ".join(f"{part.name} {_counted(part.value)}" for part in shown)
    spoken = f"{label}: {told or 'nothing'}"
    return Chart(
        svg=picture(
            element("rect", x=0, y=0, width=BAR_WIDTH, height=BAR_HEIGHT, class_="cx-ground"),
            *drawn,
            label=spoken,
            width=BAR_WIDTH,
            height=BAR_HEIGHT,
            preserveAspectRatio="none",
            class_="cx-bar",
        ),
        label=spoken,
        head=("Part", unit.capitalize(), "Share"),
        rows=tuple((part.name, _counted(part.value), f"{part.value / whole:.0%}") for part in shown),
        legend=tuple((part.tone, f"{part.name} {_counted(part.value)}") for part in shown),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One standing bar: its name below it, its parts from the ground up."""

    name: str
    parts: tuple[Part, ...]
    href: str | None = None  # an address of our own


def columns(bars: Sequence[Column], *, label: str, each: str) -> Chart:
    """Draw standing bars side by side, on one scale.

    Args:
        each: what a bar stands for, e.g. "turn"; heads the table's first column.
    """
    tallest = max((sum(part.value for part in bar.parts) for bar in bars), default=0.0) or 1.0
    names = tuple(dict.fromkeys((part.name, part.tone) for bar in bars for part in bar.parts))
    width = max(len(bars) * (COLUMN_WIDTH + COLUMN_GAP), COLUMN_WIDTH)
    drawn = [
        _standing(bar, left=place * (COLUMN_WIDTH + COLUMN_GAP), scale=(COLUMNS_HEIGHT - _FOOT) / tallest)
        for place, bar in enumerate(bars)
    ]
    ground = COLUMNS_HEIGHT - _FOOT
    return Chart(
        svg=picture(
            *drawn,
            element("line", x1=0, y1=ground, x2=width, y2=ground, class_="cx-axis"),
            label=label,
            width=width,
            height=COLUMNS_HEIGHT,
            class_="cx-columns",
        ),
        label=label,
        head=(each.capitalize(), *(name for name, _ in names)),
        rows=tuple(
            (bar.name, *(_counted(sum(p.value for p in bar.parts if p.name == name)) for name, _ in names))
            for bar in bars
        ),
        legend=tuple((tone, name) for name, tone in names),
        wide=True,
    )


def _standing(bar: Column, *, left: float, scale: float) -> SafeString:
    top = float(COLUMNS_HEIGHT - _FOOT)
    parts: list[SafeString] = []
    for part in bar.parts:
        height = part.value * scale
        top -= height
        if part.value > 0:
            parts.append(
                element(
                    "rect",
                    element("title", f"{bar.name}, {part.name}: {_counted(part.value)}"),
                    x=left,
                    y=top,
                    width=COLUMN_WIDTH,
                    height=max(height - 1, 1.0),
                    class_=f"cx-t-{part.tone}",
                )
            )
    name = element(
        "text",
        bar.name,
        x=left + COLUMN_WIDTH / 2,
        y=COLUMNS_HEIGHT - 6,
        text_anchor="middle",
        class_="cx-words",
    )
    return element("g", *parts, name)


def _counted(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
