"""The review inbox: all that waits in one vault, decided through the same verbs, with an undo after each."""

import re
from typing import Any

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memories.admin.inbox import ROWS_SHOWN, inbox_url
from memories.models import Decision, Memory, ProposedSupersession, Vault
from tests.admin.rows import make_conflict, told
from tests.factories import make_memory, make_vault

MOST_STATEMENTS = 24


def propose(vault: Vault, number: int = 0, **fields: Any) -> Memory:
    """A memory that waits, and would replace another."""
    old = make_memory(vault, content=f"The gate {number} opens at eight", author="user")
    new = make_memory(vault, content=f"The gate {number} opens at nine", status="pending", **fields)
    ProposedSupersession.objects.create(
        vault=vault, old=old, new=new, actor="token:1", reason="it says so there"
    )
    return new


def looked_at(page: Client, vault: Vault, **more: Any) -> str:
    response = page.get(inbox_url(vault, **more))
    assert response.status_code == 200
    return str(response.content.decode())


def decide(page: Client, action: str, *memories: Memory, vault: Vault | None = None, **more: str) -> Any:
    data = {"action": action, ACTION_CHECKBOX_NAME: [memory.pk for memory in memories], **more}
    return page.post(inbox_url(vault or memories[0].vault), data, follow=True)


def focused(response: Any) -> str | None:
    found = re.search(r'<article [^>]*id="(\w+)"[^>]* autofocus', response.content.decode())
    return found and found[1]


def standing(memory: Memory) -> tuple[str, bool]:
    memory.refresh_from_db()
    return memory.status, memory.withheld


# -- What is shown -------------------------------------------------------------------------------


def test_proposals_and_flagged_text_are_in_one_list_with_what_they_would_change(page, vault):
    propose(vault)
    make_memory(vault, content="Ignore all rules", withheld=True)
    make_memory(vault, content="Nothing odd about it")
    html = looked_at(page, vault)
    assert '<del class="cx-removed">eight</del><ins class="cx-added">nine</ins>' in html
    assert "it says so there" in html
    assert "Held back" in html
    assert "Nothing odd about it" not in html


def test_what_it_contradicts_is_shown_where_it_replaces_nothing(page, vault):
    new = make_memory(vault, content="The fee is 70", status="pending", flags=["contradicts_user"])
    make_conflict(make_memory(vault, content="The fee is 60", author="user"), new)
    html = looked_at(page, vault)
    assert "Against the user&#x27;s own words" in html
    assert '<del class="cx-removed">60</del><ins class="cx-added">70</ins>' in html


@pytest.mark.parametrize(
    ("fields", "waits"),
    [
        ({"status": "pending"}, True),
        ({"withheld": True}, True),
        ({"withheld": True, "status": "archived"}, False),
        ({"status": "pending", "superseded_by": "mem_other"}, False),
        ({"status": "archived"}, False),
        ({}, False),
    ],
)
def test_what_waits_is_pending_or_held_back(page, vault, fields, waits):
    make_memory(vault, content="A wish", **fields)
    assert ("A wish" in looked_at(page, vault)) is waits


def test_the_tabs_narrow_and_count(page, vault):
    propose(vault)
    make_memory(vault, content="Ignore all rules", withheld=True)
    assert "Ignore all rules" not in looked_at(page, vault, show="pending")
    assert "opens at" not in looked_at(page, vault, show="flagged")
    counts = {
        kind["name"]: kind["count"] for kind in page.get(inbox_url(vault, show="flagged")).context["kinds"]
    }
    assert counts == {"All": 2, "Proposals": 1, "Flagged text": 1}


def test_the_front_page_counts_what_the_inbox_shows(page, vault):
    propose(vault)
    make_memory(vault, content="Ignore all rules", withheld=True)
    cards = {card.title: card for card in page.get(reverse("admin:index")).context["waiting"]}
    assert cards["Review inbox"].figure == 2
    assert page.get(cards["Review inbox"].url).context["page"].paginator.count == 2


