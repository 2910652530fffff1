"""The playground answers as agents are answered, in any token's place, and nothing of it is written down."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from contextpack.models import Pin, Receipt
from memories.core.kinds import Kind
from memories.models import AccessToken, Memory, Scope
from memories.writing.superseding import supersede
from sessions.models import WorkingSession
from tests.admin.rows import NOW
from tests.clients import api_of
from tests.factories import make_caller, make_memory, make_token, make_vault

WRITING = re.compile(r"^\s*(INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
TASK = "When is the Atlas launch?"


def asked(page: Client, vault: Any, task: str = TASK, **more: Any) -> Any:
    given = {"vault": vault.pk, "task": task, "model": "claude", **more}
    response = page.get(reverse("admin:playground"), given)
    assert response.status_code == 200
    return response


def _without_the_log_in(statements: Any) -> list[str]:
    return [one["sql"] for one in statements if "django_session" not in one["sql"]]


@pytest.fixture
def launch(vault) -> Memory:
    return make_memory(vault, content="The Atlas launch is on 12 May at 09:00 UTC.")


def test_the_markdown_is_the_very_one_that_an_agent_gets(page, vault, launch):
    make_memory(vault, content="Never announce an Atlas feature early.", kind=Kind.NEGATIVE)
    shown = asked(page, vault).context["columns"][0].body
    body = api_of(vault).post("context", {"task": TASK, "model": "claude", "format": "markdown"})
    assert shown == body.content.decode()
    assert "12 May" in shown


@pytest.mark.parametrize("fmt", ["smp", "json"])
def test_other_formats_are_packed_as_they_are_for_agents(page, vault, launch, fmt):
    pack = asked(page, vault, format=fmt).context["columns"][0].trial.pack
    body = api_of(vault).post("context", {"task": TASK, "model": "claude", "format": fmt}).json()
    assert pack.budget.used == body["budget"]["used"]


def test_nothing_is_recorded(page, vault, launch):
    token, _ = make_token(vault)
    asked(page, vault)
    with CaptureQueriesContext(connection) as seen:
        asked(page, vault, token=token.pk, beside="cursor", ref=launch.ref)
    assert [sql for sql in _without_the_log_in(seen) if WRITING.match(sql)] == []
    for model in (Receipt, WorkingSession, Pin):
        assert not model._default_manager.filter(vault_id=vault.pk).exists()
    assert AccessToken.objects.get(pk=token.pk).last_used_at is None


def test_a_token_of_one_project_is_answered_with_that_project_alone(page, vault):
    make_memory(vault, content="The Atlas launch is in May.", project="atlas")
    make_memory(vault, content="The Atlas launch party is in June.", project="party")
    token, _ = make_token(vault, projects=["atlas"])
    response = asked(page, vault, token=token.pk)
    assert [row.text for row in response.context["rows"]] == ["The Atlas launch is in May."]
    assert (response.context["asker"].servable, response.context["asker"].of) == (1, 2)


def test_what_lies_outside_of_a_tokens_projects_is_said_to(page, vault):
    hidden = make_memory(vault, content="The Atlas launch party is in June.", project="party")
    token, _ = make_token(vault, projects=["atlas"])
    told = asked(page, vault, token=token.pk, ref=hidden.ref).context["reasons"]
    assert told.answers[0][1].reason == "out_of_sight"
    assert told.text is None


@pytest.mark.parametrize(
    ("change", "word"),
    [({"revoked_at": NOW}, "revoked on 01 Mar 2026"), ({"expires_at": NOW}, "expired on 01 Mar 2026")],
)
def test_a_token_that_opens_nothing_any_more_is_said_to(page, vault, launch, change, word):
    token, _ = make_token(vault)
    AccessToken.objects.filter(pk=token.pk).update(**change)
    response = asked(page, vault, token=token.pk)
    assert response.context["asker"].closed == word
    assert word in response.content.decode()
    assert response.context["rows"]


def test_a_token_that_may_not_read_is_said_to(page, vault, launch):
    token, _ = make_token(vault, scopes=[Scope.WRITE])
    assert "may not read" in asked(page, vault, token=token.pk).content.decode()


def test_a_token_of_another_vault_is_not_offered(page, vault, launch):
    theirs, _ = make_token(make_vault("other"))
    response = asked(page, vault, token=theirs.pk)
    assert response.context["form"].errors["token"]
    assert "rows" not in response.context


def test_no_secret_and_no_digest_is_shown(page, vault, launch):
    token, secret = make_token(vault)
    html = asked(page, vault, token=token.pk).content.decode()
    assert secret not in html
    assert token.digest not in html


def test_two_models_stand_side_by_side(page, vault):
    for number in range(60):
        make_memory(vault, content=f"Atlas launch note {number}: " + f"word{number} " * 60)
    response = asked(page, vault, beside="cursor", token_budget=12_000)
    claude, cursor = response.context["columns"]
    assert (claude.trial.pack.budget.tokens, cursor.trial.pack.budget.tokens) == (12_000, 3_000)
    rows = response.context["rows"]
    assert {row.ref for row in rows} == {*claude.trial.pack.refs, *cursor.trial.pack.refs}
    assert any(row.only == "claude" for row in rows)


def test_a_question_may_be_asked_as_of_a_moment(page, vault):
    old = make_memory(vault, content="The Atlas launch is on Monday.")
    moved = NOW + timedelta(days=30)
    supersede(make_caller(vault), old.ref, content="The Atlas launch is on Friday.", reason="", now=moved)
    then = f"{NOW + timedelta(days=1):%Y-%m-%dT%H:%M}"
    assert [row.text for row in asked(page, vault).context["rows"]] == ["The Atlas launch is on Friday."]
    past = asked(page, vault, as_of=then, known_at=then)
    assert [row.text for row in past.context["rows"]] == ["The Atlas launch is on Monday."]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "archived"}, "archived"),
        ({"status": "pending"}, "pending"),
        ({"content": "Herons nest in the reeds."}, "not_retrieved"),
        ({"expires_at": NOW}, "expired"),
        ({}, "served"),
    ],
)
def test_why_not_is_answered_for_any_ref(page, vault, fields, reason):
    for number in range(12):
        make_memory(vault, content=f"Atlas launch note {number}")  # newer than what nothing finds
    asked_about = make_memory(
        vault, **({"content": "The Atlas launch is soon.", "at": NOW - timedelta(days=900)} | fields)
    )
    _, told = asked(page, vault, ref=asked_about.ref).context["reasons"].answers[0]
    assert told.reason == reason
    assert told.words


def test_a_superseded_memory_leads_to_what_replaced_it(page, vault):
    old = make_memory(vault, content="The Atlas launch is on Monday.")
    new = supersede(make_caller(vault), old.ref, content="It is on Friday.", reason="", now=NOW).memory
    told = asked(page, vault, ref=old.ref).context["reasons"]
    assert (told.answers[0][1].reason, told.answers[0][1].head) == ("superseded", new.ref)


def test_a_ref_of_another_vault_is_unknown(page, vault, launch):
    theirs = make_memory(make_vault("other"))
    told = asked(page, vault, ref=theirs.ref).context["reasons"]
    assert told.answers[0][1].reason == "unknown"
    assert told.text is None


@pytest.mark.parametrize(
    "given",
    [
        {"task": "   "},
        {"task": "x" * 8_001},
        {"token_budget": "12"},
        {"token_budget": "many"},
        {"as_of": "yesterday"},
        {"format": "pdf"},
        {"model": "m" * 201},
    ],
)
def test_a_question_that_makes_no_sense_is_answered_at_its_field(page, vault, launch, given):
    response = asked(page, vault, **given)
    assert response.context["form"].errors
    assert "columns" not in response.context


def test_a_link_holds_the_whole_question(page, vault, launch):
    html = asked(page, vault, beside="gpt", token_budget="700", as_of="2026-06-01T10:30").content.decode()
    for shown in ('value="gpt"', 'value="700"', 'value="2026-06-01T10:30"', TASK):
        assert shown in html


def test_many_memories_cost_no_more_statements_than_few(page, vault):
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            asked(page, vault, beside="cursor")
        return len(seen)

    for number in range(3):
        make_memory(vault, content=f"Atlas launch note {number}")
    statements()
    few = statements()
    for number in range(3, 60):
        make_memory(vault, content=f"Atlas launch note {number}", at=timezone.now())
    asked(page, vault)  # the catalogue is read anew once
    assert statements() <= few


def test_the_page_stands_where_there_is_no_vault(page):
    assert page.get(reverse("admin:playground")).status_code == 200


def test_without_a_view_of_memories_there_is_no_playground(vault, django_user_model):
    django_user_model.objects.create_user("bo", password="correct horse battery", is_staff=True)
    client = Client()
    client.force_login(django_user_model.objects.get(username="bo"))
    assert client.get(reverse("admin:playground")).status_code == 403
    assert reverse("admin:playground") not in client.get(reverse("admin:index")).content.decode()
