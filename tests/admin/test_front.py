"""The front page counts what the person may look at, in the vault that is looked at, and leads to the same rows."""

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memories.admin.linking import list_url
from memories.models import Conflict, Memory
from tests.admin.rows import make_conflict, make_everything
from tests.factories import make_memory, make_vault


def _front(page: Client, **narrowed_by: str) -> str:
    response = page.get(reverse("admin:index"), narrowed_by)
    assert response.status_code == 200
    return response.content.decode()


def _figures(page: Client, **narrowed_by: str) -> dict[str, int]:
    context = page.get(reverse("admin:index"), narrowed_by).context
    return {card.title: card.figure for card in (*context["waiting"], *context["held"])}


def test_the_front_page_counts_the_vault_that_is_looked_at(page, vault):
    other = make_vault("other")
    make_memory(vault, status="pending")
    make_memory(vault, content="Odd", withheld=True)
    make_conflict(make_memory(vault, content="60"), make_memory(vault, content="600"))
    make_memory(other, content="Elsewhere", status="pending")
    figures = _figures(page)
    assert figures["Pending"] == figures["Withheld"] == figures["Open conflicts"] == 1
    assert figures["Memories"] == 4
    assert _figures(page, vault=other.pk)["Memories"] == 1


@pytest.mark.parametrize("title", ["Pending", "Withheld", "Memories"])
def test_a_card_leads_to_the_rows_that_it_counts(page, vault, title):
    make_memory(vault, status="pending", content="Waits")
    make_memory(vault, withheld=True, content="Odd")
    context = page.get(reverse("admin:index")).context
    card = next(card for card in (*context["waiting"], *context["held"]) if card.title == title)
    listed = page.get(card.url)
    assert listed.context["cl"].result_count == card.figure


def test_who_may_look_at_conflicts_alone_is_told_of_nothing_else(vault):
    make_memory(vault, status="pending")
    person = User.objects.create_user("bo", password="correct horse battery", is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="view_conflict"))
    page = Client()
    page.force_login(person)
    assert set(_figures(page)) == {"Open conflicts"}
    html = _front(page)
    assert list_url(Conflict, vault.pk) in html
    assert list_url(Memory, vault.pk) not in html


def test_the_front_page_costs_no_more_statements_when_the_vault_is_full(page, vault):
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            _front(page)
        return len(seen)

    statements()
    few = statements()
    for number in range(5):
        make_everything(vault, number)
    assert statements() == few


def test_the_front_page_stands_where_there_is_no_vault(page):
    assert _figures(page) == {}
