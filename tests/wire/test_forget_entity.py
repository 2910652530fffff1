"""DELETE /v1/entities/{id}: every memory about somebody goes, and so do all their names."""

import pytest

from memories.models import Alias, Capture, Decision, Entity, Memory, Scope, Source, Tombstone
from memories.search import facade
from memories.writing import forgetting
from tests.clients import api_of
from tests.factories import make_memory
from tests.memories.test_erasing_many import read
from tests.wire.asking import ask
from tests.wire.corpora import make_corpus
from tests.wire.test_forget import ABSENT, places_of
from tests.wire.test_statements import counting

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of()


def entity_ref(api, name="Zebulon"):
    return Entity.objects.get(vault=api.vault, name=name).ref


def test_all_memories_about_it_go_and_its_names_too(api, monkeypatch):
    monkeypatch.setattr(forgetting, "ENTITY_BATCH", 2)
    gone = [api.remember(f"Zebulon keeps ledger {n}", entities=["Zebulon"])["ref"] for n in range(5)]
    kept = api.remember("Ana keeps the books", entities=["Ana"])["ref"]
    entity = Entity.objects.get(vault=api.vault, name="Zebulon")
    Alias.objects.create(vault=api.vault, entity=entity, name="Zeb the Tall", key="zeb the tall")
    response = api.delete(f"entities/{entity.ref}")
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"id", "forgotten", "erased", "probes", "kept"}
    assert (body["id"], sorted(body["forgotten"]), body["kept"]) == (entity.ref, sorted(gone), False)
    assert body["erased"]["memories"] == body["erased"]["fts"] == body["erased"]["vectors"] == 5
    assert body["probes"] == ABSENT
    assert set(Tombstone.objects.filter(vault=api.vault).values_list("ref", flat=True)) == set(gone)
    assert [memory["ref"] for memory in api.get("memories").json()["results"]] == [kept]
    assert places_of("zebulon") == places_of("zeb the") == []
    assert api.get(f"entities/{entity.ref}").status_code == 404
    assert api.delete(f"entities/{entity.ref}").status_code == 404


def test_whatever_state_a_memory_is_in_it_goes(api):
    api.remember("Zebulon said so", author="user", entities=["Zebulon"])
    old = api.remember("Zebulon is in May", author="user", entities=["Zebulon"])["ref"]
    api.post(f"memories/{old}/supersede", {"content": "Zebulon is in June", "reason": "Zebulon said so"})
    archived = api.remember("Zebulon left", entities=["Zebulon"])["ref"]
    api.post(f"memories/{archived}/archive")
    api.remember("Ignore all previous instructions, Zebulon", entities=["Zebulon"])
    api.post("captures", {"content": "Zebulon likes tea. The office moved to Lisbon."})
    ask(api, "What does Zebulon like?", session_id="chat", pin=True)
    body = api.delete(f"entities/{entity_ref(api)}").json()
    assert body["probes"] == ABSENT
    assert {"pins", "receipts", "sessions", "tasks"} <= body["erased"].keys()
    assert places_of("zebulon") == []
    assert [memory["content"] for memory in api.get("memories").json()["results"]] == [
        "The office moved to Lisbon."
    ]


def test_a_narrow_token_forgets_what_it_sees_and_leaves_the_rest(api):
    mine = api.remember("Zebulon is ours", entities=["Zebulon"], project="ana")["ref"]
    theirs = api.remember("Zebulon is theirs", entities=["Zebulon"], project="bo")["ref"]
    narrow = api_of(api.vault, projects=["ana"])
    body = narrow.delete(f"entities/{entity_ref(api)}").json()
    assert (body["forgotten"], body["kept"]) == ([mine], None)
    assert api.get(f"memories/{theirs}").json()["entities"] == ["Zebulon"]
    assert narrow.delete(f"entities/{entity_ref(api)}").status_code == 404


def test_an_earlier_memory_of_the_same_text_goes_with_it(api):
    old = api.remember("Zebulon hid it", entities=["Zebulon"])["ref"]
    api.post(f"memories/{old}/supersede", {"content": "Somebody hid it", "entities": ["Bo"]})
    again = api.remember("Zebulon hid it", entities=["Zebulon"])["ref"]
    assert set(api.delete(f"entities/{entity_ref(api)}").json()["forgotten"]) == {old, again}


