"""Where a memory was served: to which tokens, in which conversations, when. A part of its page in the admin.

Receipts tell it, the latest so many of them; as many statements for a memory that was served often as for one that
never was.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.contrib import admin
from django.db.models import TextField, Value
from django.db.models.functions import Cast, StrIndex
from django.http import HttpRequest

from contextpack.models import Receipt
from memories.access import scope_digest
from memories.admin.actors import names_of
from memories.admin.beside import Section
from memories.admin.charts import Chart, Column, Part, columns, tone_at
from memories.admin.linking import row_url
from memories.models import Memory
from sessions.models import WorkingSession

LOOKED_THROUGH: Final = 2_000
SHOWN: Final = 15
MONTHS: Final = 12
TOKENS_DRAWN: Final = 6
_OTHERS: Final = "others"


def served_section(request: HttpRequest, memory: Memory) -> Section | None:
    if not admin.site._registry[Receipt].has_view_permission(request):
        return None
    return Section(template="admin/contextpack/servings.html", told=servings_of(memory))


def servings_of(memory: Memory) -> dict[str, Any]:
    """Tell where a memory was served; four statements."""
    vault_id = memory.vault_id
    receipts = _receipts_with(vault_id, memory.ref)
    names = names_of(vault_id, [row["actor"] for row in receipts])
    shown = receipts[:SHOWN]
    items = dict(
        Receipt.objects.filter(vault_id=vault_id, pk__in=[row["pk"] for row in shown]).values_list(
            "pk", "items"
        )
    )
    sessions = _sessions_of(vault_id, shown)
    return {
        "count": len(receipts),
        "looked_through": LOOKED_THROUGH,
        "tokens": len({row["actor"] for row in receipts}),
        "sessions": len({(row["session_id"], _scope(row)) for row in receipts if row["session_id"]}),
        "first_at": receipts[-1]["assembled_at"] if receipts else None,
        "last_at": receipts[0]["assembled_at"] if receipts else None,
        "drawn": _by_month(receipts, names),
        "rows": [
            {
                **row,
                "who": names[row["actor"]],
                "url": row_url(Receipt, vault_id, row["ref"]),
                "session_url": sessions.get((row["session_id"], _scope(row))),
                **_form(items.get(row["pk"], []), memory.ref),
            }
            for row in shown
        ],
    }


def _receipts_with(vault_id: str, ref: str) -> list[dict[str, Any]]:
    """Return the receipts among the latest that name a memory in their pack, latest first."""
    latest = Receipt.objects.filter(vault_id=vault_id).order_by("-assembled_at", "-pk")
    named = StrIndex(Cast("items", TextField()), Value(json.dumps(ref)))
    rows = Receipt.objects.filter(vault_id=vault_id, pk__in=latest.values("pk")[:LOOKED_THROUGH])
    found = rows.annotate(place=named).filter(place__gt=0).order_by("-assembled_at", "-pk")
    told = found.values("pk", "ref", "actor", "projects", "session_id", "assembled_at", "task")
    return [dict(row) for row in told]


def _sessions_of(vault_id: str, receipts: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Return the addresses of the conversations that are still here, by their name and scope."""
    named = {row["session_id"] for row in receipts if row["session_id"]}
    rows = WorkingSession.objects.filter(vault_id=vault_id, session_id__in=named)
    return {
        (name, scope): row_url(WorkingSession, vault_id, pk)
        for pk, name, scope in rows.values_list("pk", "session_id", "scope")
    }


def _scope(row: Mapping[str, Any]) -> str:
    return scope_digest(row["projects"])


def _form(items: Sequence[Mapping[str, Any]], ref: str) -> dict[str, Any]:
    """Tell how a pack held a memory: itself, in which form, or folded under another."""
    for item in items:
        if item["ref"] == ref:
            return {"rung": item["rung"], "relevance": item["relevance"], "under": None}
        if ref in item.get("folded_refs", ()):
            return {"rung": "folded_into", "relevance": item["relevance"], "under": item["ref"]}
    return {"rung": None, "relevance": None, "under": None}


def _by_month(receipts: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Chart | None:
    """Draw how often it was served in each of the latest months, by token; None where that is one month or none."""
    months = _months([row["assembled_at"] for row in receipts])
    if len(months) < 2:
        return None
    often = [who for who, _ in Counter(names[row["actor"]] for row in receipts).most_common(TOKENS_DRAWN)]
    counts = Counter(
        (
            f"{row['assembled_at']:%Y-%m}",
            names[row["actor"]] if names[row["actor"]] in often else _OTHERS,
        )
        for row in receipts
    )
    tones = {who: tone_at(place) for place, who in enumerate(often)} | {_OTHERS: "grey"}
    bars = [
        Column(
            name=f"{month:%b}",
            parts=tuple(
                Part(name=who, value=count, tone=tone)
                for who, tone in tones.items()
                if (count := counts[f"{month:%Y-%m}", who])
            ),
        )
        for month in months
    ]
    return columns(bars, label="Packs that held it, by month and token", each="month")


def _months(moments: Sequence[datetime]) -> list[datetime]:
    """Return the first days of the months from the first to the last moment, the latest so many of them."""
    if not moments:
        return []
    last, first = max(moments), min(moments)
    count = (last.year - first.year) * 12 + last.month - first.month
    ordinals = range(last.year * 12 + last.month - 1 - min(count, MONTHS - 1), last.year * 12 + last.month)
    return [datetime(ordinal // 12, ordinal % 12 + 1, 1, tzinfo=last.tzinfo) for ordinal in ordinals]
