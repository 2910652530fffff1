"""The overview of a vault: how it grew, what it holds, what was served and what never, how healthy its indexes are, and
whether its probes pass. A fixed number of statements, but for probes, which are run only when asked for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from contextpack import figures
from contextpack.admin.probes import run_all
from contextpack.figures import Growth, Served
from contextpack.models import Probe
from cortex.adminsite import AdminPage
from memories.admin.charts import TONES, Chart, Column, Line, Part, columns, line_chart, stacked_bar
from memories.admin.evidence import excerpt_of, excerpts_of, memories_excerpted
from memories.admin.front import site
from memories.admin.linking import list_url
from memories.admin.scoping import chosen_vault
from memories.models import Conflict, Memory, Vault
from memories.querysets import MemoryQuerySet

NAME: Final = "overview"
RUN: Final = "run"
PLACES: Final = 27  # along the axis of time
MOST_SERVED: Final = 10
NEVER_SHOWN: Final = 10
PROBES_SHOWN: Final = 50


def overview(request: HttpRequest) -> HttpResponse:
    vault = chosen_vault(request)
    told = {} if vault is None else told_of(vault, now=timezone.now())
    if vault is not None and request.user.has_perm("contextpack.view_probe"):
        told |= _probes(vault, run=RUN in request.GET)
    context = {**site().each_context(request), "title": "Vault overview", "vault": vault, **told}
    return TemplateResponse(request, "admin/contextpack/overview.html", context)


def told_of(vault: Vault, *, now: datetime) -> dict[str, Any]:
    """Return all that the page shows but for the probes."""
    current = figures.current(vault.pk, now=now)
    growth = figures.growth(vault.pk, until=now.date(), places=PLACES)
    layers = figures.layers(current)
    served = figures.served(vault.pk)
    never = figures.never_served(current, served)
    saved = figures.tokens_saved(vault.pk)
    return {
        "total": growth.written[-1],
        "replaced": growth.replaced[-1],
        "current": sum(layers.values()),
        "conflicts": figures.open_conflicts(vault.pk),
        "conflicts_url": list_url(Conflict, vault.pk, state="open"),
        "memories_url": list_url(Memory, vault.pk),
        "growth": _growth(growth),
        "layers": _layers(layers),
        "ages": _ages(figures.ages(current, now=now)),
        "served": served,
        "most_served": _most_served(vault, served),
        "never_count": never.count(),
        "never": _never_served(never),
        "saved": f"{sum(spared for _, spared in saved):,}",
        "saved_chart": _saved(saved) if saved else None,
        "health": figures.health(vault.pk),
        "backup": figures.last_backup(now=now),
    }


def _growth(told: Growth) -> Chart:
    lines = (
        Line(name="written", values=tuple(map(float, told.written)), tone="blue"),
        Line(name="replaced since", values=tuple(map(float, told.replaced)), tone="amber"),
    )
    names = [f"{day:%d %b %y}" for day in told.days]
    return line_chart(lines, names, label="Memories over time", each="until")


def _layers(counts: Mapping[str, int]) -> Chart:
    parts = [
        Part(name=layer, value=count, tone=TONES[place % len(TONES)])
        for place, (layer, count) in enumerate(counts.items())
    ]
    return stacked_bar(parts, label="Current memories by layer", unit="memories")


def _ages(counts: Mapping[str, int]) -> Chart:
    bars = [
        Column(name=name, parts=(Part(name="memories", value=count, tone="blue"),))
        for name, count in counts.items()
    ]
    return columns(bars, label="Current memories by age", each="at most")


def _saved(rows: Sequence[tuple[datetime, int]]) -> Chart:
    """Draw what was spared in each month."""
    months: dict[str, int] = {}
    for moment, spared in rows:
        name = f"{moment:%b %y}"
        months[name] = months.get(name, 0) + spared
    bars = [
        Column(name=name.partition(" ")[0], parts=(Part(name="tokens saved", value=spared, tone="green"),))
        for name, spared in months.items()
    ]
    return columns(bars, label="Tokens that sessions saved, by month", each="month")


def _most_served(vault: Vault, told: Served) -> list[dict[str, Any]]:
    top = sorted(told.counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_SERVED]
    texts = excerpts_of(vault.pk, [ref for ref, _ in top])
    return [{"ref": ref, "count": count, "text": texts.get(ref, "(not here any more)")} for ref, count in top]


def _never_served(rows: MemoryQuerySet) -> list[dict[str, Any]]:
    oldest = memories_excerpted(rows)[:NEVER_SHOWN]
    return [{"ref": row.ref, "text": excerpt_of(row), "recorded_at": row.recorded_at} for row in oldest]


def _probes(vault: Vault, *, run: bool) -> dict[str, Any]:
    rows = Probe.objects.filter(vault_id=vault.pk).order_by("name", "pk")
    return {
        "shows_probes": True,
        "probes": list(rows[:PROBES_SHOWN]),
        "probes_url": list_url(Probe, vault.pk),
        "outcomes": run_all(vault, most=PROBES_SHOWN) if run else None,
    }


PAGE: Final = AdminPage(
    name=NAME,
    path="overview/",
    title="Vault overview",
    says="How the vault grows and ages, what is served and what never, its indexes, and whether its probes pass.",
    view=overview,
    permission="memories.view_memory",
)
