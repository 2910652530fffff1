"""GET /v1/proposals: what waits, with what it would replace or contradicts, and the change in words."""

import pytest

from memories.models import Scope
from tests.clients import api_of

pytestmark = pytest.mark.django_db

MAY, JUNE = "The launch is in May", "The launch is in June"


@pytest.fixture
def api():
    return api_of()


def proposals(api, query=""):
    response = api.get(f"proposals{query}")
    assert response.status_code == 200, response.content
    return response.json()["results"]


def propose(api, content, **fields):
    arguments = {"content": content, **fields}
    return api.post("tools/call", {"name": "propose_memory", "arguments": arguments}).json()["result"]["ref"]


def test_a_proposal_tells_what_it_would_replace_and_how(api):
    old = api.remember(MAY, author="user")["ref"]
    new = api.post(f"memories/{old}/supersede", {"content": JUNE}).json()["ref"]
    (told,) = proposals(api)
    assert (told["memory"]["ref"], told["against"], told["flags"]) == (new, old, ["contradicts_user"])
    assert [memory["ref"] for memory in told["replaces"]] == [old]
    assert told["contradicts"] == []
    assert told["diff"] == [
        {"op": "equal", "text": "The launch is in "},
        {"op": "delete", "text": "May"},
        {"op": "insert", "text": "June"},
    ]


def test_a_contradiction_is_shown_against_what_it_contradicts(api):
    mine = api.remember("Rate limit is 60 per minute", author="user")["ref"]
    api.remember("Rate limit is 600 per minute")
    (told,) = proposals(api)
    assert ([memory["ref"] for memory in told["contradicts"]], told["replaces"]) == ([mine], [])
    assert told["against"] == mine
    assert {"op": "insert", "text": "600"} in told["diff"]


def test_what_stands_alone_has_no_diff(api):
    propose(api, "Something new")
    (told,) = proposals(api)
    assert (told["replaces"], told["contradicts"], told["against"], told["diff"]) == ([], [], None, [])


@pytest.mark.parametrize("verb", ["approve", "decline", "archive", "redact"])
def test_what_was_decided_waits_no_more(api, verb):
    ref = propose(api, "Something new")
    assert api.post(f"memories/{ref}/{verb}").status_code == 200
    assert proposals(api) == []


def test_the_newest_comes_first_and_pages_hold_while_others_are_decided(api):
    refs = [propose(api, f"Thing {n}") for n in range(5)]
    first = api.get("proposals?limit=2").json()
    api.post(f"memories/{refs[4]}/approve")
    propose(api, "A later one")
    second = api.get(f"proposals?limit=3&cursor={first['next']}").json()
    told = [proposal["memory"]["ref"] for proposal in first["results"] + second["results"]]
    assert told == refs[::-1]
    assert second["next"] is None
    assert api.get(f"decisions?cursor={first['next']}").status_code == 422


def test_nothing_out_of_sight_is_told(api):
    old = api.remember(MAY, author="user", project="ana")["ref"]
    shared = api.remember("The launch is not in August", author="user", project="bo")["ref"]
    api.post(f"memories/{old}/supersede", {"content": JUNE})
    narrow = api_of(api.vault, projects=["bo"], scopes=[Scope.REVIEW, Scope.READ])
    assert proposals(narrow) == []
    assert shared not in str(proposals(api_of(api.vault, projects=["ana"])))


def test_a_redacted_side_is_not_shown(api):
    old = api.remember(MAY, author="user")["ref"]
    api.post(f"memories/{old}/supersede", {"content": JUNE})
    api.post(f"memories/{old}/redact")
    (told,) = proposals(api)
    assert (told["replaces"], told["diff"]) == ([], [])


def test_the_list_takes_a_fixed_number_of_statements(django_assert_num_queries):
    for count in (1, 8):
        api = api_of()
        for n in range(count):
            old = api.remember(f"Zebulon number {n} is in May", author="user")["ref"]
            api.post(f"memories/{old}/supersede", {"content": f"Zebulon number {n} is in June"})
        api.get("proposals?limit=50")
        with django_assert_num_queries(8):
            assert len(proposals(api, "?limit=50")) >= count
