"""Who let which client into a vault. The library's own pages are taken down: they show rows as they are stored."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, DeviceGrant, Grant, IDToken, RefreshToken

from memories.admin.deciding import back, decide
from memories.admin.scoping import VaultFilter, VaultScopedAdmin
from memories.models import Vault
from oauth.models import Consent, client_name, live_families

for _model in (AccessToken, Application, DeviceGrant, Grant, IDToken, RefreshToken):
    with suppress(NotRegistered):
        admin.site.unregister(_model)


@admin.register(Consent)
class ConsentAdmin(VaultScopedAdmin):
    """Look, and revoke; nothing else of a consent can change."""

    key_field = "pk"
    actions = ("revoke",)
    list_display = ("named", "client_id", "person", "scopes", "created_at", "last_used_at", "standing")
    list_filter = (VaultFilter,)
    list_select_related = ("client", "person")
    search_fields = ("client__name", "client__client_id", "person__username")
    ordering = ("-created_at", "pk")
    fields = (
        "vault",
        "named",
        "client_id",
        "person",
        "scopes",
        "resource",
        "created_at",
        "last_used_at",
        "standing",
    )

    def load_companions(self, vault: Vault, rows: Sequence[Any]) -> None:
        live = live_families(row.family for row in rows if row.family is not None)
        for row in rows:
            row.lives = row.family in live

    def is_open_to(self, decision: str, row: Consent) -> bool:
        return row.revoked_at is None

    @admin.display(description="client")
    def named(self, row: Consent) -> str:
        return client_name(row.client)

    @admin.display(description="client id")
    def client_id(self, row: Consent) -> str:
        return str(row.client.client_id)

    @admin.display(description="standing")
    def standing(self, row: Any) -> str:
        if row.revoked_at is not None:
            return f"revoked {row.revoked_at:%Y-%m-%d %H:%M}"
        if row.family is None:
            return "not redeemed"
        lives = row.lives if hasattr(row, "lives") else row.family in live_families([row.family])
        return "connected" if lives else "ended"

    @admin.action(description="Revoke", permissions=["decide"])
    def revoke(self, request: HttpRequest, consents: QuerySet[Consent]) -> HttpResponse | None:
        now = timezone.now()
        still_open = consents.filter(revoked_at__isnull=True)
        decided = decide(self, request, still_open, lambda _, consent: consent.revoke(at=now), did="revoked")
        return back(self, request, decided.done)
