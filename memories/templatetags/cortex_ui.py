"""The parts that the admin's pages are put together from. Each is a partial in `templates/admin/cortex/`."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memories.admin.charts import Chart, sparkline

register = template.Library()

_SPANS = ((86_400 * 365, "y"), (86_400 * 30, "mo"), (86_400, "d"), (3_600, "h"), (60, "min"))
CHIP_TONES = frozenset({"good", "warn", "bad", "info", "plain"})
_TONE_OF = {
    "current": "good",
    "approved": "good",
    "pending": "warn",
    "withheld": "warn",
    "conflict": "warn",
    "outbid": "warn",
    "instruction_like": "bad",
    "contradicts_user": "warn",
    "secret_masked": "warn",
    "expired": "bad",
    "redacted": "bad",
    "forgotten": "bad",
    "folded_into": "info",
    "complete": "good",
    "usable": "info",
    "weak": "warn",
    "empty": "bad",
    "full": "good",
    "summary": "info",
    "head": "warn",
}


@register.inclusion_tag("admin/cortex/chart.html")
def chart(picture: Chart, caption: str = "") -> dict[str, Any]:
    """Show a chart with its legend, and the same figures as a table that opens."""
    return {"chart": picture, "caption": caption}


@register.simple_tag
def spark(values: list[float], label: str) -> SafeString:
    return sparkline(values, label=label).svg


@register.simple_tag
def chip(word: object, tone: str = "") -> SafeString:
    """Show a word as a chip; its tone follows from the word where none is named."""
    chosen = tone if tone in CHIP_TONES else _TONE_OF.get(str(word), "plain")
    return format_html('<span class="cx-chip cx-chip-{}">{}</span>', chosen, word)


@register.inclusion_tag("admin/cortex/stat.html")
def stat(title: str, figure: object, says: str = "", url: str = "") -> dict[str, Any]:
    """Show one figure as a card."""
    return {"title": title, "figure": figure, "says": says, "url": url}


@register.filter
def age(moment: datetime | None, since: datetime | None = None) -> str:
    """Tell how long ago something was, in its largest unit: 3 d, 2 mo."""
    if moment is None:
        return ""
    return span_between(moment, since or timezone.now())


def span_between(earlier: datetime, later: datetime) -> str:
    seconds = (later - earlier).total_seconds()
    for size, unit in _SPANS:
        if abs(seconds) >= size:
            return f"{seconds / size:.0f} {unit}"
    return "now"


@register.filter
def density(value: float | None) -> str:
    """Show a worth per token; one far below the others by its power of ten."""
    if value is None:
        return "–"
    return str(value) if value == 0 or abs(value) >= 1e-4 else f"{value:.1e}"


@register.filter
def short_figure(value: float | None, digits: int = 3) -> str:
    """Show a number with few digits, and an unknown one as a dash."""
    return "–" if value is None else f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0"
