"""What each conversation holds, to look at: its known-set, its trajectory, its latest deltas."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from memories.access import operator_of
from memories.admin.charts import Part, stacked_bar
from memories.admin.evidence import excerpts_of
from memories.admin.front import counted, site
from memories.admin.scoping import VaultFilter, VaultScopedAdmin
from sessions.core.state import SessionState
from sessions.drawing import held_map, news_of_turns, savings_of_turns
from sessions.models import WorkingSession
from sessions.serializers import detail_of, mentioned_in
from sessions.standing import nameable
from sessions.stepping import remembered


@admin.register(WorkingSession)
class WorkingSessionAdmin(VaultScopedAdmin):
    key_field = "pk"
    change_form_template = "admin/memory_sessions/workingsession/change_form.html"
    list_display = (
        "session_id",
        "turn",
        "delta_cursor",
        "projects",
        "created_at",
        "updated_at",
    )
    list_filter = (VaultFilter, "updated_at")
    ordering = ("-updated_at", "-pk")
    search_fields = ("session_id",)
    fields = (
        "session_id",
        "vault",
        "projects",
        ("turn", "delta_cursor"),
        ("created_at", "updated_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkingSession]:
        return super().get_queryset(request).defer("state")

    def sections(self, request: HttpRequest, row: WorkingSession) -> dict[str, Any]:
        """As the API tells it: a memory that may not be named any more is left out, and counted."""
        state, records = SessionState.from_json(row.state), remembered(row)
        mentioned = mentioned_in(state, records)
        named = nameable(operator_of(row.vault), mentioned)
        told = detail_of(row, state, records, named)
        texts = excerpts_of(row.vault_id, sorted(named))
        held, undrawn = held_map(records, named=named, texts=texts)
        saved = savings_of_turns(records)
        return {
            "turns": news_of_turns(records),
            "held": held,
            "undrawn": undrawn,
            "saved": saved,
            "saved_sum": int(sum(saved)),
            "served_sum": sum(step.tokens for step in state.trajectory),
            "weights": _weights(told["centroid"]),
            "receipts_url": _receipts_url(row),
            "told": told,
            "known": [
                {"ref": ref, "turn": turn, "rung": told["rungs"][ref], "text": texts.get(ref, "")}
                for ref, turn in sorted(told["known"].items(), key=lambda pair: (-pair[1], pair[0]))
            ],
            "newest_deltas": told["deltas"][::-1],
            "unnamed": len(mentioned - named),
        }


def _weights(centroid: dict[str, float]) -> list[dict[str, Any]]:
    """Return the words of the trajectory, heaviest first, each with a bar on one scale."""
    heaviest = max(centroid.values(), default=0.0)
    return [
        {
            "term": term,
            "weight": weight,
            "bar": stacked_bar(
                [Part(name=term, value=weight, tone="blue")], label="Weight", unit="weight", total=heaviest
            ).svg,
        }
        for term, weight in centroid.items()
    ]


def _receipts_url(session: WorkingSession) -> str:
    """Return where the receipts of a conversation are listed; they belong to an app above this one."""
    query = urlencode({"vault": session.vault_id, "q": session.session_id})
    return f"{reverse('admin:contextpack_receipt_changelist')}?{query}"


site().add_card(
    "sessions", counted("Conversations", WorkingSession.objects.all(), says="and what each holds")
)
