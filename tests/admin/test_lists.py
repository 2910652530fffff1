"""Every list shows one vault, page by page, in as many statements for many rows as for few."""

import re

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contextpack.models import Pin, Receipt
from memories.admin.linking import list_url
from memories.admin.scoping import VaultScopedAdmin
from memories.models import AccessToken, Capture, Conflict, Entity, Memory, Tombstone, Vault
from sessions.models import WorkingSession
from tests.admin.rows import decide, listed, make_conflict, make_everything, make_receipt, mention, shown
from tests.factories import make_memory, make_token, make_vault

TENANT_MODELS = (Memory, Capture, Entity, Conflict, Tombstone, WorkingSession, Receipt, Pin)
FEW, MANY = 2, 15
MOST_STATEMENTS = 12


def test_every_tenant_table_of_the_admin_is_shown_by_vault():
    scoped = {model for model, shows in admin.site._registry.items() if isinstance(shows, VaultScopedAdmin)}
    assert scoped == {*TENANT_MODELS, AccessToken}


@pytest.mark.parametrize("model", TENANT_MODELS)
def test_a_list_of_many_rows_costs_no_more_statements_than_one_of_few(page, vault, model):
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            listed(page, model, vault)
        return len(seen)

    for number in range(FEW):
        make_everything(vault, number)
    listed(page, model, vault)  # the first visit remembers the vault
    few = statements()
    for number in range(FEW, MANY):
        make_everything(vault, number)
    assert statements() == few
    assert few <= MOST_STATEMENTS


@pytest.mark.parametrize("model", TENANT_MODELS)
def test_every_statement_on_a_tenant_table_names_the_vault(page, vault, model):
    for number in range(FEW):
        make_everything(vault, number)
    row = model._default_manager.filter(vault_id=vault.pk).first()
    key = "ref" if model not in (WorkingSession, Pin) else "pk"
    with CaptureQueriesContext(connection) as seen:
        listed(page, model, vault)
        shown(page, row, key)
    tables = "|".join(shown._meta.db_table for shown in TENANT_MODELS)
    reads = [query["sql"] for query in seen if re.search(rf'FROM "?({tables})"?', query["sql"])]
    assert reads
    assert [sql for sql in reads if "vault_id" not in sql.partition(" FROM ")[2]] == []


@pytest.mark.parametrize("model", TENANT_MODELS)
def test_a_list_shows_no_row_of_another_vault(page, vault, model):
    other = make_vault("other")
    make_everything(other, 7)
    assert "0 " in _count_shown(listed(page, model, vault))
    assert "0 " not in _count_shown(listed(page, model, other))


def _count_shown(html: str) -> str:
    found = re.search(r'class="paginator">\s*(?:<[^>]*>)?\s*([\d]+ )', html)
    return found[1] if found else "0 "


def test_a_list_without_a_vault_shows_the_one_looked_at_last(page, vault):
    other = make_vault("other")
    make_memory(other, content="Only in the other vault")
    listed(page, Memory, other)
    html = page.get(reverse("admin:memories_memory_changelist")).content.decode()
    assert "Only in the other vault" in html
    assert "Memories in other" in html


def test_a_list_before_any_vault_exists_is_empty(page):
    assert page.get(reverse("admin:memories_memory_changelist")).status_code == 200


def test_an_unknown_vault_is_not_found(page, vault):
    assert page.get(list_url(Memory, "nosuchvault")).status_code == 404


def test_a_row_is_not_found_under_another_vaults_address(page, vault):
    memory = make_memory(make_vault("other"))
    wrong = list_url(Memory, vault.pk).partition("?")[0] + f"{vault.pk}.{memory.ref}/change/"
    assert page.get(wrong).status_code == 302


def test_a_decision_reaches_no_row_of_another_vault(page, vault):
    mine, theirs = make_memory(vault), make_memory(make_vault("other"))
    decide(page, "archive", mine, theirs)
    theirs.refresh_from_db()
    assert theirs.status == "approved"


def test_more_vaults_than_fit_lead_to_the_list_of_vaults(page, vault):
    for _ in range(30):
        make_vault()
    html = listed(page, Memory, vault)
    assert "all vaults…" in html
    assert reverse("admin:memories_vault_changelist") in html


