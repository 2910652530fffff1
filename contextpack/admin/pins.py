"""Pins by their metadata: which packs are kept, and since when. What they say is told by the API alone."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest

from contextpack.admin.receiptpage import GONE, texts_of
from contextpack.models import Pin
from memories.admin.filters import SetOrNot
from memories.admin.scoping import VaultFilter, VaultScopedAdmin


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
        texts = texts_of(row.vault, row.refs)
        return {"memories": [{"ref": ref, "text": texts.get(ref, GONE)} for ref in row.refs]}
