"""What the front page of the admin counts of the chosen vault; one statement for each card."""

from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils import timezone

from cortex.adminsite import Card, CardFor, CortexAdminSite
from memories.admin.linking import list_url
from memories.admin.scoping import chosen_vault
from memories.core.kinds import Status
from memories.models import AccessToken, Capture, Conflict, Memory
from memories.search.backlog import count_waiting


def site() -> CortexAdminSite:
    """Return the admin's site, to which apps add their pages and cards."""
    found: Any = admin.site
    return found  # type: ignore[no-any-return] # Django's own is lazy; settings.py names ours


def counted(
    title: str, rows: models.QuerySet[Any], *, says: str = "", waits: bool = False, **narrowed_by: Any
) -> CardFor:
    """Return a card that counts rows of the chosen vault, for those who may look at their list.

    Args:
        rows: of all vaults; the card narrows them to one.
        narrowed_by: the parameters with which the list shows the same rows.
    """
    model = rows.model

    def look(request: HttpRequest) -> Card | None:
        vault = chosen_vault(request)
        if vault is None or not admin.site._registry[model].has_view_permission(request):
            return None
        return Card(
            title=title,
            figure=rows.filter(vault_id=vault.pk).count(),
            url=list_url(model, vault.pk, **narrowed_by),
            says=says,
            waits=waits,
        )

    return look


def _without_vector(request: HttpRequest) -> Card | None:
    vault = chosen_vault(request)
    if vault is None or not admin.site._registry[Memory].has_view_permission(request):
        return None
    return Card(
        title="Wait for a vector",
        figure=count_waiting(vault.pk),
        url=list_url(Memory, vault.pk),
        says="found by their words already",
    )


def _tokens(request: HttpRequest) -> Card | None:
    still_open = AccessToken.objects.filter(revoked_at__isnull=True).exclude(expires_at__lte=timezone.now())
    return counted("Open tokens", still_open, says="neither revoked nor expired")(request)


def add_cards() -> None:
    cards = {
        "pending": counted(
            "Pending",
            Memory.objects.filter(status=Status.PENDING),
            says="proposed, or against the user's own words",
            waits=True,
            status__exact=str(Status.PENDING),
        ),
        "withheld": counted(
            "Withheld",
            Memory.objects.filter(withheld=True),
            says="text that reads as an order to a model",
            waits=True,
            standing="withheld",
        ),
        "conflicts": counted(
            "Open conflicts",
            Conflict.objects.filter(resolved_at__isnull=True),
            says="two claims that cannot both hold",
            waits=True,
        ),
        "memories": counted("Memories", Memory.objects.all(), says="in every state"),
        "captures": counted("Captures", Capture.objects.all(), says="raw text kept as evidence"),
        "tokens": _tokens,
        "vectors": _without_vector,
    }
    for name, card in cards.items():
        site().add_card(name, card)