# -- Searching and filtering ---------------------------------------------------------------------


def test_search_puts_the_best_match_first(page, vault):
    make_memory(vault, content="The budget of the garden party is open, and so is its date")
    best = make_memory(vault, content="The printer budget")
    html = listed(page, Memory, vault, q="printer budget")
    assert html.index(best.ref) < html.index("garden party")


def test_search_finds_inflected_words_and_other_scripts(page, vault):
    make_memory(vault, content="She runs three workshops a week")
    make_memory(vault, content="设备清单在抽屉里")
    assert "three workshops" in listed(page, Memory, vault, q="running workshop")
    assert "设备清单" in listed(page, Memory, vault, q="抽屉")


def test_search_falls_back_to_any_part_of_the_text(page, vault):
    make_memory(vault, content="Zyxwvut is the code name")
    assert "Zyxwvut" in listed(page, Memory, vault, q="yxwv")


@pytest.mark.parametrize(
    "term", ["don't", '"--flag"', "(x", "x*", "NEAR(a b)", "a AND", "%", "_", "???", "  "]
)
def test_search_takes_any_punctuation_as_text(page, vault, term):
    make_memory(vault, content="Plain words")
    listed(page, Memory, vault, q=term)


def test_search_finds_a_memory_by_its_ref(page, vault):
    wanted, other = make_memory(vault, content="The wanted one"), make_memory(vault, content="Another one")
    html = listed(page, Memory, vault, q=wanted.ref)
    assert wanted.ref in html
    assert other.ref not in html


def test_search_stays_in_the_vault(page, vault):
    make_memory(make_vault("other"), content="The locker combination is secret")
    assert "The locker combination" not in listed(page, Memory, vault, q="locker")


def test_search_keeps_to_the_filters(page, vault):
    make_memory(vault, content="The locker is red", status="archived")
    make_memory(vault, content="The locker is blue")
    html = listed(page, Memory, vault, q="locker", status__exact="archived")
    assert "locker is red" in html
    assert "locker is blue" not in html


def test_memories_narrow_by_standing_project_and_entity(page, vault):
    plain = make_memory(vault, content="A plain thing", project="atlas")
    old = make_memory(vault, content="An old thing", superseded_by=plain.ref)
    left, right = make_memory(vault, content="Left thing"), make_memory(vault, content="Right thing")
    make_conflict(left, right)
    mention(old, "Zed")
    entity = Entity.objects.get(vault_id=vault.pk)

    def texts(**narrowed_by: str) -> set[str]:
        html = listed(page, Memory, vault, **narrowed_by)
        return {text for text in ("plain thing", "old thing", "Left thing", "Right thing") if text in html}

    assert texts(standing="superseded") == {"old thing"}
    assert texts(standing="conflict") == {"Left thing", "Right thing"}
    assert texts(standing="current") == {"plain thing", "Left thing", "Right thing"}
    assert texts(in_project="atlas") == {"plain thing"}
    assert texts(in_project="-") == {"old thing", "Left thing", "Right thing"}
    assert texts(entity=entity.ref) == {"old thing"}


def test_entities_are_found_by_an_alias(page, vault):
    mention(make_memory(vault), "Dr. Ana Weber")
    html = listed(page, Entity, vault, q="weber")
    assert "Dr. Ana Weber" in html
    assert "Dr. Ana Weber" not in listed(page, Entity, vault, q="nobody")


def test_receipts_are_found_by_task(page, vault):
    make_receipt(vault, task="plan the garden party")
    assert "garden party" in listed(page, Receipt, vault, q="garden")
    assert "garden party" not in listed(page, Receipt, vault, q="moon")


def test_vaults_and_tokens_cost_a_fixed_number_of_statements(page, vault):
    addresses = [list_url(AccessToken, vault.pk), reverse("admin:memories_vault_changelist")]

    def statements() -> list[int]:
        counts = []
        for address in addresses:
            with CaptureQueriesContext(connection) as seen:
                assert page.get(address).status_code == 200
            counts.append(len(seen))
        return counts

    make_token(vault)
    statements()  # the first visit remembers the vault
    few = statements()
    for _ in range(20):
        make_token(vault)
        make_vault()
    assert statements() == few
    assert Vault.objects.count() == 21
