"""A line through time with what happened on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.safestring import SafeString

from memories.admin.charts.svg import Chart, bounds, element, picture, shortened

WIDTH: Final = 760
ROW: Final = 34
_LEFT: Final = 12
_RIGHT: Final = 12
_TOP: Final = 26
_NAME_LENGTH: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that held from a moment on, perhaps until another."""

    name: str
    began_at: datetime
    ended_at: datetime | None = None
    tone: str = "blue"
    note: str = ""


def timeline(moments: Sequence[Moment], *, until: datetime, label: str) -> Chart:
    """Draw when each of several things held, one below the other, on one scale of time.

    Args:
        until: where the line ends; what has not ended reaches as far.
    """
    ends = [moment.ended_at or until for moment in moments]
    least, greatest = bounds([m.timestamp() for m in (*(moment.began_at for moment in moments), *ends)])

    def across(moment: datetime) -> float:
        share = (moment.timestamp() - least) / (greatest - least)
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    height = _TOP + len(moments) * ROW + 4
    drawn: list[SafeString] = [
        element("line", x1=_LEFT, y1=_TOP - 8, x2=WIDTH - _RIGHT, y2=_TOP - 8, class_="cx-axis"),
    ]
    if moments:
        first, last = min(moment.began_at for moment in moments), max(ends)
        drawn.append(element("text", f"{first:%d %b %Y}", x=_LEFT, y=12, class_="cx-words"))
        drawn.append(
            element("text", f"{last:%d %b %Y}", x=WIDTH - _RIGHT, y=12, text_anchor="end", class_="cx-words")
        )
    for place, moment in enumerate(moments):
        drawn.append(
            _bar(moment, left=across(moment.began_at), right=across(ends[place]), top=_TOP + place * ROW)
        )
    return Chart(
        svg=picture(*drawn, label=label, width=WIDTH, height=height, class_="cx-time"),
        label=label,
        head=("What", "From", "Until", "Note"),
        rows=tuple(
            (
                shortened(moment.name, 160),
                f"{moment.began_at:%Y-%m-%d %H:%M}",
                f"{moment.ended_at:%Y-%m-%d %H:%M}" if moment.ended_at else "",
                moment.note,
            )
            for moment in moments
        ),
        wide=True,
    )


def _bar(moment: Moment, *, left: float, right: float, top: float) -> SafeString:
    on_the_right = left > WIDTH * 0.55  # the words stand where there is room for them
    return element(
        "g",
        element("title", f"{moment.name}. {moment.note}".strip()),
        element(
            "rect",
            x=left,
            y=top + 16,
            width=max(right - left, 3.0),
            height=8,
            rx=4,
            class_=f"cx-t-{moment.tone}",
        ),
        element("circle", cx=left, cy=top + 20, r=6, class_=f"cx-t-{moment.tone}"),
        element(
            "text",
            shortened(moment.name, _NAME_LENGTH),
            x=max(right, left + 3) if on_the_right else left,
            y=top + 10,
            text_anchor="end" if on_the_right else "start",
            class_="cx-words",
        ),
    )
