"""Memories that are withdrawn while a pack with them is on its way."""

from collections.abc import Callable

import pytest

from contextpack.core.assembly import assemble
from contextpack.models import Pin, Receipt
from memories.models import Memory, Scope
from sessions.models import WorkingSession
from tests.clients import Api, api_of
from tests.factories import LONG_AGO
from tests.wire.asking import ask, fill, get, items, new_refs, ok, pack, refs, smp

Withdrawal = Callable[[Api, str], object]

WITHDRAWALS: dict[str, Withdrawal] = {
    "forgotten": lambda api, ref: api.delete(f"memories/{ref}"),
    "redacted": lambda api, ref: api.post(f"memories/{ref}/redact"),
    "archived": lambda api, ref: api.post(f"memories/{ref}/archive"),
    "expired": lambda api, ref: Memory.objects.filter(vault=api.vault, ref=ref).update(expires_at=LONG_AGO),
}
withdrawals = pytest.mark.parametrize("withdraw", WITHDRAWALS.values(), ids=WITHDRAWALS)


@pytest.fixture
def api(db):
    return api_of()


@pytest.fixture
def meanwhile(monkeypatch):
    """Let something happen right after each of the first packs was gathered."""

    def arrange(*happenings: Callable[[], object]) -> None:
        coming = iter(happenings)

        def assemble_and_happen(*given):
            made = assemble(*given)
            next(coming, lambda: None)()
            return made

        monkeypatch.setattr("contextpack.answering.assemble", assemble_and_happen)

    return arrange


@withdrawals
@pytest.mark.parametrize("asked", [{"pin": True}, {"session_id": "chat"}], ids=["pinned", "in a session"])
def test_what_was_withdrawn_meanwhile_is_neither_kept_nor_announced(api, meanwhile, withdraw, asked):
    gone, stays = fill(api, "The cellar key is under the oak", "The barn key is under the ash")
    meanwhile(lambda: withdraw(api, gone))
    told = smp(api, "cellar key, barn key", **asked)
    assert refs(told) == [stays]
    assert not Pin.objects.filter(vault=api.vault, refs__has_item=gone).exists()
    assert all(gone not in session.state["known"] for session in WorkingSession.objects.all())
    if "session_id" in asked:
        assert new_refs(told) == [stays]
    receipt = Receipt.objects.get(vault=api.vault)
    assert [item["ref"] for item in receipt.items] == [stays]


def test_a_folded_memory_that_was_forgotten_meanwhile_is_not_kept(api, meanwhile):
    fill(api, "The archive is closed on Monday", "On Monday the archive is closed")
    (row,) = items(pack(api, "archive Monday", model="claude"))
    (folded,) = row["folded_refs"]
    meanwhile(lambda: api.delete(f"memories/{folded}"))
    told = pack(api, "archive Monday", model="claude", pin=True)
    assert [item["folded_refs"] for item in items(told)] == [[]]
    assert api.get(f"pins/{told['pin']['id']}").status_code == 200


def test_what_moved_out_of_sight_meanwhile_is_not_announced(api, meanwhile):
    (ref,) = fill(api, "The table is of oak", project="hall")
    limited = api_of(api.vault, projects=["hall"])
    meanwhile(lambda: Memory.objects.filter(vault=api.vault, ref=ref).update(project="barn"))
    told = smp(limited, "oak table", session_id="chat")
    assert (refs(told), new_refs(told)) == ([], [])


def test_a_pack_whose_memories_go_faster_than_it_is_made_is_refused(api, meanwhile):
    made = fill(api, *(f"The table number {number} is of oak" for number in range(10)))
    meanwhile(*(lambda ref=ref: api.delete(f"memories/{ref}") for ref in made))
    response = ask(api, "oak table", session_id="chat", pin=True)
    assert response.status_code == 503
    assert response["Retry-After"]
    assert not Pin.objects.filter(vault=api.vault).exists()
    assert not WorkingSession.objects.filter(vault=api.vault).exists()


def test_a_pack_that_changes_nothing_asks_no_second_time(api, django_assert_max_num_queries, settings):
    settings.CORTEX_RECEIPTS = "none"
    fill(api, "The table is of oak")
    smp(api, "oak table")
    with django_assert_max_num_queries(20) as asked:
        smp(api, "oak table")
    assert not [
        q["sql"] for q in asked.captured_queries if q["sql"].startswith(("INSERT", "UPDATE", "BEGIN"))
    ]


# -- Pins that are read later --------------------------------------------------------------------


@withdrawals
def test_a_pin_is_read_only_as_long_as_all_of_it_may_be_served(api, withdraw):
    ref = api.remember("The cellar key is under the oak")["ref"]
    pin = smp(api, "cellar key", pin=True)["pin"]["id"]
    assert api.get(f"pins/{pin}").status_code == 200
    withdraw(api, ref)
    response = api.get(f"pins/{pin}")
    assert response.status_code == 410
    assert b"cellar" not in response.content


def test_a_pin_comes_back_with_the_memory_that_was_only_put_aside(api):
    ref = api.remember("The cellar key is under the oak")["ref"]
    pin = smp(api, "cellar key", pin=True)["pin"]["id"]
    assert api.post(f"memories/{ref}/archive").status_code == 200
    assert api.get(f"pins/{pin}").status_code == 410
    Memory.objects.filter(vault=api.vault, ref=ref).update(status="approved")
    assert api.get(f"pins/{pin}").status_code == 200


def test_a_pin_of_what_moved_out_of_sight_is_as_unknown_as_one_that_never_was(api):
    fill(api, "The ash is for the barn", project="hall")
    (ref,) = fill(api, "The oak is for the hall", project="hall")
    limited = api_of(api.vault, scopes=[Scope.READ], projects=["hall"])
    pin = smp(limited, "oak, ash", pin=True)["pin"]["id"]
    assert limited.get(f"pins/{pin}").status_code == 200
    Memory.objects.filter(vault=api.vault, ref=ref).update(project="barn")
    response = limited.get(f"pins/{pin}")
    assert response.status_code == 404
    assert response.content == limited.get("pins/pin_0000").content
    assert api.get(f"pins/{pin}").status_code == 200


def test_reading_a_pin_costs_two_statements_beside_the_token(api, django_assert_num_queries):
    fill(api, *(f"The table number {number} is of oak" for number in range(30)))
    pin = smp(api, "oak table", pin=True)["pin"]["id"]
    with django_assert_num_queries(3):
        ok_bytes = get(api, f"pins/{pin}")
    assert ok(ok_bytes)
