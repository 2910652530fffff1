"""Alice owns, charlie must not see: every route against another vault's refs, and every scope."""

import json
from typing import Any

import pytest

from memories.models import Conflict, Entity, Memory, Scope
from tests.clients import Api, api_of
from tests.factories import make_vault

pytestmark = pytest.mark.django_db

READ, WRITE, REVIEW, ADMIN = Scope.READ, Scope.WRITE, Scope.REVIEW, Scope.ADMIN

ROUTES: list[tuple[str, str, Any, Scope]] = [
    ("GET", "memories", None, READ),
    ("POST", "memories", {"content": "New"}, WRITE),
    ("POST", "memories/bulk", {"memories": []}, WRITE),
    ("POST", "captures", {"content": "New text."}, WRITE),
    ("GET", "memories/{memory}", None, READ),
    ("PATCH", "memories/{memory}", {"tags": []}, WRITE),
    ("DELETE", "memories/{memory}", None, WRITE),
    ("POST", "memories/{memory}/supersede", {"content": "New"}, WRITE),
    ("POST", "memories/{memory}/approve", {}, REVIEW),
    ("POST", "memories/{memory}/archive", {}, REVIEW),
    ("POST", "memories/{memory}/redact", {}, REVIEW),
    ("GET", "conflicts", None, READ),
    ("POST", "conflicts/{conflict}/resolve", {"keep": "both"}, REVIEW),
    ("GET", "entities", None, READ),
    ("GET", "entities/{entity}", None, READ),
    ("GET", "stats", None, READ),
    ("GET", "export", None, ADMIN),
    ("POST", "import", {"cortex_export": 1}, ADMIN),
]
WITH_REF = [route for route in ROUTES if "{" in route[1]]
UNKNOWN = {"memory": "mem_000000000000", "conflict": "con_000000000000", "entity": "ent_000000000000"}


@pytest.fixture
def alice():
    api = api_of()
    api.remember(
        "Zebulon keeps the blue ledger; the rate limit is 60 per minute", entities=["Zebulon"], project="a"
    )
    api.remember("Rate limit is 60 per minute", project="a")
    api.remember("Rate limit is 600 per minute", project="a")
    return api


@pytest.fixture
def refs(alice):
    return {
        "memory": Memory.objects.filter(vault=alice.vault).order_by("captured_at")[0].ref,
        "conflict": Conflict.objects.filter(vault=alice.vault)[0].ref,
        "entity": Entity.objects.get(vault=alice.vault, name="Zebulon").ref,
    }


def rows_of(vault):
    return sorted(
        Memory.objects.filter(vault=vault).values_list("ref", "status", "superseded_by", "tags"), key=str
    )


@pytest.mark.parametrize(("method", "path", "body", "scope"), WITH_REF, ids=lambda value: str(value)[:30])
def test_another_vaults_refs_are_as_unknown_as_any(alice, refs, method, path, body, scope):
    before = rows_of(alice.vault)
    for charlie in (api_of(), api_of(alice.vault, projects=["c"])):
        foreign = charlie.call(method, path.format(**refs), body)
        unknown = charlie.call(method, path.format(**UNKNOWN), body)
        assert (foreign.status_code, unknown.status_code) == (404, 404)
        assert foreign.content == unknown.content
    assert rows_of(alice.vault) == before


@pytest.mark.parametrize(("method", "path", "body", "scope"), ROUTES, ids=lambda value: str(value)[:30])
def test_nothing_answers_without_a_token(refs, method, path, body, scope):
    response = Api(None).call(method, path.format(**refs), body)
    assert response.status_code == 401
    assert b"ebulon" not in response.content


@pytest.mark.parametrize(("method", "path", "body", "scope"), ROUTES, ids=lambda value: str(value)[:30])
def test_a_scope_that_does_not_reach_is_403(alice, refs, method, path, body, scope):
    others = [other for other in (READ, WRITE, REVIEW) if other != scope]
    response = api_of(alice.vault, scopes=others).call(method, path.format(**refs), body)
    assert response.status_code == 403
    assert response.json()["detail"] == f"this call needs the scope {scope}"


@pytest.mark.parametrize(("method", "path", "body", "scope"), ROUTES, ids=lambda value: str(value)[:30])
def test_the_scope_itself_and_the_admins_reach(alice, refs, method, path, body, scope):
    for scopes in ([scope], [ADMIN]):
        response = api_of(alice.vault, scopes=scopes).call(method, path.format(**refs), body)
        assert response.status_code not in {401, 403}


@pytest.mark.parametrize("path", ["memories", "entities", "conflicts", "stats"])
def test_charlies_lists_hold_nothing_of_alices(alice, path):
    charlie = api_of()
    body = charlie.get(path)
    assert body.status_code == 200
    assert b"ebulon" not in body.content
    assert b"mem_" not in body.content


def test_charlies_export_holds_nothing_of_alices(alice):
    lines = b"".join(api_of().get("export").streaming_content).splitlines()
    assert len(lines) == 1
    assert set(json.loads(lines[0])["counts"].values()) == {0}


@pytest.mark.parametrize("odd", ["", "*", "%", "a%", "_", "A", "a ", " a", "a,c", "aa"])
def test_an_odd_owner_never_widens_what_is_seen(alice, odd):
    narrow = api_of(alice.vault, projects=["c"])
    body = narrow.call("GET", f"memories?project={odd.replace('%', '%25')}")
    assert body.status_code == 200
    assert body.json()["results"] == []


def test_a_narrow_token_neither_exports_nor_imports_the_whole(alice):
    narrow = api_of(alice.vault, projects=["c"])
    assert narrow.get("export").status_code == 403
    assert narrow.post("import", {"cortex_export": 1}).status_code == 403


def test_a_vault_named_in_a_body_or_a_header_changes_nothing(alice):
    charlie = api_of()
    for name in ("vault", "vault_id", "owner", "user_id", "tenant"):
        odd: list[Any] = [alice.vault.pk, alice.vault.slug, "", None, "*", []]
        for value in odd:
            assert charlie.post("memories", {"content": "x", name: value}).status_code == 422
    response = charlie.get("memories", X_Cortex_Vault=alice.vault.slug)
    assert response.json()["results"] == []


def test_the_operators_key_needs_a_named_vault(settings, alice):
    settings.CORTEX_API_KEY = "operator-key"
    operator = Api("operator-key")
    assert operator.get("memories").json()["results"] == []
    assert len(operator.get("memories", X_Cortex_Vault=alice.vault.slug).json()["results"]) == 3
    assert operator.get("memories", X_Cortex_Vault="*").status_code == 422


def test_two_vaults_may_hold_the_same_text():
    first, second = make_vault(), make_vault()
    refs = {api_of(vault).remember("It is so")["ref"] for vault in (first, second)}
    assert len(refs) == 2
    assert set(Memory.objects.values_list("occurrences", flat=True)) == {1}
