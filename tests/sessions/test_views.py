"""/v1/sessions: ana looks at her conversations, bob must not see that they exist."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from rest_framework.test import APIClient

from memories.models import Scope, Vault
from sessions.models import WorkingSession
from tests.sessions.rows import (
    NOW,
    caller_with,
    change,
    forget,
    make_memories,
    make_token,
    make_vault,
    step,
    supersede,
)


def client_of(vault: Vault, *scopes: Scope, projects: tuple[str, ...] = ()) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {make_token(vault, *scopes, projects=projects)}")
    return client


@pytest.fixture
def vault(db):
    vault = make_vault()
    make_memories(vault, "mem_a", "mem_b", "mem_head")
    return vault


@pytest.fixture
def ana(vault):
    return client_of(vault)


# -- The list -------------------------------------------------------------------------------------


def test_a_vault_without_conversations_has_an_empty_list(ana):
    assert ana.get("/v1/sessions").json() == {"results": [], "next": None}


def test_a_conversation_is_listed_with_its_turns(ana, vault):
    step(vault, "mem_a", request_digest="same")
    step(vault, "mem_a", request_digest="same", now=NOW + timedelta(minutes=1))
    assert ana.get("/v1/sessions").json()["results"] == [
        {
            "session_id": "chat-1",
            "turn": 1,
            "cursor": "2",
            "created_at": "2026-03-01T12:00:00+00:00",
            "updated_at": "2026-03-01T12:01:00+00:00",
        }
    ]


def test_pages_hold_every_conversation_once_though_all_began_at_once(ana, vault):
    for number in range(7):
        step(vault, "mem_a", session_id=f"chat-{number}")
    found, cursor = [], None
    for _ in range(4):
        page = ana.get("/v1/sessions", {"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        found += [session["session_id"] for session in page["results"]]
        cursor = page["next"]
    assert cursor is None
    assert sorted(found) == [f"chat-{number}" for number in range(7)]


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 201}, {"limit": "many"}, {"unknown": 1}, {"limit": "true"}]
)
def test_an_unfit_query_is_refused(ana, query):
    assert ana.get("/v1/sessions", query).status_code == 422


def test_a_cursor_of_nobody_is_refused(ana):
    assert ana.get("/v1/sessions", {"cursor": "made-up"}).status_code == 400


def test_a_cursor_of_another_vault_is_not_here(ana, vault):
    for number in range(3):
        step(vault, "mem_a", session_id=f"chat-{number}")
    cursor = ana.get("/v1/sessions", {"limit": 1}).json()["next"]
    bob = client_of(make_vault("bob"))
    assert bob.get("/v1/sessions", {"cursor": cursor}).status_code == 404


def test_the_list_costs_one_query_beside_the_token(ana, vault, django_assert_num_queries):
    for number in range(20):
        step(vault, "mem_a", session_id=f"chat-{number}")
    ana.get("/v1/sessions")  # notes the token's use
    with django_assert_num_queries(2):
        ana.get("/v1/sessions")


# -- One conversation -----------------------------------------------------------------------------


def test_a_conversation_shows_known_set_trajectory_centroid_and_deltas(ana, vault):
    step(vault, "mem_a", "mem_b", rung=0, task_terms=["atlas", "launch", "atlas"], tokens=30)
    supersede(vault, "mem_a", "mem_head")
    step(vault, "mem_head", "mem_b", tokens=20)

    body = ana.get("/v1/sessions/chat-1").json()

    assert (body["turn"], body["cursor"]) == (2, "2")
    assert body["known"] == {"mem_b": 2, "mem_head": 2}
    assert body["rungs"] == {"mem_b": "full", "mem_head": "full"}
    assert body["trajectory"] == [
        {"turn": 1, "tokens": 30, "ids": ["mem_a", "mem_b"]},
        {"turn": 2, "tokens": 20, "ids": ["mem_head", "mem_b"]},
    ]
    assert list(body["centroid"]) == ["atlas", "launch"]
    assert [delta["cursor"] for delta in body["deltas"]] == ["1", "2"]
    assert body["deltas"][1] == {
        "cursor": "2",
        "base": "1",
        "turn": 2,
        "at": "2026-03-01T12:00:00+00:00",
        "new": [{"ref": "mem_head", "delta_relevance": 0.5}],
        "evicted": [],
        "superseded": [{"ref": "mem_a", "replacement": "mem_head"}],
        "carried": [],
        "changed": ["mem_b"],
        "tokens_saved": 0,
        "repeated": False,
        "reset": False,
    }
    assert body["deltas_kept"] == 64


@pytest.mark.parametrize(
    "withdraw",
    [forget, lambda vault, ref: change(vault, ref, redacted_at=NOW)],
    ids=["forgotten", "redacted"],
)
def test_a_withdrawn_memory_is_named_nowhere(ana, vault, withdraw):
    step(vault, "mem_a", "mem_b")
    step(vault, "mem_a", "mem_b")
    supersede(vault, "mem_a", "mem_head")
    step(vault, "mem_head")
    for ref in ("mem_a", "mem_head"):
        withdraw(vault, ref)
    told = ana.get("/v1/sessions/chat-1").content.decode()
    assert "mem_b" in told
    assert "mem_a" not in told
    assert "mem_head" not in told


@pytest.mark.parametrize("name", ["team/atlas", "ünï 設定", "a%b", "..", "chat-1/", "x" * 200])
def test_any_name_can_be_looked_up(ana, vault, name):
    step(vault, "mem_a", session_id=name)
    assert ana.get(f"/v1/sessions/{quote(name, safe='')}").json()["session_id"] == name


def test_a_conversation_costs_three_queries_beside_the_token(ana, vault, django_assert_num_queries):
    for _ in range(12):
        step(vault, "mem_a", "mem_b")
    ana.get("/v1/sessions")
    with django_assert_num_queries(4):
        ana.get("/v1/sessions/chat-1")


# -- Ending it ------------------------------------------------------------------------------------


def test_ending_a_conversation_makes_its_next_call_a_first_call(vault):
    step(vault, "mem_a")
    writer = client_of(vault, Scope.READ, Scope.WRITE)
    assert writer.delete("/v1/sessions/chat-1").status_code == 204
    assert writer.get("/v1/sessions/chat-1").status_code == 404
    assert writer.delete("/v1/sessions/chat-1").status_code == 404
    assert step(vault, "mem_a").new == (("mem_a", 0.5),)


def test_a_reading_token_ends_nothing(ana, vault):
    step(vault, "mem_a")
    assert ana.delete("/v1/sessions/chat-1").status_code == 403
    assert WorkingSession.objects.filter(vault=vault).exists()


# -- Walls ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["get", "delete"])
def test_a_stranger_gets_the_answer_for_what_never_existed(vault, method):
    step(vault, "mem_a")
    bob = client_of(make_vault("bob"), Scope.READ, Scope.WRITE)
    teammate = client_of(vault, Scope.READ, Scope.WRITE, projects=("atlas",))
    for stranger in (bob, teammate):
        theirs = getattr(stranger, method)("/v1/sessions/chat-1")
        nobodys = getattr(stranger, method)("/v1/sessions/chat-none")
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.content == nobodys.content
    assert WorkingSession.objects.filter(vault=vault).count() == 1


def test_a_stranger_lists_only_its_own(vault):
    step(vault, "mem_a")
    step(vault, "mem_b", session_id="team", caller=caller_with(vault, "atlas"))
    assert client_of(make_vault("bob")).get("/v1/sessions").json()["results"] == []
    teammates = client_of(vault, projects=("atlas",)).get("/v1/sessions").json()["results"]
    assert [session["session_id"] for session in teammates] == ["team"]


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/sessions/chat-1"])
def test_nobody_looks_without_a_token(db, path):
    assert APIClient().get(path).status_code == 401