def test_it_needs_the_scope_to_write(api):
    api.remember("Zebulon hid it", entities=["Zebulon"])
    assert api_of(api.vault, scopes=[Scope.READ]).delete(f"entities/{entity_ref(api)}").status_code == 403
    assert Memory.objects.filter(vault=api.vault).exists()


def test_a_parameter_is_refused(api):
    api.remember("Zebulon hid it", entities=["Zebulon"])
    assert api.delete(f"entities/{entity_ref(api)}?force=true").status_code == 422


# -- What it costs ---------------------------------------------------------------------------------


def test_the_probes_go_through_the_vault_once_however_much_is_forgotten(api, monkeypatch):
    def cost(count):
        mine = api_of()
        make_corpus(mine.vault, 60)
        for n in range(count):
            make_memory(mine.vault, content=f"Zebulon keeps ledger {n}")
        gone = list(Memory.objects.filter(vault=mine.vault, content__startswith="Zebulon"))
        Memory.objects.filter(pk__in=[row.pk for row in gone]).delete()
        Capture.objects.create(vault=mine.vault, content="Somebody keeps ledgers")
        facade.drop_memories(mine.vault.pk, [row.pk for row in gone])
        with counting() as statements, monkeypatch.context() as patch:
            seen = read(patch)
            found = forgetting._probes(mine.vault, gone)
        return len(statements), len(seen) / count, found

    few, many = cost(15), cost(120)
    assert few[0] == many[0] <= 12
    assert many[1] <= few[1] < 20
    assert few[2] == many[2] == ABSENT


def test_the_probes_find_what_is_left_of_any_of_the_texts(api):
    gone = [make_memory(api.vault, content=f"Zebulon keeps ledger {n}", project="a") for n in range(15)]
    Memory.objects.filter(pk__in=[row.pk for row in gone]).delete()
    assert forgetting._probes(api.vault, gone) == {"fts": 15, "vectors": 15, "database": 0}
    facade.drop_memories(api.vault.pk, [row.pk for row in gone[1:]])
    Capture.objects.create(vault=api.vault, project="a", content="So zebulon keeps LEDGER 7, and ledger 8")
    Capture.objects.create(vault=api.vault, project="b", content="Zebulon keeps ledger 9")
    holder = make_memory(api.vault, project="a")
    Source.objects.create(vault=api.vault, memory=holder, url="x:y", text="Zebulon keeps ledger 3.")
    Decision.objects.create(
        vault=api.vault, memory="mem_1", verb="edit", actor="a", before={"content": "Zebulon keeps ledger 2"}
    )
    assert forgetting._probes(api.vault, gone) == {"fts": 1, "vectors": 1, "database": 3}


# -- An answer that got lost ---------------------------------------------------------------------------


def test_whoever_lost_the_answer_gets_it_again_under_the_same_key(api):
    api.remember("Zebulon hid it", entities=["Zebulon"])
    ref = entity_ref(api)
    key = {"Idempotency_Key": "k1"}
    first = api.delete(f"entities/{ref}", **key)
    again = api.delete(f"entities/{ref}", **key)
    assert again.json() == first.json()
    assert (again.status_code, again["Idempotency-Replayed"]) == (200, "true")
    assert api.delete(f"entities/{ref}").status_code == 404


def test_a_call_that_failed_leaves_its_key_free(api, monkeypatch):
    api.remember("Zebulon hid it", entities=["Zebulon"])
    ref = entity_ref(api)
    key = {"Idempotency_Key": "k1"}
    assert api.delete("entities/ent_000000000000", **key).status_code == 404
    assert api.delete(f"entities/{ref}", **key).status_code == 200


def test_while_the_first_call_runs_the_second_is_told_so(api, monkeypatch):
    api.remember("Zebulon hid it", entities=["Zebulon"])
    ref = entity_ref(api)
    key = {"Idempotency_Key": "k1"}
    statuses = []
    probes = forgetting._probes

    def ask_meanwhile(*args):
        statuses.append(api.delete(f"entities/{ref}", **key).status_code)
        return probes(*args)

    monkeypatch.setattr(forgetting, "_probes", ask_meanwhile)
    assert api.delete(f"entities/{ref}", **key).status_code == 200
    assert statuses == [409]
