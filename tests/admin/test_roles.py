"""What a viewer, a reviewer and an operator may do in the admin: each page, each action, each refusal, each line of the log."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.test import Client
from django.urls import reverse

from contextpack.models import Pin, Probe, Receipt
from memories.admin.linking import list_url, row_url
from memories.admin.scoping import VaultScopedAdmin
from memories.models import (
    AccessToken,
    Capture,
    Conflict,
    Decision,
    Entity,
    Memory,
    Tombstone,
    Vault,
)
from memories.writing.reviewing import archive
from sessions.models import WorkingSession
from tests.admin.rows import NOW, decide, make_conflict, make_everything, make_probe, mention
from tests.factories import make_caller, make_memory, make_token

roles = import_module("contextpack.migrations.0004_roles")

RANKS = ("nobody", "viewer", "reviewer", "operator")
LISTED = (
    AccessToken,
    Capture,
    Conflict,
    Decision,
    Entity,
    Memory,
    Pin,
    Probe,
    Receipt,
    Tombstone,
    WorkingSession,
)
BY_PK = (AccessToken, Pin, WorkingSession)


@pytest.fixture
def as_role(db) -> Callable[[str], Client]:
    """Log somebody in who has a role and nothing else; `nobody` may enter the admin and has none."""
    roles.make_roles(apps, connection.schema_editor())  # a test that empties all tables takes the migration's

    def entered(role: str) -> Client:
        person = User.objects.create_user(f"a-{role}", password="correct horse battery", is_staff=True)
        if role != "nobody":
            person.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(person)
        return client

    return entered


def _rank(role: str) -> int:
    return RANKS.index(role)


# -- The groups ------------------------------------------------------------------------------------


def test_each_role_holds_what_the_lesser_one_holds_and_all_of_it_exists(as_role):
    held = {role: _held(role) for role in RANKS[1:]}
    assert held["viewer"] < held["reviewer"] < held["operator"]
    everything = {
        f"{p.content_type.app_label}.{p.codename}" for p in Permission.objects.select_related("content_type")
    }
    assert held["operator"] <= everything
    assert not {named for named in held["operator"] if named.startswith(("auth.", "admin."))}


def _held(role: str) -> set[str]:
    rows = Group.objects.get(name=role).permissions.select_related("content_type")
    return {f"{permission.content_type.app_label}.{permission.codename}" for permission in rows}


def test_making_the_roles_again_changes_nothing(as_role):
    before = _held("operator")
    roles.make_roles(apps, connection.schema_editor())
    assert _held("operator") == before
    assert Group.objects.filter(name="operator").count() == 1


def test_permissions_are_named_as_django_names_them(as_role):
    named = Permission.objects.get(codename="view_accesstoken")
    assert named.name == "Can view access token"


# -- Pages -----------------------------------------------------------------------------------------


def _lists(vault: Vault) -> dict[str, str]:
    return {list_url(model, vault.pk): "viewer" for model in LISTED}


def _rows(vault: Vault) -> dict[str, str]:
    found = {}
    for model in LISTED:
        row: Any = model._default_manager.filter(vault_id=vault.pk).first()
        assert row is not None, model
        found[row_url(model, vault.pk, row.pk if model in BY_PK else row.ref)] = "viewer"
    return found


def _others(vault: Vault) -> dict[str, str]:
    pages = {f"{page.url}?vault={vault.pk}": "viewer" for page in admin.site.pages.values()}  # type: ignore[attr-defined] # our own site
    return pages | {
        reverse("admin:memories_vault_changelist"): "viewer",
        reverse("admin:memories_vault_change", args=(vault.pk,)): "viewer",
        f"{reverse('admin:playground')}?vault={vault.pk}&task=x": "viewer",
        reverse("admin:memories_accesstoken_add"): "operator",
        reverse("admin:memories_vault_add"): "operator",
        reverse("admin:contextpack_probe_add"): "operator",
        reverse("admin:auth_user_changelist"): "superuser",
        reverse("admin:auth_group_changelist"): "superuser",
        reverse("admin:memories_memory_add"): "superuser and not even they",
    }


@pytest.mark.parametrize("role", RANKS)
def test_a_page_opens_for_the_roles_that_it_is_for(as_role, vault, role):
    make_everything(vault, 1)
    make_token(vault)
    client = as_role(role)
    addresses = _lists(vault) | _rows(vault) | _others(vault)
    opened = {address for address in addresses if client.get(address).status_code == 200}
    due = {address for address, least in addresses.items() if least in RANKS and _rank(role) >= _rank(least)}
    assert opened == due


@pytest.mark.parametrize("role", RANKS)
def test_the_front_page_offers_what_opens(as_role, vault, role):
    html = as_role(role).get(reverse("admin:index")).content.decode()
    assert (reverse("admin:playground") in html) == (role != "nobody")
    assert (reverse("admin:memories_accesstoken_add") in html) == (role == "operator")


# -- Actions ---------------------------------------------------------------------------------------


def _archived(vault: Vault) -> Memory:
    memory = make_memory(vault)
    archive(make_caller(vault), memory.ref, now=NOW)
    return Memory.objects.get(vault_id=vault.pk, pk=memory.pk)


def _pending(vault: Vault) -> Memory:
    return make_memory(vault, status="pending")


def _named(vault: Vault) -> Entity:
    mention(make_memory(vault), "Ana")
    return Entity.objects.get(vault_id=vault.pk)


def _contradiction(vault: Vault) -> Conflict:
    return make_conflict(make_memory(vault, content="60"), make_memory(vault, content="600"))


# (model, action) → the least role, and a row on which it makes a difference
ACTIONS: dict[tuple[type[Any], str], tuple[str, Callable[[Vault], Any]]] = {
    (Memory, "approve"): ("reviewer", _pending),
    (Memory, "decline"): ("reviewer", _pending),
    (Memory, "archive"): ("reviewer", make_memory),
    (Memory, "undo"): ("reviewer", _archived),
    (Memory, "redact"): ("reviewer", make_memory),
    (Memory, "forget"): ("operator", make_memory),
    (Conflict, "keep_left"): ("reviewer", _contradiction),
    (Conflict, "keep_right"): ("reviewer", _contradiction),
    (Conflict, "keep_both"): ("reviewer", _contradiction),
    (Entity, "forget"): ("operator", _named),
    (AccessToken, "revoke"): ("operator", lambda vault: make_token(vault)[0]),
    (Probe, "remove"): ("operator", make_probe),
}


def test_the_table_has_every_action_of_the_admin():
    offered = {
        (model, name)
        for model, page in admin.site._registry.items()
        if isinstance(page, VaultScopedAdmin)
        for name in page.actions or ()
    }
    assert offered == ACTIONS.keys()


@pytest.mark.parametrize(("model", "action"), ACTIONS)
@pytest.mark.parametrize("role", RANKS)
def test_an_action_is_done_by_the_roles_that_may_and_is_logged(as_role, vault, role, model, action):
    least, make = ACTIONS[model, action]
    row = make(vault)
    client = as_role(role)
    response = decide(client, action, row, confirmed="yes")
    entries = list(LogEntry.objects.select_related("user"))
    if _rank(role) >= _rank(least):
        assert [entry.user.username for entry in entries] == [f"a-{role}"]
        assert str(entries[0].object_id).startswith(f"{vault.pk}.")
    else:
        assert entries == []
        assert response.status_code in {200, 403}


@pytest.mark.parametrize("role", RANKS)
def test_tokens_vaults_and_probes_are_made_by_operators_alone_and_logged(as_role, vault, role):
    memory = make_memory(vault)
    client = as_role(role)
    forms: dict[str, dict[str, Any]] = {
        "memories_accesstoken_add": {"name": "laptop", "scopes": ["memory:read"], "projects": ""},
        "memories_vault_add": {"slug": "team", "name": "", "language": "english"},
        "contextpack_probe_add": {"name": "p", "task": "what?", "must": memory.ref, "must_not": ""},
    }
    for name, fields in forms.items():
        client.post(
            reverse(f"admin:{name}"),
            {"vault": vault.pk, "expires_at_0": "", "expires_at_1": "", "model": "", "project": "", **fields},
        )
    made = (AccessToken.objects.count(), Vault.objects.count() - 1, Probe.objects.count())
    assert made == ((1, 1, 1) if role == "operator" else (0, 0, 0))
    assert LogEntry.objects.count() == sum(made)
