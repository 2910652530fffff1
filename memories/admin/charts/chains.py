"""A line through time: which memory held a place when, and what followed it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.safestring import SafeString

from memories.admin.charts.svg import Chart, bounds, element, picture, shortened

WIDTH: Final = 820
ROW: Final = 46
_SIDE: Final = 14
_TOP: Final = 30
_CHARACTER: Final = 7.0  # about as wide as one is
_WORDS_FROM: Final = 0.5  # of the width: what begins further right has its words to its left


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """What held the place, from when until when, and what came after it."""

    key: str
    name: str
    began_at: datetime
    ended_at: datetime | None
    after: str | None  # the key of what replaced it
    tone: str
    href: str  # an address of our own
    note: str = ""


def succession(holders: Sequence[Holder], *, until: datetime, label: str) -> Chart:
    """Draw the holders one below the other on one scale of time, each tied to what followed it.

    Args:
        holders: oldest first.
        until: as far as that reaches which nothing followed.
    """
    ends = [holder.ended_at or until for holder in holders]
    least, greatest = bounds([m.timestamp() for m in (*(holder.began_at for holder in holders), *ends)])

    def across(moment: datetime) -> float:
        share = (moment.timestamp() - least) / (greatest - least)
        return _SIDE + share * (WIDTH - 2 * _SIDE)

    heights = {holder.key: _TOP + place * ROW + 28 for place, holder in enumerate(holders)}
    began = {holder.key: across(holder.began_at) for holder in holders}
    drawn = [*_axis(holders, ends)]
    drawn += [
        _tie(right=across(end), top=heights[holder.key], left=began[holder.after], foot=heights[holder.after])
        for holder, end in zip(holders, ends, strict=True)
        if holder.after in heights
    ]
    drawn += [
        _bar(holder, left=began[holder.key], right=across(end), middle=heights[holder.key])
        for holder, end in zip(holders, ends, strict=True)
    ]
    return Chart(
        svg=picture(
            *drawn,
            label=label,
            width=WIDTH,
            height=_TOP + len(holders) * ROW + 6,
            role="group",
            class_="cx-chain",
        ),
        label=label,
        wide=True,
    )


def _axis(holders: Sequence[Holder], ends: Sequence[datetime]) -> list[SafeString]:
    line = element("line", x1=_SIDE, y1=_TOP - 10, x2=WIDTH - _SIDE, y2=_TOP - 10, class_="cx-axis")
    if not holders:
        return [line]
    first, last = min(holder.began_at for holder in holders), max(ends)
    return [
        line,
        element("text", f"{first:%d %b %Y}", x=_SIDE, y=12, class_="cx-words"),
        element("text", f"{last:%d %b %Y}", x=WIDTH - _SIDE, y=12, text_anchor="end", class_="cx-words"),
    ]


def _tie(*, right: float, top: float, left: float, foot: float) -> SafeString:
    """From where one ends down to where its successor begins."""
    bend = (top + foot) / 2 if abs(foot - top) > ROW else top + 9
    path = f"M{right:.1f} {top:.1f}V{bend:.1f}H{left:.1f}V{foot:.1f}"
    return element("path", d=path, class_="cx-tie")


def _bar(holder: Holder, *, left: float, right: float, middle: float) -> SafeString:
    is_far = left > WIDTH * _WORDS_FROM
    room = WIDTH - 2 * _SIDE if is_far else WIDTH - _SIDE - left
    return element(
        "a",
        element("title", f"{holder.key}: {holder.name}. {holder.note}".strip()),
        element(
            "rect",
            x=left,
            y=middle - 4,
            width=max(right - left, 3.0),
            height=8,
            rx=4,
            class_=f"cx-t-{holder.tone}",
        ),
        element("circle", cx=left, cy=middle, r=7, class_=f"cx-t-{holder.tone}"),
        element(
            "text",
            shortened(holder.name, int(room / _CHARACTER)),
            x=WIDTH - _SIDE if is_far else left,
            y=middle - 12,
            text_anchor="end" if is_far else "start",
            class_="cx-words cx-on-lines",
        ),
        href=holder.href,
    )
