"""Elements of SVG as escaped text, and the value that every chart is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

TONES: Final = ("blue", "amber", "green", "violet", "rose", "olive", "teal", "brown")

Attribute = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture, what it is called by a reader who does not see it, and the same figures as a table."""

    svg: SafeString
    label: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    legend: tuple[tuple[str, str], ...] = ()  # (tone, what it stands for)
    wide: bool = False  # has its own width, and scrolls sideways where there is less room


def element(name: str, *children: str, **attributes: Attribute) -> SafeString:
    """Return one element of SVG.

    Args:
        name: as it is written in this code; never stored text.
        children: texts, which are escaped, and elements, which are not.
        attributes: `class_` is `class`, other underscores are hyphens; None leaves one out.
    """
    told = format_html_join(
        "",
        ' {}="{}"',
        (
            (key.rstrip("_").replace("_", "-"), figure(value))
            for key, value in attributes.items()
            if value is not None
        ),
    )
    inner = format_html_join("", "{}", ((child,) for child in children))
    return format_html("<{}{}>{}</{}>", name, told, inner, name)


def picture(
    *children: str, label: str, width: float, height: float, role: str = "img", **attributes: Attribute
) -> SafeString:
    """Return a whole picture under a name for those who do not see it.

    Args:
        role: "group" where there are links in it, which an "img" hides.
    """
    return element(
        "svg",
        element("title", label),
        *children,
        viewBox=f"0 0 {figure(width)} {figure(height)}",
        width=width,
        height=height,
        role=role,
        aria_label=label,
        **attributes,
    )


def figure(value: str | float) -> str:
    """Return a number as short as two decimals allow; text as it is."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def tone_at(place: int) -> str:
    """Return the tone of the n-th of several things; they begin anew after the last."""
    return TONES[place % len(TONES)]


def shortened(text: str, length: int) -> str:
    """Return a text on one line, cut where it is longer."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def bounds(values: Sequence[float]) -> tuple[float, float]:
    """Return the least and the greatest, apart where all are equal; 0 and 1 for none."""
    if not values:
        return 0.0, 1.0
    least, greatest = min(values), max(values)
    return (least, greatest) if greatest > least else (least, least + 1.0)
