"""/v1/conflicts: contradictions found on write, and which side stands."""

from urllib.parse import quote

import pytest

from memories.models import Conflict, Scope
from tests.clients import api_of
from tests.factories import make_vault

pytestmark = pytest.mark.django_db

SIXTY, SIX_HUNDRED, NOT_SIXTY = (
    "Rate limit is 60 per minute",
    "Rate limit is 600 per minute",
    "Rate limit is not 60 per minute",
)


@pytest.fixture
def api():
    return api_of()


@pytest.fixture
def pair(api):
    return api.remember(SIXTY)["ref"], api.remember(SIX_HUNDRED)["ref"]


def the_conflict(api):
    (conflict,) = api.get("conflicts").json()["results"]
    return conflict


# -- Finding -------------------------------------------------------------------------------------


def test_statements_that_differ_by_a_digit_or_a_not_stay_apart_and_conflict(api):
    refs = {api.remember(text)["ref"] for text in (SIXTY, SIX_HUNDRED, NOT_SIXTY)}
    assert len(refs) == 3
    assert all(api.get(f"memories/{ref}").json()["conflicted"] for ref in refs)
    assert all(api.get(f"memories/{ref}").json()["superseded_by"] is None for ref in refs)
    assert len(api.get("conflicts").json()["results"]) >= 2


def test_a_conflict_tells_both_sides_the_older_first(api, pair):
    conflict = the_conflict(api)
    assert [memory["ref"] for memory in conflict["memories"]] == list(pair)
    assert conflict["id"].startswith("con_")
    assert conflict["reason"] == "number"
    assert (conflict["resolved_at"], conflict["resolution"], conflict["resolved_by"]) == (None, None, None)


def test_both_sides_say_that_they_are_in_doubt(api, pair):
    for ref, other in (pair, pair[::-1]):
        whole = api.get(f"memories/{ref}").json()
        assert whole["conflicted"]
        assert [conflict["with"] for conflict in whole["conflicts"]] == [other]
    assert all(memory["conflicted"] for memory in api.get("memories").json()["results"])


def test_unrelated_statements_do_not_conflict(api):
    first = api.remember("Ana leads team red")
    second = api.remember("Ana likes tea")
    assert api.get("conflicts").json()["results"] == []
    for told in (first, second):
        whole = api.get(f"memories/{told['ref']}").json()
        assert (whole["status"], whole["superseded_by"], whole["conflicted"]) == ("approved", None, False)


def test_what_was_over_before_the_other_began_does_not_conflict(api):
    api.remember(SIXTY, valid_from="2020-01-01", valid_to="2021-01-01")
    api.remember(SIX_HUNDRED, valid_from="2021-01-01")
    assert api.get("conflicts").json()["results"] == []


def test_other_projects_do_not_conflict_and_the_shared_ones_do(api):
    api.remember(SIXTY, project="ana")
    api.remember(SIX_HUNDRED, project="bo")
    assert api.get("conflicts").json()["results"] == []
    api.remember(NOT_SIXTY)
    assert api.get("conflicts").json()["results"] != []


def test_a_conflict_with_what_is_archived_puts_nothing_in_doubt(api, pair):
    api.post(f"memories/{pair[0]}/archive")
    assert not api.get(f"memories/{pair[1]}").json()["conflicted"]


# -- The user's word -----------------------------------------------------------------------------


def test_an_agent_that_contradicts_the_user_waits_however_sure_it_is(api):
    mine = api.remember(SIXTY, author="user")
    told = api.remember(SIX_HUNDRED, author="agent", confidence=1.0)
    assert (told["status"], told["flags"]) == ("pending", ["contradicts_user"])
    kept = api.get(f"memories/{mine['ref']}").json()
    assert (kept["status"], kept["author"], kept["content"], kept["superseded_by"]) == (
        "approved",
        "user",
        SIXTY,
        None,
    )
    assert not kept["conflicted"]
    assert len(api.get("conflicts").json()["results"]) == 1


def test_an_agents_insistence_changes_nothing(api):
    api.remember(SIXTY, author="user")
    for _ in range(3):
        told = api.remember(SIX_HUNDRED, author="inferred")
    assert (told["status"], told["flags"], told["occurrences"]) == ("pending", ["contradicts_user"], 3)


def test_the_user_may_contradict_the_user_and_the_agent(api):
    api.remember(SIXTY, author="agent")
    assert api.remember(SIX_HUNDRED, author="user")["status"] == "approved"
    assert api.remember(NOT_SIXTY, author="user")["status"] == "approved"


