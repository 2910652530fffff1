"""What is kept between questions is what the rows say now, whoever changed them, and no more of it than is allowed."""

import tracemalloc
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import time_machine
from django.utils import timezone

from memories import catalogue
from memories.catalogue import catalogue_of, ids_in
from memories.models import Conflict, Memory
from tests.clients import api_of
from tests.factories import make_memory, make_vault
from tests.wire.asking import pack, refs

pytestmark = pytest.mark.django_db


def read_anew(vault):
    return catalogue._read(vault.pk)


def assert_same(kept, fresh):
    for column in (*catalogue._COLUMNS, "ages", "in_threads"):
        assert np.array_equal(getattr(kept, column), getattr(fresh, column)), column
    assert set(kept.links) == set(fresh.links)
    assert [kept.speakers[place] for place in kept.speaker] == [
        fresh.speakers[place] for place in fresh.speaker
    ]
    assert set(kept.speakers) == set(fresh.speakers)


def verbs(api):
    """Yield after each thing that can happen to memories."""
    first = api.remember("We use A in Lisbon", author="user", thread="t", position=1, speaker="Ana")["ref"]
    yield "written"
    api.remember("We use A in Lisbon")
    yield "repeated"
    api.post("memories/bulk", {"memories": [{"content": f"Fact {n}", "thread": "t"} for n in range(3)]})
    yield "in bulk"
    second = api.post(f"memories/{first}/supersede", {"content": "We moved to B"}).json()["ref"]
    yield "superseded"
    api.patch(f"memories/{second}", {"kind": "event", "project": "q", "occurred_at": "2024-02-29"})
    yield "amended"
    api.remember("Rate limit is 60 per minute")
    clashing = api.remember("Rate limit is 600 per minute")["ref"]
    yield "in conflict"
    conflict = Conflict.objects.get(vault_id=api.vault.pk)
    api.post(f"conflicts/{conflict.ref}/resolve", {"keep": clashing})
    yield "resolved"
    waits = api.post("tools/call", {"name": "propose_memory", "arguments": {"content": "Ana may like tea"}})
    yield "proposed"
    api.post(f"memories/{waits.json()['result']['ref']}/approve")
    yield "approved"
    api.post(f"memories/{second}/archive")
    yield "archived"
    api.post(f"memories/{second}/redact")
    yield "redacted"
    api.delete(f"memories/{clashing}")
    yield "forgotten"
    lines = b"".join(api.get("export").streaming_content)
    api.call("POST", "import", raw=lines)
    yield "imported"


def test_whatever_happens_it_says_what_the_rows_say():
    api = api_of()
    for what in verbs(api):
        kept = catalogue_of(api.vault.pk)
        assert kept.fingerprint == catalogue._state_of(api.vault.pk), what
        assert_same(kept, read_anew(api.vault))


def test_what_did_not_change_is_asked_for_in_one_statement(django_assert_num_queries):
    vault = make_vault()
    make_memory(vault)
    kept = catalogue_of(vault.pk)
    with django_assert_num_queries(1):
        assert catalogue_of(vault.pk) is kept


def test_one_change_is_read_and_not_the_rest(django_assert_num_queries):
    vault = make_vault()
    for number in range(5):
        make_memory(vault, content=f"Fact {number}")
    kept = catalogue_of(vault.pk)
    Memory.objects.in_vault(vault.pk).filter(pk=int(kept.ids[2])).update(speaker="Ana")
    with django_assert_num_queries(3):
        fresh = catalogue_of(vault.pk)
    assert_same(fresh, read_anew(vault))
    assert fresh.speakers[fresh.speaker[2]] == "Ana"


def test_a_row_saved_by_hand_is_noticed_too():
    vault = make_vault()
    memory = make_memory(vault)
    before = catalogue_of(vault.pk)
    memory.speaker = "Bo"
    memory.save(update_fields=["speaker"])
    assert catalogue_of(vault.pk).fingerprint != before.fingerprint


