"""DELETE /v1/memories/{ref}: every copy of the text goes, and the answer says what a search still finds."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection

from memories.models import (
    Alias,
    Capture,
    Conflict,
    Entity,
    IdempotencyRecord,
    Memory,
    Scope,
    Source,
    Tombstone,
)
from memories.signals import content_withdrawn
from memories.upkeep import sweep_vault
from tests.clients import api_of
from tests.factories import make_vault

pytestmark = pytest.mark.django_db

SECRET = "Zebulon keeps the blue ledger under the stairs"
ABSENT = {"fts": 0, "vectors": 0, "database": 0}


def places_of(needle, *, in_index_pages=False):
    """Every table and column of the database that holds a text, in whatever form.

    Args:
        in_index_pages: also in the pages of SQLite's text index, which unlinks a term at once and drops it when it
            merges: a sweep makes it.
    """
    found = []
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
        for table in (name for name in names if in_index_pages or not name.startswith("memories_fulltext")):
            cursor.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                found += [
                    (table, name)
                    for name, value in zip(names, row, strict=True)
                    if needle.lower()
                    in (value.decode(errors="ignore") if isinstance(value, bytes) else str(value)).lower()
                ]
    return found


def test_forgetting_says_what_it_erased_and_what_a_search_still_finds():
    api = api_of()
    ref = api.remember(SECRET)["ref"]
    response = api.delete(f"memories/{ref}")
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"ref", "erased", "probes"}
    assert body["ref"] == ref
    assert {name: body["erased"][name] for name in ("memories", "fts", "vectors", "captures", "sources")} == {
        "memories": 1,
        "fts": 1,
        "vectors": 1,
        "captures": 1,
        "sources": 1,
    }
    assert body["probes"] == ABSENT


def test_nothing_of_the_text_is_left_anywhere():
    api = api_of()
    told = api.post(
        "memories",
        {"content": SECRET, "summary": SECRET, "source": {"title": SECRET, "text": f"they said: {SECRET}!"}},
        Idempotency_Key="k1",
    ).json()
    assert places_of("Zebulon")
    api.delete(f"memories/{told['ref']}")
    assert places_of("Zebulon") == []


def test_it_is_absent_from_every_surface_at_once():
    api = api_of()
    ref = api.remember(SECRET)["ref"]
    api.remember("Something else")
    before = api.get("memories?limit=1").json()["next"]
    api.delete(f"memories/{ref}")
    assert api.get(f"memories/{ref}").status_code == 404
    for path in (
        "memories",
        "memories?q=zebulon",
        f"memories?limit=1&cursor={before}",
        "entities",
        "conflicts",
        "stats",
    ):
        assert b"ebulon" not in api.get(path).content
    assert b"ebulon" not in b"".join(api.get("export").streaming_content)


def test_what_is_left_is_a_tombstone_without_content():
    api = api_of()
    ref = api.remember(SECRET)["ref"]
    api.delete(f"memories/{ref}")
    tombstone = Tombstone.objects.get(vault=api.vault)
    assert tombstone.ref == ref
    assert tombstone.actor.startswith("token:")


def test_the_same_text_may_be_remembered_anew():
    api = api_of()
    ref = api.remember(SECRET)["ref"]
    api.delete(f"memories/{ref}")
    again = api.post("memories", {"content": SECRET})
    assert again.status_code == 201
    assert again.json()["ref"] != ref
    assert again.json()["occurrences"] == 1


def test_forgetting_twice_is_not_here():
    api = api_of()
    ref = api.remember(SECRET)["ref"]
    api.delete(f"memories/{ref}")
    response = api.delete(f"memories/{ref}")
    assert response.status_code == 404
    assert response.content == api.delete("memories/mem_000000000000").content


def test_forgetting_needs_the_scope_to_write():
    vault = make_vault()
    ref = api_of(vault).remember(SECRET)["ref"]
    assert api_of(vault, scopes=[Scope.READ]).delete(f"memories/{ref}").status_code == 403
    assert Memory.objects.filter(vault=vault).exists()


# -- Shared evidence -----------------------------------------------------------------------------


def test_a_capture_that_others_cite_stays_without_the_forgotten_passage():
    api = api_of()
    captured = api.post("captures", {"content": f"{SECRET}. The office moved to Lisbon."}).json()
    gone = next(m for m in captured["memories"] if "Zebulon" in m["content"])
    kept = next(m for m in captured["memories"] if "Lisbon" in m["content"])
    body = api.delete(f"memories/{gone['ref']}").json()
    assert body["probes"] == ABSENT
    capture = Capture.objects.get(vault=api.vault)
    assert "Zebulon" not in capture.content
    assert "The office moved to Lisbon" in capture.content
    assert api.get(f"memories/{kept['ref']}").status_code == 200
    assert places_of("Zebulon") == []


def test_a_capture_goes_with_the_last_memory_that_cites_it():
    api = api_of()
    for memory in api.post("captures", {"content": f"{SECRET}. The office moved."}).json()["memories"]:
        api.delete(f"memories/{memory['ref']}")
    assert not Capture.objects.filter(vault=api.vault).exists()
    assert not Source.objects.filter(vault=api.vault).exists()


def test_a_source_shared_by_address_loses_the_passage_too():
    api = api_of()
    source = {"url": "https://example.org/doc", "text": f"A long document. {SECRET}. The end."}
    gone = api.remember(SECRET, source=source)["ref"]
    kept = api.remember("The document is long", source=source)["ref"]
    assert api.delete(f"memories/{gone}").json()["probes"] == ABSENT
    text = api.get(f"memories/{kept}").json()["sources"][0]["text"]
    assert "Zebulon" not in text
    assert text.startswith("A long document.")


def test_names_that_only_it_named_go_with_it():
    api = api_of()
    gone = api.remember("Zebulon met Ana", entities=["Zebulon", "Ana"])["ref"]
    api.remember("Ana likes tea", entities=["Ana"])
    api.delete(f"memories/{gone}")
    assert list(Entity.objects.filter(vault=api.vault).values_list("name", flat=True)) == ["Ana"]
    assert list(Alias.objects.filter(vault=api.vault).values_list("key", flat=True)) == ["ana"]


def test_another_projects_memory_of_the_same_text_is_that_projects_own():
    api = api_of()
    ref = api.remember(SECRET, project="ana")["ref"]
    other = api.remember(SECRET, project="bo")["ref"]
    assert api.delete(f"memories/{ref}").json()["probes"] == ABSENT
    assert api.get(f"memories/{other}").status_code == 200


def test_another_vault_keeps_its_own():
    api, stranger = api_of(), api_of()
    ref, theirs = api.remember(SECRET)["ref"], stranger.remember(SECRET)["ref"]
    assert api.delete(f"memories/{ref}").json()["probes"] == ABSENT
    assert stranger.get("memories?q=zebulon").json()["results"][0]["ref"] == theirs


# -- Histories -----------------------------------------------------------------------------------


def chain_of_three(api):
    refs = [api.remember("Version one")["ref"]]
    for text in ("Version two", "Version three"):
        refs.append(
            api.post(f"memories/{refs[-1]}/supersede", {"content": text, "reason": text}).json()["ref"]
        )
    return refs


def test_what_stood_before_a_forgotten_link_points_past_it():
    api = api_of()
    first, second, third = chain_of_three(api)
    api.delete(f"memories/{second}")
    told = api.get(f"memories/{first}").json()
    assert told["superseded_by"] == third
    assert [step["ref"] for step in told["chain"]] == [first, third]
    assert b"two" not in json.dumps(told).encode()


def test_forgetting_the_head_brings_nothing_back_to_life():
    api = api_of()
    first, second, third = chain_of_three(api)
    api.delete(f"memories/{third}")
    assert api.get("memories?active=true").json()["results"] == []
    assert api.get(f"memories/{second}").json()["superseded_by"] == third
    assert [step["ref"] for step in api.get(f"memories/{first}").json()["chain"]] == [first, second]


def test_a_superseded_memory_of_the_same_text_goes_too():
    api = api_of()
    old = api.remember(SECRET)["ref"]
    new = api.post(f"memories/{old}/supersede", {"content": "The ledger is elsewhere"}).json()["ref"]
    again = api.remember(SECRET)["ref"]
    body = api.delete(f"memories/{again}").json()
    assert body["erased"]["memories"] == 2
    assert api.get(f"memories/{old}").status_code == 404
    assert api.get(f"memories/{new}").status_code == 200
    assert places_of("blue ledger") == []


def test_conflicts_with_it_go():
    api = api_of()
    ref = api.remember("Rate limit is 60 per minute")["ref"]
    other = api.remember("Rate limit is 600 per minute")["ref"]
    api.delete(f"memories/{ref}")
    assert not Conflict.objects.filter(vault=api.vault).exists()
    assert not api.get(f"memories/{other}").json()["conflicted"]


# -- Whoever keeps copies ------------------------------------------------------------------------


def test_listeners_are_told_and_their_counts_are_reported():
    api = api_of()
    ref = api.remember(SECRET)["ref"]
    heard = []

    def listen(sender, *, vault_id, refs, erase, **_):
        heard.append((vault_id, refs, erase))
        return {"postcards": 3}

    content_withdrawn.connect(listen)
    try:
        body = api.delete(f"memories/{ref}").json()
    finally:
        content_withdrawn.disconnect(listen)
    assert heard == [(api.vault.pk, frozenset({ref}), True)]
    assert body["erased"]["postcards"] == 3


def test_a_retry_of_the_write_revives_nothing():
    api = api_of()
    ref = api.post("memories", {"content": SECRET}, Idempotency_Key="k1").json()["ref"]
    api.delete(f"memories/{ref}")
    response = api.post("memories", {"content": SECRET}, Idempotency_Key="k1")
    assert response.status_code == 410
    assert not Memory.objects.filter(vault=api.vault).exists()
    assert IdempotencyRecord.objects.get(vault=api.vault).body is None


# -- Expiry --------------------------------------------------------------------------------------


def test_what_has_expired_is_told_by_no_surface():
    with time_machine.travel(datetime(2030, 1, 1, tzinfo=UTC), tick=False) as clock:
        api = api_of()
        ref = api.remember(SECRET, expires_at="2030-01-01T00:00:01Z")["ref"]
        assert api.get(f"memories/{ref}").status_code == 200
        clock.shift(timedelta(seconds=1))
        assert api.get(f"memories/{ref}").status_code == 404
        for path in ("memories", "memories?q=zebulon", "entities", "conflicts"):
            assert b"ebulon" not in api.get(path).content
        assert b"ebulon" not in b"".join(api.get("export").streaming_content)


def test_a_sweep_forgets_what_has_expired():
    with time_machine.travel(datetime(2030, 1, 1, tzinfo=UTC), tick=False) as clock:
        api = api_of()
        api.remember(SECRET, expires_at="2030-01-01T00:00:01Z")
        kept = api.remember("This stays")["ref"]
        clock.shift(timedelta(seconds=2))
        call_command("sweep", stdout=StringIO())
    assert list(Memory.objects.filter(vault=api.vault).values_list("ref", flat=True)) == [kept]
    assert places_of("Zebulon") == []
    assert sweep_vault(api.vault, now=datetime(2030, 1, 2, tzinfo=UTC))["expired memories"] == 0


def test_a_sweep_clears_what_was_forgotten_from_the_index_pages():
    api = api_of()
    api.delete(f"memories/{api.remember(SECRET)['ref']}")
    api.remember("Something else")
    call_command("sweep", stdout=StringIO())
    assert places_of("zebulon", in_index_pages=True) == []


def test_what_has_expired_may_be_remembered_anew_before_the_sweep():
    with time_machine.travel(datetime(2030, 1, 1, tzinfo=UTC), tick=False) as clock:
        api = api_of()
        ref = api.remember(SECRET, expires_at="2030-01-01T00:00:01Z")["ref"]
        clock.shift(timedelta(seconds=2))
        again = api.post("memories", {"content": SECRET})
    assert again.status_code == 201
    assert again.json()["ref"] != ref
    assert Tombstone.objects.filter(vault=api.vault, ref=ref).exists()
