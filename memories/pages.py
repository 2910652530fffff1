"""`/m/<ref>`: one memory for a person to look at, where a citation leads. It wants a login, as the admin does."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from memories.access import operator_of
from memories.admin.linking import followable, row_url
from memories.admin.scoping import chosen_vault
from memories.models import Memory, Vault
from memories.showing import memory_document


def memory_page(request: HttpRequest, ref: str) -> HttpResponseBase:
    """Show a memory to whoever may view memories in the admin; lead anybody else to the login first."""
    return admin.site.admin_view(_show)(request, ref=ref)


def _show(request: HttpRequest, ref: str) -> HttpResponse:
    if not request.user.has_perm("memories.view_memory"):
        raise PermissionDenied
    memory = _find(request, ref)
    document = memory_document(operator_of(memory.vault), memory)
    context = {
        **admin.site.each_context(request),
        "title": memory.ref,
        "memory": document,
        "vault": memory.vault,
        "sources": [_source_shown(memory, source) for source in document["sources"]],
        "admin_url": row_url(Memory, memory.vault_id, memory.ref),
    }
    return render(request, "memory.html", context)


def _find(request: HttpRequest, ref: str) -> Memory:
    """Find a memory in the vault at hand, else in any other: the address of a citation names none.

    Raises: Http404, also for one that has expired.
    """
    unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    chosen = chosen_vault(request)
    vaults = [] if chosen is None else [[chosen.pk], Vault.objects.values("pk")]
    for among in vaults:
        rows = Memory.objects.filter(unexpired, vault_id__in=among, ref=ref).select_related("vault")
        if (found := rows.order_by("vault__slug").first()) is not None:
            return found
    raise Http404


def _source_shown(memory: Memory, source: dict[str, Any]) -> dict[str, Any]:
    """Add where a person may go; an address of another scheme is shown as the text that it is."""
    return {**source, "href": followable(memory.vault_id, source["url"])}
