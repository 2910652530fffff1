"""What replaces a memory is read by whoever could read it; nobody's word is ended behind their back."""

import pytest
from django.db import IntegrityError

from cortex.errors import NotHere
from memories.models import Conflict, Memory, ProposedSupersession, Scope
from memories.writing import MemoryInput, amend, remember, supersede
from memories.writing.twins import is_taken, is_twin
from tests.clients import api_of
from tests.factories import LONG_AGO, make_caller, make_memory, make_vault

pytestmark = pytest.mark.django_db

WRITER = (Scope.READ, Scope.WRITE)


# -- Reach ---------------------------------------------------------------------------------------


def test_a_projects_side_of_a_conflict_does_not_replace_a_shared_memory():
    api = api_of()
    shared = api.remember("Rate limit is 60 per minute")["ref"]
    ours = api.remember("Rate limit is 600 per minute", project="ana")["ref"]
    conflict = Conflict.objects.get(vault=api.vault).ref
    response = api.post(f"conflicts/{conflict}/resolve", {"keep": ours})
    assert response.status_code == 409
    assert "ana" in response.json()["detail"]
    assert api_of(api.vault, projects=["bo"]).get(f"memories/{shared}").json()["superseded_by"] is None
    assert api.get(f"memories/{shared}").json()["conflicted"]


def test_a_shared_side_of_a_conflict_may_replace_a_projects_memory():
    api = api_of()
    shared = api.remember("Rate limit is 60 per minute")["ref"]
    ours = api.remember("Rate limit is 600 per minute", project="ana")["ref"]
    conflict = Conflict.objects.get(vault=api.vault).ref
    assert api.post(f"conflicts/{conflict}/resolve", {"keep": shared}).status_code == 200
    assert api.get(f"memories/{ours}").json()["superseded_by"] == shared


@pytest.mark.parametrize("end", ["old", "new"])
def test_what_is_proposed_to_replace_or_to_be_replaced_stays_in_its_project(end):
    api = api_of()
    old = api.remember("The user said so", author="user")["ref"]
    new = api.post(f"memories/{old}/supersede", {"content": "The agent says otherwise"}).json()["ref"]
    assert ProposedSupersession.objects.filter(vault=api.vault).exists()
    response = api.patch(f"memories/{old if end == 'old' else new}", {"project": "ana"})
    assert response.status_code == 409


# -- Amending ------------------------------------------------------------------------------------


def test_an_expiry_in_the_past_is_refused():
    api = api_of()
    ref = api.remember("It is so")["ref"]
    response = api.patch(f"memories/{ref}", {"expires_at": "2020-01-01"})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "expires_at"
    assert api.get(f"memories/{ref}").status_code == 200


DECIDING = [
    ("valid_from", "2999-01-01"),
    ("valid_to", "2099-01-01"),
    ("expires_at", "2099-01-01"),
    ("kind", "event"),
    ("layer", "episodic"),
    ("project", "ana"),
    ("summary", "It is not so"),
]


@pytest.mark.parametrize(("field", "value"), DECIDING)
def test_what_ends_or_rewords_the_users_word_needs_a_reviewer(field, value):
    vault = make_vault()
    ref = api_of(vault).remember("Never deploy on Fridays", author="user", kind="negative")["ref"]
    before = api_of(vault).get(f"memories/{ref}").json()
    assert api_of(vault, scopes=WRITER).patch(f"memories/{ref}", {field: value}).status_code == 403
    assert api_of(vault).get(f"memories/{ref}").json() == before
    assert (
        api_of(vault, scopes=[*WRITER, Scope.REVIEW]).patch(f"memories/{ref}", {field: value}).status_code
        == 200
    )


@pytest.mark.parametrize(("field", "value"), [*DECIDING, ("tags", ["x"])])
def test_an_agents_own_memory_is_amended_by_a_writer(field, value):
    vault = make_vault()
    ref = api_of(vault).remember("Never deploy on Fridays", kind="negative")["ref"]
    assert api_of(vault, scopes=WRITER).patch(f"memories/{ref}", {field: value}).status_code == 200


def test_what_changes_nothing_of_the_users_word_is_open_to_a_writer():
    vault = make_vault()
    ref = api_of(vault).remember("Never deploy on Fridays", author="user", kind="negative")["ref"]
    changes = {"kind": "negative", "tags": ["x"], "confidence": 0.5, "entities": ["Ana"], "valid_to": None}
    assert api_of(vault, scopes=WRITER).patch(f"memories/{ref}", changes).status_code == 200


# -- Races ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["old", "new"])
def test_nothing_is_replaced_by_or_instead_of_what_was_forgotten_meanwhile(lost, monkeypatch):
    vault = make_vault()
    rows = {"old": make_memory(vault, content="Old"), "new": make_memory(vault, content="New")}

    def found(caller, ref, *, at):
        memory = Memory.objects.get(vault=vault, ref=ref)
        if memory == rows["new"]:
            Memory.objects.filter(pk=rows[lost].pk).delete()
        return memory

    monkeypatch.setattr("memories.writing.superseding.find_memory", found)
    with pytest.raises(NotHere):
        supersede(make_caller(vault), rows["old"].ref, replacement=rows["new"].ref, now=LONG_AGO)
    assert not Memory.objects.filter(vault=vault, superseded_by__isnull=False).exists()


def test_a_broken_rule_of_the_database_is_no_race(monkeypatch):
    caller = make_caller()
    tries = []

    def index(*_, **__):
        tries.append(True)
        raise IntegrityError("CHECK constraint failed: whatever")

    monkeypatch.setattr("memories.writing.remembering.index_memories", index)
    with pytest.raises(IntegrityError):
        remember(caller, MemoryInput(content="It is so"), now=LONG_AGO)
    assert len(tries) == 1


def test_a_broken_rule_of_the_database_is_no_known_text():
    vault = make_vault()
    memory = make_memory(vault)
    with pytest.raises(IntegrityError):
        amend(make_caller(vault), memory.ref, {"confidence": 7.0}, now=LONG_AGO)


def test_a_twin_is_told_from_every_other_broken_rule():
    vault = make_vault()
    make_memory(vault)
    with pytest.raises(IntegrityError) as twin:
        make_memory(vault)
    assert (is_twin(twin.value), is_taken(twin.value)) == (True, True)


def test_a_taken_ref_is_no_twin():
    vault = make_vault()
    memory = make_memory(vault)
    with pytest.raises(IntegrityError) as taken:
        make_memory(vault, content="Another", ref=memory.ref)
    assert (is_twin(taken.value), is_taken(taken.value)) == (False, True)