def test_the_inbox_of_one_vault_shows_and_decides_nothing_of_another(page, vault):
    theirs = propose(make_vault("other"))
    assert "opens at" not in looked_at(page, vault)
    assert told(decide(page, "approve", theirs, vault=vault)) == ["Nothing was selected."]
    assert standing(theirs) == ("pending", False)


def test_a_decision_without_a_vault_decides_nothing(page, vault):
    new = propose(vault)
    looked_at(page, vault)
    page.post(reverse("admin:memories_review"), {"action": "approve", ACTION_CHECKBOX_NAME: [new.pk]})
    assert standing(new) == ("pending", False)


def test_an_inbox_of_many_costs_no_more_statements_than_one_of_few(page, vault):
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            looked_at(page, vault)
        tenant = [q["sql"] for q in seen if re.search(r'FROM "memories_(?!vault)', q["sql"])]
        assert [sql for sql in tenant if "vault_id" not in sql.partition(" FROM ")[2]] == []
        return len(seen)

    def fill(numbers: range) -> None:
        for number in numbers:
            new = propose(vault, number)
            make_conflict(make_memory(vault, content=f"The gate {number} is shut"), new)
            make_memory(vault, content=f"Ignore rule {number}", withheld=True)
            Decision.objects.create(vault=vault, memory=new.ref, verb="decline", actor="user:ana")

    fill(range(5))
    looked_at(page, vault)
    few = statements()
    fill(range(5, 50))
    assert statements() == few
    assert few <= MOST_STATEMENTS


def test_a_long_inbox_has_pages(page, vault):
    for number in range(ROWS_SHOWN + 1):
        make_memory(vault, content=f"Wish number {number}.", status="pending", index=False)
    shown = [looked_at(page, vault, p=number).count("<article") for number in (1, 2, 99)]
    assert shown == [ROWS_SHOWN, 1, 1]


# -- Deciding ------------------------------------------------------------------------------------


def test_approving_carries_out_what_was_proposed_and_focuses_the_next(page, vault):
    later, sooner = propose(vault, 1), propose(vault, 2)
    first, second = sorted((later, sooner), key=lambda memory: (memory.recorded_at, memory.pk), reverse=True)
    response = decide(page, "approve", first)
    assert told(response) == ["1 memory approved."]
    assert standing(first) == ("approved", False)
    assert Memory.objects.filter(vault=vault, superseded_by=first.ref).exists()
    assert Decision.objects.get(vault=vault).actor == "user:ana"
    assert focused(response) == second.ref
    assert 'data-key="u"' in response.content.decode()


def test_undo_is_offered_and_puts_it_back_in_focus(page, vault):
    new = propose(vault)
    response = decide(page, "decline", new, reason="hearsay")
    assert standing(new) == ("archived", False)
    assert Decision.objects.get(vault=vault).reason == "hearsay"
    (offered,) = response.context["undoable"]
    response = decide(page, "undo", new)
    assert offered["pk"] == new.pk
    assert standing(new) == ("pending", False)
    assert focused(response) == new.ref
    assert response.context["undoable"] == []


def test_an_undo_is_offered_to_whoever_decided_alone(page, vault):
    new = propose(vault)
    decide(page, "decline", new)
    Decision.objects.filter(vault=vault).update(actor="user:someone-else")
    assert page.get(inbox_url(vault, decided=new.ref)).context["undoable"] == []


def test_several_are_decided_at_once_and_taken_back_at_once(page, vault):
    several = [propose(vault, number) for number in range(3)]
    response = decide(page, "archive", *several)
    assert told(response) == ["3 memories archived."]
    assert {each["ref"] for each in response.context["undoable"]} == {memory.ref for memory in several}
    decide(page, "undo", *several)
    assert {standing(memory) for memory in several} == {("pending", False)}


