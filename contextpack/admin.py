"""What was served to whom and why: receipts to read, and pins by their metadata."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest

from contextpack.books import why_not
from contextpack.core.profiles import PROFILES
from contextpack.models import Pin, Receipt
from cortex.errors import NotHere
from memories.access import operator_of
from memories.admin.evidence import excerpts_of
from memories.admin.filters import SetOrNot
from memories.admin.scoping import VaultFilter, VaultScopedAdmin
from memories.models import Vault
from memories.rows import in_chunks

TASK_LENGTH: Final = 120
ASKED: Final = "why_not"
GONE: Final = "(not here any more)"


class ProfileFilter(admin.SimpleListFilter):
    title = "profile"
    parameter_name = "profile"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in PROFILES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(profile=self.value()) if self.value() else queryset


@admin.register(Receipt)
class ReceiptAdmin(VaultScopedAdmin):
    change_form_template = "admin/contextpack/receipt/change_form.html"
    list_display = (
        "ref",
        "assembled_at",
        "asked",
        "actor",
        "session_id",
        "profile",
        "used",
        "item_count",
        "coverage_status",
    )
    list_filter = (VaultFilter, ProfileFilter, "assembled_at")
    ordering = ("-assembled_at", "-pk")
    search_fields = ("=ref", "task", "=session_id", "actor")
    fields = (
        "ref",
        "vault",
        ("actor", "projects"),
        "session_id",
        "assembled_at",
        "request",
        ("profile", "budget_tokens", "budget_used"),
        "coverage",
        "pack_digest",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Receipt]:
        return super().get_queryset(request).defer("fates", "request")

    @admin.display(description="task")
    def asked(self, receipt: Receipt) -> str:
        task = " ".join(receipt.task.split())
        return f"{task[:TASK_LENGTH]}…" if len(task) > TASK_LENGTH else task

    @admin.display(description="budget")
    def used(self, receipt: Receipt) -> str:
        return f"{receipt.budget_used} of {receipt.budget_tokens}"

    @admin.display(description="items")
    def item_count(self, receipt: Receipt) -> int:
        return len(receipt.items)

    @admin.display(description="coverage")
    def coverage_status(self, receipt: Receipt) -> str:
        return str(receipt.coverage.get("status", ""))

    def sections(self, request: HttpRequest, row: Receipt) -> dict[str, Any]:
        texts = _texts_of(row.vault, sorted(set(_refs_in(row))))
        return {
            "items": [{**item, "text": texts.get(item["ref"], GONE)} for item in row.items],
            "fates": [{**fate, "text": texts.get(fate["ref"], GONE)} for fate in row.fates],
            "asked": ASKED,
            "asked_about": request.GET.get(ASKED, "").strip(),
            "answer": _explain(row, request.GET.get(ASKED, "").strip()),
        }


def _refs_in(receipt: Receipt) -> Iterator[str]:
    for line in (*receipt.items, *receipt.fates):
        yield line["ref"]


def _texts_of(vault: Vault, refs: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for chunk in in_chunks(refs):
        texts |= excerpts_of(vault.pk, chunk)
    return texts


def _explain(receipt: Receipt, ref: str) -> dict[str, Any] | None:
    """Answer why a memory is not in the pack, as the API does; `unknown` for one that is not this vault's."""
    if not ref:
        return None
    try:
        told = why_not(operator_of(receipt.vault), receipt, ref)
    except NotHere:
        return {"reason": "unknown", "figures": {}}
    figures = {name: value for name, value in told.items() if name not in {"receipt", "ref", "reason"}}
    return {"reason": told["reason"], "figures": figures}


# -- Pins ----------------------------------------------------------------------------------------


class WithdrawnFilter(SetOrNot):
    title = "state"
    parameter_name = "state"
    column = "withdrawn_at"
    words = ("kept", "withdrawn")


@admin.register(Pin)
class PinAdmin(VaultScopedAdmin):
    """Which packs are kept, of what, and since when; what they say is told by the API alone."""

    key_field = "pk"  # one content address may be kept for several scopes
    change_form_template = "admin/contextpack/pin/change_form.html"
    list_display = ("ref", "projects", "content_type", "size", "memory_count", "created_at", "withdrawn_at")
    list_filter = (VaultFilter, WithdrawnFilter, "created_at")
    ordering = ("-created_at", "-pk")
    search_fields = ("=ref", "=digest")
    fields = ("ref", "vault", "projects", "digest", "content_type", ("created_at", "withdrawn_at"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pin]:
        pins: QuerySet[Pin] = super().get_queryset(request).defer("body").annotate(bytes=Length("body"))
        return pins

    @admin.display(description="bytes")
    def size(self, pin: Any) -> int:
        return int(pin.bytes)

    @admin.display(description="memories")
    def memory_count(self, pin: Pin) -> int:
        return len(pin.refs)

    def sections(self, request: HttpRequest, row: Pin) -> dict[str, Any]:
        texts = _texts_of(row.vault, row.refs)
        return {"memories": [{"ref": ref, "text": texts.get(ref, GONE)} for ref in row.refs]}