def test_nothing_is_kept_of_a_vault_from_which_something_was_withdrawn():
    api = api_of()
    ref = api.remember("The safe is behind the stove", speaker="Ana")["ref"]
    catalogue_of(api.vault.pk)
    assert catalogue._KEPT.get(api.vault.pk) is not None
    api.delete(f"memories/{ref}")
    assert catalogue._KEPT.get(api.vault.pk) is None


def test_it_keeps_no_more_rows_than_allowed(monkeypatch):
    monkeypatch.setattr(catalogue, "ROWS_KEPT", 3)
    shelf = catalogue._Shelf()
    vaults = [make_vault() for _ in range(3)]
    for vault in vaults:
        make_memory(vault, content="a")
        make_memory(vault, content="b")
        shelf.put(vault.pk, read_anew(vault))
    assert [shelf.get(vault.pk) is not None for vault in vaults] == [False, False, True]


def test_what_was_long_not_asked_for_is_dropped(monkeypatch):
    shelf, vault = catalogue._Shelf(), make_vault()
    monkeypatch.setattr(catalogue, "IDLE_SECONDS", 0.05)
    shelf.put(vault.pk, read_anew(vault))
    timer = shelf._tidying
    assert timer is not None
    timer.join(timeout=5)
    assert not shelf._kept, "although nobody asked"
    monkeypatch.undo()
    shelf.put(vault.pk, read_anew(vault))
    assert shelf.get(vault.pk) is not None
    monkeypatch.setattr(catalogue, "IDLE_SECONDS", -1.0)  # seen at once by whoever asks
    assert shelf.get(vault.pk) is None


def test_a_queryset_that_can_match_nothing_has_no_ids():
    vault = make_vault()
    make_memory(vault)
    assert len(ids_in(Memory.objects.in_vault(vault.pk))) == 1
    assert len(ids_in(Memory.objects.in_vault(vault.pk).none())) == 0


def test_days_are_those_of_utc_and_may_lie_long_ago():
    vault = make_vault()
    for content, moment in {
        "late": datetime(2026, 1, 1, 1, tzinfo=UTC),
        "before": datetime(1969, 12, 31, 23, tzinfo=UTC),
    }.items():
        make_memory(vault, content=content, occurred_at=moment)
    make_memory(vault, content="undated", occurred_at=None)
    assert sorted(catalogue_of(vault.pk).days.tolist()) == [catalogue.NO_DAY, -1, 20_454]


def test_what_expires_is_not_served_although_no_row_changed():
    api = api_of()
    api.remember("The guest code is 4711", expires_at=(timezone.now() + timedelta(hours=1)).isoformat())
    assert refs(pack(api, "guest code"))
    with time_machine.travel(timezone.now() + timedelta(hours=2), tick=False):
        assert not refs(pack(api, "guest code"))


def test_it_keeps_no_name_of_a_thread_and_none_of_a_speaker_who_is_gone():
    api = api_of()
    ref = api.remember("We sail at dawn", thread="harbour office", speaker="Wilhelmina")["ref"]
    api.remember("We sail at noon", thread="harbour office", speaker="Bo")
    before = catalogue_of(api.vault.pk)
    assert "harbour" not in repr(before)
    assert set(before.speakers) == {"Wilhelmina", "Bo"}
    Memory.objects.in_vault(api.vault.pk).filter(ref=ref).update(speaker=None)
    assert set(catalogue_of(api.vault.pk).speakers) == {None, "Bo"}


def test_a_hundred_thousand_rows_take_no_more_than_said():
    rows = [
        (pk, 1, "semantic", "claim", datetime(2026, 1, 1, tzinfo=UTC), None, f"thread {pk // 40}", pk, "Ana", 0,
         f"mem_{pk:012}", "", None, None)
        for pk in range(20_000)
    ]  # fmt: skip
    tracemalloc.start()
    kept = catalogue._columns_of(rows)
    assert len(kept.ages) == len(kept.in_threads) == len(rows)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / len(rows) < 35_000_000 / catalogue.ROWS_KEPT