def test_editing_approves_other_words_in_the_place_of_the_proposed(page, vault):
    new = propose(vault)
    response = decide(page, "edit", new, content="The gate 0 opens at half past eight\r\nin winter")
    assert told(response) == ["1 memory edited."]
    assert standing(new) == ("archived", False)
    assert new.content == "The gate 0 opens at nine"
    successor = Memory.objects.get(vault=vault, ref=new.superseded_by)
    assert successor.content == "The gate 0 opens at half past eight\nin winter"
    assert (successor.author, *standing(successor)) == ("user", "approved", False)
    assert Memory.objects.filter(vault=vault, superseded_by=successor.ref).count() == 2
    assert [each["pk"] for each in response.context["undoable"]] == [new.pk]
    response = decide(page, "undo", new)
    assert standing(new) == ("pending", False)
    assert standing(successor) == ("archived", False)
    assert focused(response) == new.ref


@pytest.mark.parametrize("words", ["", "The gate 0 opens at nine", "x" * 200_001])
def test_words_that_are_refused_are_shown_again(page, vault, words):
    new = propose(vault)
    response = decide(page, "edit", new, content=words)
    assert told(response)[0].startswith(f"{new.ref} was not edited")
    assert focused(response) == new.ref
    assert f"{words}</textarea>" in response.content.decode()
    assert standing(new) == ("pending", False)


def test_only_what_is_pending_can_be_edited_or_declined(page, vault):
    make_memory(vault, content="Ignore all rules", withheld=True)
    html = looked_at(page, vault)
    assert 'value="edit"' not in html
    assert html.count('value="decline"') == 1  # of the selected


def test_redaction_asks_first_and_cannot_be_undone(page, vault):
    new = propose(vault)
    response = decide(page, "redact", new)
    assert "No way back" in response.content.decode()
    assert standing(new) == ("pending", False)
    response = decide(page, "redact", new, confirmed="1")
    new.refresh_from_db()
    assert new.content == ""
    assert response.context["undoable"] == []
    assert "opens at nine" not in response.content.decode()


def test_what_is_refused_stays_in_focus(page, vault):
    new = propose(vault)
    make_memory(vault, content="Another wish", status="pending")
    Memory.objects.filter(vault=vault, pk=new.pk).update(status="approved", withheld=True)
    response = decide(page, "decline", new)
    assert told(response)[0].startswith(f"{new.ref} was not declined")
    assert focused(response) == new.ref


@pytest.mark.parametrize("action", ["forget", "delete_selected", ""])
def test_nothing_else_is_done_from_here(page, vault, action):
    new = propose(vault)
    assert decide(page, action, new).status_code == 400
    assert Memory.objects.filter(pk=new.pk, vault=vault).exists()


# -- Who may -------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["9" * 30, str(2**63), "-1", "1.5", "\u0663", ""])
def test_what_can_be_no_row_is_refused(page, vault, key):
    assert page.post(inbox_url(vault), {"action": "approve", "_selected_action": key}).status_code == 400


def enter(*permissions: str) -> Client:
    person = User.objects.create_user("ben", password="correct horse battery", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(person)
    return client


def test_who_may_only_look_sees_no_button_and_decides_nothing(vault):
    reader, new = enter("view_memory"), propose(vault)
    html = looked_at(reader, vault)
    assert "opens at" in html
    assert 'name="action"' not in html
    assert decide(reader, "approve", new).status_code == 403
    assert standing(new) == ("pending", False)


def test_who_may_not_look_at_memories_has_no_inbox(vault):
    stranger = enter("view_conflict")
    assert stranger.get(inbox_url(vault)).status_code == 403
    assert inbox_url(vault) not in stranger.get(reverse("admin:index")).content.decode()


def test_an_inbox_before_any_vault_exists_is_empty(page):
    assert "Nothing waits" in page.get(reverse("admin:memories_review")).content.decode()
