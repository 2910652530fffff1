"""What hangs on a thing, and what else hangs on that: three columns and the lines between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.safestring import SafeString

from memories.admin.charts.svg import Chart, element, picture, shortened, tone_at

WIDTH: Final = 840
ROW: Final = 32
_TOP: Final = 12
_COLUMNS: Final = (4.0, 180.0, 410.0)
_LENGTHS: Final = (16, 22, 58)  # characters that fit
_CHARACTER: Final = 7.0  # about as wide as one is


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One thing, and the address of our own that it leads to."""

    name: str
    href: str | None = None


def one_hop(
    centre: Node,
    near: Sequence[Node],
    far: Sequence[Node],
    ties: Sequence[tuple[int, int]],
    *,
    label: str,
    head: tuple[str, str],
) -> Chart:
    """Draw what is near a centre, and what else that leads to.

    Args:
        ties: places in `near` and in `far` that belong together.
        head: what stands near, and what far; heads the table.
    """
    height = _TOP * 2 + max(len(near), len(far), 1) * ROW
    ends = {0: _heights(1, height), 1: _heights(len(near), height), 2: _heights(len(far), height)}
    starts = [_COLUMNS[column] + 8 for column in range(3)]
    out = _behind(centre, 0)
    drawn = [
        _line(out, ends[0][0], starts[1], ends[1][place], tone=tone_at(place)) for place in range(len(near))
    ]
    drawn += [
        _line(_behind(near[left], 1), ends[1][left], starts[2], ends[2][right], tone=tone_at(left))
        for left, right in ties
    ]
    drawn.append(_node(centre, column=0, middle=ends[0][0], tone="grey"))
    drawn += [
        _node(node, column=1, middle=ends[1][place], tone=tone_at(place)) for place, node in enumerate(near)
    ]
    drawn += [_node(node, column=2, middle=ends[2][place], tone="grey") for place, node in enumerate(far)]
    return Chart(
        svg=picture(*drawn, label=label, width=WIDTH, height=height, role="group", class_="cx-graph"),
        label=label,
        head=head,
        rows=tuple(
            (node.name, "; ".join(shortened(far[right].name, 90) for left, right in ties if left == place))
            for place, node in enumerate(near)
        ),
        wide=True,
    )


def _heights(count: int, height: float) -> list[float]:
    """Spread so many over a height."""
    step = height / max(count, 1)
    return [step * (place + 0.5) for place in range(count)]


def _behind(node: Node, column: int) -> float:
    """Return where a node's words end, as far as one can tell without a font."""
    return _COLUMNS[column] + 24 + _CHARACTER * len(shortened(node.name, _LENGTHS[column]))


def _line(x1: float, y1: float, x2: float, y2: float, *, tone: str) -> SafeString:
    bend = (x2 - x1) / 2
    path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    return element("path", d=path, class_=f"cx-edge cx-s-{tone}")


def _node(node: Node, *, column: int, middle: float, tone: str) -> SafeString:
    x = _COLUMNS[column]
    told = (
        element("title", node.name),
        element("circle", cx=x + 8, cy=middle, r=6, class_=f"cx-t-{tone}"),
        element(
            "text",
            shortened(node.name, _LENGTHS[column]),
            x=x + 20,
            y=middle + 4,
            class_="cx-words cx-on-lines",
        ),
    )
    return element("g", *told) if node.href is None else element("a", *told, href=node.href)
