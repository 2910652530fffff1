"""Stepping a session over real rows: what became of memories, lost answers, serialised calls."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from cortex.errors import NotHere
from memories.access import operator_of
from memories.core.kinds import Status
from memories.models import Vault
from memories.signals import content_withdrawn
from sessions.core.delta import SESSION_LOG_CAP, Delta
from sessions.ending import end_session
from sessions.models import DeltaRecord, EndedSession, WorkingSession
from sessions.stepping import forget_refs, remembered
from tests.sessions.rows import (
    NOW,
    caller_with,
    change,
    forget,
    known_to,
    make_memories,
    make_memory,
    make_vault,
    pack,
    step,
    supersede,
)


@pytest.fixture
def vault(db):
    vault = make_vault()
    make_memories(vault, "mem_a", "mem_b", "mem_c", "mem_head")
    return vault


def cool(vault: Vault, *, turns: int = 4) -> Delta:
    """Let turns pass that serve only mem_b; answers the last delta."""
    return [step(vault, "mem_b") for _ in range(turns)][-1]


# -- A turn ---------------------------------------------------------------------------------------


def test_a_first_call_makes_the_session_and_announces_all(vault):
    delta = step(vault, "mem_a", "mem_b", task_terms=["atlas"], tokens=40)
    session = WorkingSession.objects.get(vault=vault)
    assert [ref for ref, _ in delta.new] == ["mem_a", "mem_b"]
    assert (session.turn, session.delta_cursor, session.updated_at) == (1, 1, NOW)
    assert session.state["trajectory"] == [{"turn": 1, "tokens": 40, "ids": ["mem_a", "mem_b"]}]
    assert session.state["centroid"] == {"atlas": 0.25}


def test_a_second_call_announces_only_what_is_new(vault):
    step(vault, "mem_a")
    delta = step(vault, "mem_a", "mem_b")
    assert delta.new == (("mem_b", 0.5),)
    assert (delta.cursor, delta.carried) == (2, ("mem_a",))


def test_identical_calls_are_one_turn_with_a_cursor_each(vault):
    deltas = [step(vault, "mem_a", request_digest="same") for _ in range(14)]
    assert [delta.cursor for delta in deltas] == list(range(1, 15))
    assert WorkingSession.objects.get(vault=vault).turn == 1


def test_a_cold_memory_is_evicted(vault):
    step(vault, "mem_a")
    assert cool(vault).evicted == ("mem_a",)
    assert known_to(vault) == {"mem_b"}


# -- What became of held memories -----------------------------------------------------------------


def test_a_superseded_memory_is_announced_with_the_head_that_is_served(vault):
    step(vault, "mem_a")
    supersede(vault, "mem_a", "mem_head")
    assert step(vault, "mem_head").superseded == (("mem_a", "mem_head"),)
    assert step(vault, "mem_head").superseded == ()


def test_a_chain_is_announced_with_its_active_head(vault):
    step(vault, "mem_a")
    supersede(vault, "mem_a", "mem_b")
    supersede(vault, "mem_b", "mem_head")
    assert step(vault, "mem_head").superseded == (("mem_a", "mem_head"),)


def test_a_superseded_and_redacted_memory_is_not_named(vault):
    step(vault, "mem_a", "mem_b")
    supersede(vault, "mem_a", "mem_head")
    change(vault, "mem_a", redacted_at=NOW)
    delta = step(vault, "mem_head")
    assert (delta.superseded, delta.evicted) == ((), ())
    assert known_to(vault) == {"mem_b", "mem_head"}


def test_a_redacted_head_is_not_named(vault):
    step(vault, "mem_a", "mem_head")
    supersede(vault, "mem_a", "mem_head")
    change(vault, "mem_head", redacted_at=NOW)
    assert step(vault, "mem_b").superseded == (("mem_a", None),)


def redact(vault, ref):
    change(vault, ref, redacted_at=NOW)


def relabel(vault, ref):
    change(vault, ref, project="elsewhere")


def archive(vault, ref):
    change(vault, ref, status=Status.ARCHIVED)


def expire(vault, ref):
    change(vault, ref, expires_at=NOW)


def withhold(vault, ref):
    change(vault, ref, withheld=True)


@pytest.mark.parametrize("withdraw", [redact, relabel, forget])
def test_what_may_not_be_named_leaves_the_known_set_unnamed(vault, withdraw):
    team = caller_with(vault, "team")
    step(vault, "mem_a", caller=team)
    withdraw(vault, "mem_a")
    deltas = [step(vault, "mem_b", caller=team) for _ in range(6)]
    assert [delta.evicted for delta in deltas] == [()] * 6
    assert known_to(vault) == {"mem_b"}


@pytest.mark.parametrize("withdraw", [archive, expire, withhold])
def test_what_is_served_no_more_but_may_be_named_is_evicted_once_cold(vault, withdraw):
    step(vault, "mem_a")
    withdraw(vault, "mem_a")
    assert cool(vault, turns=3).evicted == ()
    assert step(vault, "mem_b").evicted == ("mem_a",)


@pytest.mark.parametrize("withdraw", [redact, forget, archive, expire, withhold])
def test_content_mode_retracts_what_was_withdrawn(vault, withdraw):
    step(vault, "mem_a", content_travels_once=True)
    withdraw(vault, "mem_a")
    assert step(vault, "mem_b", content_travels_once=True).retracted == ("mem_a",)
    assert known_to(vault) == {"mem_b"}


def test_expiry_is_judged_by_the_moment_of_the_call(vault):
    change(vault, "mem_a", expires_at=NOW + timedelta(hours=1))
    step(vault, "mem_a", content_travels_once=True)
    assert step(vault, "mem_b", content_travels_once=True).retracted == ()
    later = NOW + timedelta(hours=1)
    assert step(vault, "mem_b", content_travels_once=True, now=later).retracted == ("mem_a",)


def test_content_mode_asks_for_the_heads_that_the_client_lacks(vault):
    asked = []

    def offer(heads):
        asked.append(set(heads))
        return pack(*heads)

    step(vault, "mem_a", "mem_b", content_travels_once=True, offer=offer)
    supersede(vault, "mem_a", "mem_head")
    delta = step(vault, "mem_c", content_travels_once=True, offer=offer)
    assert asked == [{"mem_head"}]
    assert delta.superseded == (("mem_a", "mem_head"),)
    assert delta.attached == ("mem_head",)
    assert known_to(vault) == {"mem_b", "mem_c", "mem_head"}


def test_content_mode_holds_a_notice_back_whose_head_does_not_fit(vault):
    step(vault, "mem_a", content_travels_once=True)
    supersede(vault, "mem_a", "mem_head")
    assert step(vault, "mem_b", content_travels_once=True, offer=lambda heads: []).superseded == ()
    assert step(vault, "mem_head", content_travels_once=True).superseded == (("mem_a", "mem_head"),)


# -- Lost answers ---------------------------------------------------------------------------------


def test_a_lost_answer_comes_again(vault):
    step(vault, "mem_a", since=0)
    step(vault, "mem_a", "mem_b", since=1)
    again = step(vault, "mem_a", "mem_b", since=1)
    assert again.new == (("mem_b", 0.5),)
    assert (again.cursor, again.reset) == (3, False)


def test_a_lost_retraction_comes_again(vault):
    step(vault, "mem_a", since=0, content_travels_once=True)
    change(vault, "mem_a", redacted_at=NOW)
    for _ in range(2):
        assert step(vault, "mem_b", since=1, content_travels_once=True).retracted == ("mem_a",)


def test_an_unknown_cursor_is_a_full_resync(vault):
    step(vault, "mem_a")
    delta = step(vault, "mem_a", since=999_999_999_999_999)
    assert (delta.new, delta.reset) == ((("mem_a", 0.5),), True)


def test_a_cursor_of_a_session_that_never_was_is_a_full_resync(vault):
    assert step(vault, "mem_a", since=5).reset


def test_dropped_memories_come_in_full_again(vault):
    step(vault, "mem_a", "mem_b")
    assert step(vault, "mem_a", "mem_b", dropped=["mem_a", "nonsense"]).new == (("mem_a", 0.5),)


def test_the_log_is_bounded_and_what_it_lost_is_a_resync(vault):
    for _ in range(SESSION_LOG_CAP + 20):
        step(vault, "mem_a", request_digest="same")
    session = WorkingSession.objects.get(vault=vault)
    assert len(remembered(session)) == SESSION_LOG_CAP
    assert DeltaRecord.objects.filter(vault=vault).count() < SESSION_LOG_CAP + 16
    assert not step(vault, "mem_a", since=session.delta_cursor - SESSION_LOG_CAP).reset
    assert step(vault, "mem_a", since=session.delta_cursor - SESSION_LOG_CAP - 1).reset


# -- Forgetting -----------------------------------------------------------------------------------


def test_forgetting_wipes_the_traces_in_the_sessions_that_dealt_with_the_memory(vault):
    step(vault, "mem_a", "mem_b", task_terms=["locker"])
    step(vault, "mem_b", session_id="other", task_terms=["invoice"])
    other_vault = make_vault("bob")
    step(other_vault, "mem_a", task_terms=["theirs"])

    told = content_withdrawn.send(sender=None, vault_id=vault.pk, refs=frozenset({"mem_a"}), erase=True)

    states = {
        (session.vault_id, session.session_id): session.state for session in WorkingSession.objects.all()
    }
    erased: list[Any] = [counts for _, counts in told]
    assert {"sessions": 1} in erased
    assert states[vault.pk, "chat-1"]["centroid"] == {}
    assert states[vault.pk, "chat-1"]["trajectory"][0]["ids"] == ["mem_b"]
    assert states[vault.pk, "other"]["centroid"] == {"invoice": 0.25}
    assert states[other_vault.pk, "chat-1"]["centroid"] == {"theirs": 0.25}


def test_forgetting_reaches_a_session_that_only_remembers_in_its_log(vault):
    step(vault, "mem_a", task_terms=["locker"])
    for _ in range(9):
        step(vault, "mem_b")
    assert forget_refs(vault.pk, ["mem_a"]) == 1
    assert forget_refs(vault.pk, ["mem_"]) == 0


def test_a_forgotten_memory_is_still_retracted(vault):
    step(vault, "mem_a", content_travels_once=True)
    forget(vault, "mem_a")
    forget_refs(vault.pk, ["mem_a"])
    assert step(vault, "mem_b", content_travels_once=True).retracted == ("mem_a",)


def test_what_is_only_archived_wipes_nothing(vault):
    step(vault, "mem_a", task_terms=["locker"])
    content_withdrawn.send(sender=None, vault_id=vault.pk, refs=frozenset({"mem_a"}), erase=False)
    assert WorkingSession.objects.get(vault=vault).state["centroid"] == {"locker": 0.25}


# -- Whose session --------------------------------------------------------------------------------


def test_the_same_name_in_another_vault_is_another_session(vault):
    other = make_vault("bob")
    step(vault, "mem_a")
    assert step(other, "mem_x").cursor == 1


def test_tokens_with_the_same_projects_share_a_session(vault):
    step(vault, "mem_a", caller=caller_with(vault, "x", "y"))
    assert step(vault, "mem_a", caller=caller_with(vault, "y", "x")).new == ()


def test_a_token_of_other_projects_has_its_own_session(vault):
    make_memory(vault, "mem_x", project="x")
    step(vault, "mem_x")
    supersede(vault, "mem_x", "mem_head")
    delta = step(vault, "mem_head", caller=caller_with(vault, "y"))
    assert (delta.cursor, delta.superseded) == (1, ())


def test_an_ended_session_starts_over(vault):
    step(vault, "mem_a")
    end_session(operator_of(vault), "chat-1")
    assert not DeltaRecord.objects.filter(vault=vault).exists()
    delta = step(vault, "mem_a")
    assert (delta.turn, delta.new) == (1, (("mem_a", 0.5),))


@pytest.mark.parametrize("since", [1, 2, 3, 4, 900])
def test_a_cursor_of_an_ended_session_is_a_full_resync_in_the_next_one_of_its_name(vault, since):
    for _ in range(3):
        step(vault, "mem_a")
    end_session(operator_of(vault), "chat-1")
    step(vault, "mem_b")
    delta = step(vault, "mem_a", "mem_b", since=since)
    if since == 4:
        assert (delta.new, delta.reset) == ((("mem_a", 0.5),), False)
    else:
        assert (len(delta.new), delta.reset) == (2, True)


def test_the_latest_cursor_of_an_ended_session_is_a_resync_already_in_the_first_answer(vault):
    step(vault, "mem_a")
    end_session(operator_of(vault), "chat-1")
    delta = step(vault, "mem_a", since=1)
    assert (delta.cursor, delta.new, delta.reset) == (2, (("mem_a", 0.5),), True)


def test_cursors_of_a_name_count_on_however_often_it_ends(vault):
    cursors = []
    for _ in range(4):
        cursors += [step(vault, "mem_a").cursor, step(vault, "mem_a", since=0).cursor]
        end_session(operator_of(vault), "chat-1")
    assert cursors == list(range(1, 9))
    assert EndedSession.objects.filter(vault=vault).count() == 1


def test_a_lost_answer_comes_again_in_a_session_whose_name_was_used_before(vault):
    step(vault, "mem_a")
    end_session(operator_of(vault), "chat-1")
    step(vault, "mem_a")
    step(vault, "mem_a", "mem_b", since=2)
    again = step(vault, "mem_a", "mem_b", since=2)
    assert (again.new, again.reset) == ((("mem_b", 0.5),), False)


def test_an_end_leaves_nothing_by_which_to_know_the_name(vault):
    step(vault, "mem_a", session_id="call with Dr Who")
    end_session(operator_of(vault), "call with Dr Who")
    (kept,) = EndedSession.objects.filter(vault=vault).values()
    assert kept.keys() == {"id", "vault_id", "place", "last_cursor"}
    assert kept["place"] < 2**32


def test_another_name_another_view_and_another_vault_begin_at_one(vault):
    step(vault, "mem_a")
    end_session(operator_of(vault), "chat-1")
    other = make_vault("bob")
    assert step(vault, "mem_a", session_id="chat-2").cursor == 1
    assert step(vault, "mem_a", caller=caller_with(vault, "x")).cursor == 1
    assert step(other, "mem_a").cursor == 1


def test_a_session_of_nobody_cannot_be_ended(vault):
    step(vault, "mem_a")
    for stranger in (operator_of(make_vault("bob")), caller_with(vault, "x")):
        with pytest.raises(NotHere):
            end_session(stranger, "chat-1")


# -- Cost -----------------------------------------------------------------------------------------


def test_a_call_costs_five_queries(vault, django_assert_num_queries):
    step(vault, "mem_a", "mem_b")
    with django_assert_num_queries(5):
        step(vault, "mem_b")


def test_a_call_that_serves_all_that_is_held_costs_three(vault, django_assert_num_queries):
    step(vault, "mem_a")
    with django_assert_num_queries(3):
        step(vault, "mem_a", "mem_b")


def test_every_statement_names_the_vault(vault):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        step(vault, "mem_a", "mem_b")
        supersede(vault, "mem_a", "mem_head")
        for _ in range(17):
            step(vault, "mem_c", since=1, content_travels_once=True, offer=lambda heads: pack(*heads))
        end_session(operator_of(vault), "chat-1")
    statements = [query["sql"] for query in queries if "session_working_set" in query["sql"]]
    statements += [query["sql"] for query in queries if "deltarecord" in query["sql"]]
    assert len(statements) > 50
    assert [
        sql for sql in statements if "vault_id" not in sql.partition("WHERE")[2] and "INSERT" not in sql
    ] == []


# -- Two at once ----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_twenty_parallel_calls_are_serialised():
    vault = make_vault()
    refs = [f"mem_{n}" for n in range(20)]
    make_memories(vault, *refs)
    deltas, failures = [], []

    def call(n):
        try:
            with transaction.atomic():
                deltas.append(step(vault, *refs, request_digest=str(n)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test tells it
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=call, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    announced = [ref for delta in deltas for ref, _ in delta.new]
    assert failures == []
    assert sorted(delta.cursor for delta in deltas) == list(range(1, 21))
    assert sorted(announced) == sorted(refs)
