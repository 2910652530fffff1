"""Receipts: what was served to whom and why, and what speaks for and against each memory."""

from collections.abc import Sequence
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from contextpack.admin.receiptpage import told_of
from contextpack.core.profiles import PROFILES
from contextpack.models import Receipt
from memories.admin.actors import names_of
from memories.admin.scoping import VaultFilter, VaultScopedAdmin
from memories.models import Vault
from memories.templatetags.cortex_ui import chip

TASK_LENGTH: Final = 120


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
        "asked",
        "assembled",
        "asker",
        "session_id",
        "used",
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
        return super().get_queryset(request).defer("fates", "request", "pool")

    def load_companions(self, vault: Vault, rows: Sequence[Any]) -> None:
        names = names_of(vault.pk, (row.actor for row in rows))
        for row in rows:
            row.asker_name = names[row.actor]

    @admin.display(description="task")
    def asked(self, receipt: Receipt) -> str:
        task = " ".join(receipt.task.split())
        return f"{task[:TASK_LENGTH]}…" if len(task) > TASK_LENGTH else task

    @admin.display(description="when (UTC)", ordering="assembled_at")
    def assembled(self, receipt: Receipt) -> str:
        return f"{receipt.assembled_at:%Y-%m-%d %H:%M}"

    @admin.display(description="asked by")
    def asker(self, receipt: Any) -> str:
        return str(receipt.asker_name)

    @admin.display(description="budget")
    def used(self, receipt: Receipt) -> str:
        return f"{receipt.budget_used:,} / {receipt.budget_tokens:,}"

    @admin.display(description="coverage")
    def coverage_status(self, receipt: Receipt) -> SafeString:
        status = str(receipt.coverage.get("status", ""))
        return chip(status)

    def sections(self, request: HttpRequest, row: Receipt) -> dict[str, Any]:
        return told_of(row, request.GET, now=timezone.now())
