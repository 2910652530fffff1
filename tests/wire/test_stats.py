"""GET /v1/stats: a vault in figures."""

import pytest

from memories.models import Scope
from tests.clients import api_of
from tests.factories import make_memory, make_vault

pytestmark = pytest.mark.django_db


def test_an_empty_vault_is_all_zeros():
    body = api_of().get("stats").json()
    assert body["memories"] == 0
    assert set(body["by_status"].values()) | set(body["by_layer"].values()) | set(
        body["by_kind"].values()
    ) == {0}
    assert body["pending_vectors"] == 0
    assert body["embedder"] == {"name": "hash-1", "dimension": 1024}


def test_counts_are_by_status_layer_and_kind():
    api = api_of()
    api.remember("One")
    api.remember("Two", kind="decision")
    api.post(f"memories/{api.remember('Three')['ref']}/archive")
    body = api.get("stats").json()
    assert body["memories"] == 3
    assert body["by_status"] == {"pending": 0, "approved": 2, "archived": 1}
    assert (body["by_layer"]["semantic"], body["by_layer"]["decision"]) == (2, 1)
    assert (body["by_kind"]["claim"], body["by_kind"]["decision"]) == (2, 1)
    assert body["sizes"]["captures"] == 3
    assert body["sizes"]["content_characters"] == len("OneTwoThree")


def test_what_is_not_searchable_by_meaning_yet_is_counted():
    vault = make_vault()
    make_memory(vault, index=False)
    make_memory(vault, content="Another")
    assert api_of(vault).get("stats").json()["pending_vectors"] == 1


def test_nothing_is_pending_after_any_write():
    api = api_of()
    ref = api.remember("One")["ref"]
    api.post("memories/bulk", {"memories": [{"content": f"Fact {n}"} for n in range(300)]})
    api.post("captures", {"content": "Ana likes tea. Bo likes coffee."})
    api.post(f"memories/{ref}/redact")
    assert api.get("stats").json()["pending_vectors"] == 0


def test_a_narrow_token_counts_what_it_sees():
    vault = make_vault()
    api = api_of(vault)
    api.remember("One", project="ana")
    api.remember("Two", project="bo")
    body = api_of(vault, projects=["ana"]).get("stats").json()
    assert (body["memories"], body["sizes"]["captures"]) == (1, 1)


def test_figures_need_the_scope_to_read_and_take_no_parameter():
    assert api_of(scopes=[Scope.WRITE]).get("stats").status_code == 403
    assert api_of().get("stats?vault=x").status_code == 422