# -- Resolving -----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [0, 1])
def test_keeping_one_side_supersedes_the_other(api, pair, side):
    kept, lost = pair[side], pair[1 - side]
    response = api.post(f"conflicts/{the_conflict(api)['id']}/resolve", {"keep": kept})
    body = response.json()
    assert response.status_code == 200
    assert (body["resolution"], body["resolved_by"][:6]) == (kept, "token:")
    assert api.get(f"memories/{lost}").json()["superseded_by"] == kept
    assert not api.get(f"memories/{kept}").json()["conflicted"]
    assert api.get("conflicts").json()["results"] == []
    assert len(api.get("conflicts?resolved=true").json()["results"]) == 1


def test_keeping_both_clears_the_flag(api, pair):
    api.post(f"conflicts/{the_conflict(api)['id']}/resolve", {"keep": "both"})
    for ref in pair:
        whole = api.get(f"memories/{ref}").json()
        assert (whole["conflicted"], whole["superseded_by"]) == (False, None)


def test_keeping_what_waited_is_its_review(api):
    mine = api.remember(SIXTY, author="user")["ref"]
    theirs = api.remember(SIX_HUNDRED)["ref"]
    api.post(f"conflicts/{the_conflict(api)['id']}/resolve", {"keep": theirs})
    whole = api.get(f"memories/{theirs}").json()
    assert (whole["status"], whole["flags"]) == ("approved", [])
    assert whole["reviewed_at"] is not None
    assert api.get(f"memories/{mine}").json()["superseded_by"] == theirs


def test_a_conflict_is_resolved_once(api, pair):
    conflict = the_conflict(api)["id"]
    assert api.post(f"conflicts/{conflict}/resolve", {"keep": "both"}).status_code == 200
    assert api.post(f"conflicts/{conflict}/resolve", {"keep": pair[0]}).status_code == 409


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"keep": ""},
        {"keep": None},
        {"keep": "neither"},
        {"keep": "mem_000000000000"},
        {"keep": "both", "x": 1},
    ],
)
def test_what_is_neither_side_nor_both_is_refused(api, pair, body):
    assert api.post(f"conflicts/{the_conflict(api)['id']}/resolve", body).status_code == 422
    assert Conflict.objects.filter(vault=api.vault, resolved_at__isnull=True).count() == 1


def test_what_is_elsewhere_is_not_here(api, pair):
    conflict = the_conflict(api)["id"]
    stranger = api_of()
    answers = [
        stranger.post(f"conflicts/{ref}/resolve", {"keep": "both"})
        for ref in (conflict, "con_000000000000", "x")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert stranger.get("conflicts").json()["results"] == []


def test_a_conflict_is_seen_where_both_sides_are():
    vault = make_vault()
    api = api_of(vault)
    api.remember(SIXTY, project="ana")
    api.remember(SIX_HUNDRED, project="")
    assert len(api_of(vault, projects=["ana"]).get("conflicts").json()["results"]) == 1
    outside = api_of(vault, projects=["bo"])
    assert outside.get("conflicts").json()["results"] == []
    assert outside.post(f"conflicts/{the_conflict(api)['id']}/resolve", {"keep": "both"}).status_code == 404


def test_resolving_needs_the_scope_to_review(api, pair):
    writer = api_of(api.vault, scopes=[Scope.READ, Scope.WRITE])
    assert writer.post(f"conflicts/{the_conflict(api)['id']}/resolve", {"keep": "both"}).status_code == 403


def test_conflicts_come_in_pages(api):
    for number in range(5):
        api.remember(f"The limit of zone {'abcde'[number]} is 60 per minute")
        api.remember(f"The limit of zone {'abcde'[number]} is 600 per minute")
    total = Conflict.objects.filter(vault=api.vault).count()
    seen, cursor = [], ""
    while True:
        body = api.get(f"conflicts?limit=2{cursor}").json()
        seen += [conflict["id"] for conflict in body["results"]]
        if body["next"] is None:
            break
        cursor = f"&cursor={quote(body['next'])}"
    assert len(seen) == len(set(seen)) == total >= 5


def test_a_page_takes_a_fixed_number_of_statements(api, django_assert_num_queries):
    for zone in "abcdef":
        api.remember(f"The limit of zone {zone} is 60 per minute")
        api.remember(f"The limit of zone {zone} is 600 per minute")
    with django_assert_num_queries(5):
        assert len(api.get("conflicts").json()["results"]) >= 6
