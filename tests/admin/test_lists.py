"""Every list shows one vault, page by page, in as many statements for many rows as for few."""

import re

import pytest
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from contextpack.core.mql import Mql
from contextpack.models import Pin, Probe, Receipt
from contextpack.querying import answer_query
from memories.access import operator_of
from memories.admin.linking import list_url
from memories.admin.scoping import VaultScopedAdmin
from memories.models import AccessToken, Capture, Conflict, Decision, Entity, Memory, Tombstone, Vault
from sessions.models import WorkingSession
from tests.admin.rows import decide, listed, make_conflict, make_everything, make_receipt, mention, shown
from tests.factories import make_memory, make_token, make_vault

TENANT_MODELS = (Memory, Capture, Entity, Conflict, Decision, Tombstone, WorkingSession, Receipt, Pin, Probe)
FEW, MANY = 2, 30
MOST_STATEMENTS = 12


def test_every_tenant_table_of_the_admin_is_shown_by_vault():
    scoped = {model for model, shows in admin.site._registry.items() if isinstance(shows, VaultScopedAdmin)}
    assert scoped == {*TENANT_MODELS, AccessToken}


def test_a_list_of_many_rows_costs_no_more_statements_than_one_of_few(page, vault):
    def statements() -> dict[str, int]:
        counts = {}
        for model in TENANT_MODELS:
            with CaptureQueriesContext(connection) as seen:
                listed(page, model, vault)
            counts[model.__name__] = len(seen)
        return counts

    for number in range(FEW):
        make_everything(vault, number)
    listed(page, Memory, vault)  # the first visit remembers the vault
    few = statements()
    for number in range(FEW, MANY):
        make_everything(vault, number)
    assert statements() == few
    assert max(few.values()) <= MOST_STATEMENTS


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


def test_a_list_shows_no_row_of_another_vault(page, vault):
    other = make_vault("other")
    make_everything(other, 7)
    for model in TENANT_MODELS:
        assert _count_shown(listed(page, model, vault)) == 0
        assert _count_shown(listed(page, model, other)) > 0


def _count_shown(html: str) -> int:
    return html.count('class="action-checkbox"') or len(re.findall(r"<tr><th ", html))


def test_a_list_without_a_vault_shows_the_one_looked_at_last(page, vault):
    other = make_vault("other")
    make_memory(other, content="Only in the other vault")
    listed(page, Memory, other)
    response = page.get(reverse("admin:memories_memory_changelist"), {"q": "only"}, follow=True)
    assert response.redirect_chain == [
        (f"{reverse('admin:memories_memory_changelist')}?q=only&vault={other.pk}", 302)
    ]
    assert "Only in the other vault" in response.content.decode()
    assert "Memories in other" in response.content.decode()


def test_a_decision_without_a_vault_decides_nothing(page, vault):
    memory = make_memory(vault)
    listed(page, Memory, vault)
    page.post(
        reverse("admin:memories_memory_changelist"),
        {"action": "archive", ACTION_CHECKBOX_NAME: [memory.pk], "select_across": "1", "index": "0"},
    )
    memory.refresh_from_db()
    assert memory.status == "approved"


def test_a_decision_about_what_is_no_row_is_refused(page, vault):
    address = list_url(Memory, vault.pk)
    assert page.post(address, {"action": "archive", ACTION_CHECKBOX_NAME: ["x"]}).status_code == 400


def test_clearing_the_filters_keeps_the_vault(page, vault):
    make_memory(vault)
    assert "Clear all filters" not in listed(page, Memory, vault)
    assert f'<a href="?vault={vault.pk}">&#10006; Clear all filters' in listed(
        page, Memory, vault, status__exact="approved"
    )


def test_the_pages_of_a_list_have_each_row_once(page, vault):
    memories = [make_memory(vault, content=f"Number {number}", index=False) for number in range(101)]
    html = "".join(listed(page, Memory, vault, p=number) for number in (1, 2, 3))
    assert [html.count(f">{memory.ref}</a>") for memory in memories] == [1] * len(memories)


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


# -- As agents search ----------------------------------------------------------------------------


def _as_agents(page, vault, question, **narrowed_by):
    response = page.get(list_url(Memory, vault.pk, by="agents", q=question, **narrowed_by))
    assert response.status_code == 200
    return response


def test_a_search_as_agents_do_is_the_answer_to_their_query(page, vault):
    for text in ("The launch of Atlas is on 12 May", "Atlas is late", "The kitchen is on the fourth floor"):
        make_memory(vault, content=text)
    response = _as_agents(page, vault, "When is the launch of Atlas?")
    find = Mql(find="When is the launch of Atlas?", k=50)
    answer = answer_query(operator_of(vault), find, now=timezone.now())["items"]
    told = [(row.ref, row.hit.relevance, list(row.hit.words)) for row in response.context["cl"].result_list]
    assert told == [(item["ref"], item["relevance"], item["why"]["matched_terms"]) for item in answer]
    assert len(told) >= 2
    html = response.content.decode()
    assert f"{answer[0]['relevance']:.2f} <meter" in html
    assert "<mark>launch</mark>" in html


@pytest.mark.parametrize(
    "fields", [{"status": "pending"}, {"withheld": True}, {"superseded_by": "mem_x"}, {"source_url": None}]
)
def test_what_no_agent_finds_is_found_by_words_alone(page, vault, fields):
    make_memory(vault, content="The launch of Atlas is on 12 May", **fields)
    assert "12 May" not in _as_agents(page, vault, "launch of Atlas").content.decode()
    assert "12 May" in listed(page, Memory, vault, q="launch Atlas")


def test_the_filters_narrow_what_agents_find(page, vault):
    make_memory(vault, content="The launch of Atlas is in May", project="atlas")
    make_memory(vault, content="The launch of Atlas is a secret", project="press")
    html = _as_agents(page, vault, "launch of Atlas", in_project="press").content.decode()
    assert "is a secret" in html
    assert "in May" not in html
    assert "the filters leave 1" in html


def test_agents_find_nothing_of_another_vault(page, vault):
    make_memory(make_vault("other"), content="The launch of Atlas is a secret")
    assert "is a secret" not in _as_agents(page, vault, "launch of Atlas").content.decode()


def test_a_search_as_agents_do_without_a_question_is_the_list(page, vault):
    make_memory(vault, content="A plain thing")
    html = _as_agents(page, vault, " ").content.decode()
    assert "A plain thing" in html
    assert "Type a question" in html


def test_searching_as_agents_do_costs_no_more_statements_for_many_hits(page, vault):
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            _as_agents(page, vault, "launch of Atlas")
        return len(seen)

    def fill(numbers: range) -> None:
        for number in numbers:
            make_memory(vault, content=f"The launch of Atlas has risk number {number}")

    fill(range(10))
    statements()
    few = statements()
    fill(range(10, 100))
    statements()  # the first one also reads what was written since
    assert statements() == few


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
