"""A heat map: things down, moments across, and how warm each was when."""

from collections.abc import Sequence
from typing import Final

from django.utils.safestring import SafeString

from memories.admin.charts.svg import Chart, element, picture, shortened

HEATS: Final = 5  # 0 is nothing
CELL: Final = 20
_GAP: Final = 3
_NAMES_WIDTH: Final = 430
_NAME_LENGTH: Final = 64
_HEAD: Final = 22


def heat_map(
    names: Sequence[str],
    moments: Sequence[str],
    cells: Sequence[Sequence[tuple[int, str]]],
    *,
    label: str,
    each: str,
    heats: Sequence[str],
) -> Chart:
    """Draw a grid.

    Args:
        cells: a row for each name, in it for each moment its heat, 0 to 4, and what that means in words.
        each: what a row stands for; heads the table's first column.
        heats: what the heats from 1 on stand for, for the legend.
    """
    step = CELL + _GAP
    beside = (
        max(len(moments), 1) * step + 8
    )  # names stand right of the cells, which a narrow screen shows first
    width = beside + _NAMES_WIDTH
    height = _HEAD + len(names) * step
    drawn: list[SafeString] = [
        element(
            "text",
            moment,
            x=place * step + CELL / 2,
            y=14,
            text_anchor="middle",
            class_="cx-words",
        )
        for place, moment in enumerate(moments)
    ]
    for row, (name, line) in enumerate(zip(names, cells, strict=True)):
        top = _HEAD + row * step
        drawn.append(
            element(
                "text",
                element("title", name),
                shortened(name, _NAME_LENGTH),
                x=beside,
                y=top + CELL - 6,
                class_="cx-words",
            )
        )
        for place, (heat, words) in enumerate(line):
            drawn.append(
                element(
                    "rect",
                    element("title", f"{moments[place]}: {words}"),
                    x=place * step,
                    y=top,
                    width=CELL,
                    height=CELL,
                    rx=3,
                    class_=f"cx-h{min(max(heat, 0), HEATS - 1)}",
                )
            )
    return Chart(
        svg=picture(*drawn, label=label, width=width, height=height, class_="cx-heat"),
        label=label,
        head=(each.capitalize(), *moments),
        rows=tuple(
            (shortened(name, 160), *(words for _, words in line))
            for name, line in zip(names, cells, strict=True)
        ),
        legend=tuple((f"heat-{heat}", words) for heat, words in enumerate(heats, start=1)),
        wide=True,
    )
