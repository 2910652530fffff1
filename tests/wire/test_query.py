"""`/v1/query`, line by line: every knob narrows, whatever is malformed is refused (docs/wire.md, Query language; CMP §6)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from memories.core.kinds import Kind
from tests.clients import Api, api_of
from tests.factories import LONG_AGO
from tests.wire.asking import Body, blamed, error_of, expand, fill, get, ok, query, refs
from tests.wire.corpora import make_corpus

pytestmark = pytest.mark.django_db

ANSWER_KEYS = {
    "mql", "items", "returned", "narrowed_from", "narrowed_to", "narrowing", "cursor", "follow_ups",
}  # fmt: skip
ITEM_KEYS = {
    "ref", "content", "layer", "relevance", "relevance_basis", "why", "source_url", "confidence",
    "occurred_at", "entities",
}  # fmt: skip


@pytest.fixture
def api():
    return api_of()


def pages(api: Api, **mql: Any) -> list[Body]:
    """Follow the cursor to the end."""
    found = [query(api, **mql)]
    while found[-1]["cursor"]:
        found.append(query(api, **mql, cursor=found[-1]["cursor"]))
    return found


class TestAnswer:
    def test_it_has_exactly_the_keys_that_were_promised(self, api):
        fill(api, "Oak is hard")
        body = query(api, find="oak")
        assert body.keys() == ANSWER_KEYS
        assert body["items"][0].keys() == ITEM_KEYS
        assert (body["returned"], body["narrowed_from"], body["narrowed_to"]) == (1, 1, 1)
        assert body["cursor"] is None

    def test_ask_is_answered_by_a_pack_and_says_what_it_was_fitted_to(self, api):
        make_corpus(api.vault, 60)
        body = query(api, ask="What about the search index?", model="claude", budget_tokens=900)
        assert body.keys() == ANSWER_KEYS | {"model", "budget"}
        assert body["model"]["profile"] == "claude"
        assert 0 < body["budget"]["used"] <= body["budget"]["tokens"] == 900

    def test_it_tells_the_query_as_understood(self, api):
        body = query(api, find=" oak ", as_of="2026-01-05", entities=["Ana", "Ana"])
        assert body["mql"] == {
            "find": "oak",
            "as_of": "2026-01-05T00:00:00+00:00",
            "entities": ["Ana"],
            "valid_only": True,
            "k": 10,
        }

    def test_the_query_as_understood_is_the_same_query(self, api):
        make_corpus(api.vault, 30)
        body = query(api, find="search index", min_relevance=0.1, layers=["semantic", "decision"])
        again = query(api, **body["mql"])
        assert again == body

    def test_get_answers_as_post_does(self, api):
        make_corpus(api.vault, 30)
        knobs = {"find": "search index", "k": 4, "valid_only": False, "min_relevance": 0.05}
        with time_machine.travel(datetime(2026, 6, 1, tzinfo=UTC), tick=False):
            posted = query(api, **knobs, layers=["semantic", "decision"])
            gotten = ok(get(api, "query", **{**knobs, "valid_only": "false"}, layers="semantic,decision"))
        assert gotten == posted

    def test_each_knob_tells_what_it_removed(self, api):
        fill(api, "Oak is hard", "Oak is brown")
        fill(api, "We decided on oak", kind=Kind.DECISION)
        body = query(api, find="oak", layers=["decision"])
        assert body["narrowed_from"] == 3
        assert body["narrowed_to"] == 1
        assert {"knob": "layers", "removed": 2} in body["narrowing"]
        assert body["narrowed_from"] - sum(n["removed"] for n in body["narrowing"]) == body["narrowed_to"]

    def test_the_best_comes_first(self, api):
        make_corpus(api.vault, 60)
        found = query(api, find="search index reviewers", k=40)["items"]
        worth = [item["relevance"] for item in found]
        assert worth == sorted(worth, reverse=True)
        assert [item["why"]["fused_rank"] for item in found] == list(range(1, len(found) + 1))

    @pytest.mark.parametrize("direction", ["document", "neighbors"])
    def test_expand_suggests_a_call_for_the_best_hit(self, api, direction):
        (ref,) = fill(api, "Oak is hard")
        assert query(api, find="oak", expand=direction)["follow_ups"] == [
            {"tool": "expand", "arguments": {"ref": ref, "direction": direction}}
        ]
        assert expand(api, ref, direction).status_code == 200

    def test_no_follow_up_leads_nowhere(self, api):
        assert query(api, find="oak", expand="document")["follow_ups"] == []
        fill(api, "Oak is hard", "Oak is brown")
        more = query(api, find="oak", k=1)
        assert more["follow_ups"] == [
            {"tool": "expand", "arguments": {"ref": more["cursor"], "direction": "more"}}
        ]


class TestRefusals:
    @pytest.mark.parametrize(
        ("mql", "fields"),
        [
            ({}, {"ask"}),
            ({"ask": "oak", "find": "oak"}, {"ask", "find"}),
            ({"find": ""}, {"find"}),
            ({"find": "   "}, {"find"}),
            ({"find": None}, {"find"}),
            ({"find": 5}, {"find"}),
            ({"find": "x" * 8_001}, {"find"}),
            ({"find": "oak", "limit": 5}, {"limit"}),
            ({"find": "oak", "vault": "other"}, {"vault"}),
            ({"find": "oak", "layers": ["facts"]}, {"layers"}),
            ({"find": "oak", "layers": []}, {"layers"}),
            ({"find": "oak", "layers": "semantic"}, {"layers"}),
            ({"find": "oak", "layers": ["semantic", "semantic"]}, {"layers"}),
            ({"find": "oak", "entities": ["x"] * 21}, {"entities"}),
            ({"find": "oak", "entities": []}, {"entities"}),
            ({"find": "oak", "entities": [""]}, {"entities"}),
            ({"find": "oak", "entities": "Ana"}, {"entities"}),
            ({"find": "oak", "as_of": "soon"}, {"as_of"}),
            ({"find": "oak", "known_at": 20260105}, {"known_at"}),
            ({"find": "oak", "valid_only": "false"}, {"valid_only"}),
            ({"find": "oak", "valid_only": None}, {"valid_only"}),
            ({"find": "oak", "min_relevance": 2.5}, {"min_relevance"}),
            ({"find": "oak", "min_relevance": -0.1}, {"min_relevance"}),
            ({"find": "oak", "min_relevance": "0.1"}, {"min_relevance"}),
            ({"find": "oak", "min_relevance": True}, {"min_relevance"}),
            ({"find": "oak", "min_trust": 1.01}, {"min_trust"}),
            ({"ask": "oak", "budget_tokens": 299}, {"budget_tokens"}),
            ({"ask": "oak", "budget_tokens": 6_001}, {"budget_tokens"}),
            ({"find": "oak", "budget_tokens": 900}, {"budget_tokens"}),
            ({"find": "oak", "model": "gpt"}, {"model"}),
            ({"find": "oak", "expand": "sideways"}, {"expand"}),
            ({"find": "oak", "k": 0}, {"k"}),
            ({"find": "oak", "k": 101}, {"k"}),
            ({"find": "oak", "k": "10"}, {"k"}),
            ({"find": "oak", "k": 1.0}, {"k"}),
            ({"find": "oak", "project": ["a"]}, {"project"}),
        ],
    )
    def test_what_breaks_a_rule_is_refused_and_never_clamped(self, api, mql, fields):
        response = api.post("query", mql)
        assert response.status_code == 422
        assert blamed(response) == fields
        error_of(response)

    @pytest.mark.parametrize(
        ("params", "field"),
        [
            ({"find": "oak", "q": "oak"}, "q"),
            ({"find": "oak", "k": "ten"}, "k"),
            ({"find": "oak", "k": ["1", "2"]}, "k"),
            ({"find": "oak", "min_relevance": "nan"}, "min_relevance"),
            ({"find": "oak", "min_relevance": "1e-1"}, "min_relevance"),
            ({"find": "oak", "valid_only": "no"}, "valid_only"),
            ({"find": ["oak", "ash"]}, "find"),
            ({"find": "oak", "layers": ""}, "layers"),
        ],
    )
    def test_a_query_string_is_as_strict(self, api, params, field):
        response = get(api, "query", **params)
        assert response.status_code == 422
        assert blamed(response) == {field}

    def test_a_body_that_is_no_object_is_refused(self, api):
        assert api.post("query", ["find"]).status_code == 422

    def test_a_body_and_a_query_string_do_not_mix(self, api):
        assert blamed(api.post("query?k=3", {"find": "oak"})) == {"k"}


class TestKnobs:
    def test_layers_are_memory_layers(self, api):
        (decided,) = fill(api, "We decided on oak", kind=Kind.DECISION)
        fill(api, "Oak is hard")
        assert refs(query(api, find="oak", layers=["decision"])) == [decided]

    def test_entities_match_by_name_or_alias_whole_and_in_any_case(self, api):
        about = api.remember("Oak for the table", entities=["Ana Prado"])["ref"]
        api.remember("Oak for the bench", entities=["Anabel"])
        assert refs(query(api, find="oak", entities=["ANA PRADO"])) == [about]
        assert refs(query(api, find="oak", entities=["Ana Pr", "%", "Ana*"])) == []

    def test_a_project_keeps_its_own_and_what_is_shared(self, api):
        (own,) = fill(api, "Oak for the hall", project="hall")
        (shared,) = fill(api, "Oak is hard")
        fill(api, "Oak for the barn", project="barn")
        assert set(refs(query(api, find="oak", project="hall"))) == {own, shared}
        assert set(refs(query(api, find="oak", project="hal"))) == {shared}

    def test_superseded_rows_are_shown_where_they_are_asked_for(self, api):
        old = api.remember("The table is of oak")["ref"]
        new = api.post(f"memories/{old}/supersede", {"content": "The table is of beech"}).json()["ref"]
        assert refs(query(api, find="table")) == [new]
        assert set(refs(query(api, find="table", valid_only=False))) == {old, new}

    def test_as_of_shows_what_was_true_then(self, api):
        spring = datetime(2026, 3, 1, tzinfo=UTC)
        with time_machine.travel(spring, tick=False):
            old = api.remember("The table is of oak")["ref"]
        with time_machine.travel(spring + timedelta(days=60), tick=False):
            new = api.post(f"memories/{old}/supersede", {"content": "The table is of beech"}).json()["ref"]
        with time_machine.travel(spring + timedelta(days=90), tick=False):
            assert refs(query(api, find="table", as_of="2026-03-15")) == [old]
            assert refs(query(api, find="table", known_at="2026-03-15")) == [old]
            assert refs(query(api, find="table", as_of="2026-05-15")) == [new]
            assert refs(query(api, find="table", as_of="2026-01-01")) == []
            assert refs(query(api, find="table", as_of="2026-01-01", valid_only=False)) == []

    def test_min_trust_goes_by_confidence_else_by_the_author(self, api):
        (sure,) = fill(api, "Oak is hard", confidence=0.9, author="inferred")
        fill(api, "Oak is brown", confidence=0.5, author="user")
        (said,) = fill(api, "Oak is dear", author="user")
        fill(api, "Oak is old", author="inferred")
        assert set(refs(query(api, find="oak", min_trust=0.9))) == {sure, said}
        assert len(refs(query(api, find="oak", min_trust=0.0))) == 4

    def test_min_relevance_keeps_what_shows_at_least_so_much(self, api):
        make_corpus(api.vault, 60)
        every = query(api, find="search index reviewers alerts", k=100)["items"]
        for least in sorted({item["relevance"] for item in every})[::3]:
            kept = refs(query(api, find="search index reviewers alerts", k=100, min_relevance=least))
            assert kept == [item["ref"] for item in every if item["relevance"] >= least]

    def test_a_narrow_query_is_never_empty_because_others_were_nearer(self, api):
        fill(api, *(f"Oak oak oak number {number}" for number in range(120)))
        (far,) = fill(api, "Among much else, there was an oak", kind=Kind.PROCEDURE, project="barn")
        assert refs(query(api, find="oak", k=1, layers=["procedural"])) == [far]
        assert far in refs(query(api, find="oak", k=100, min_relevance=0.0, layers=["procedural"]))

    def test_k_is_ten_unless_said_otherwise(self, api):
        fill(api, *(f"Oak number {number}" for number in range(12)))
        assert query(api, find="oak")["returned"] == 10
        assert query(api, find="oak", k=100)["returned"] == 12
        assert query(api, find="oak", k=1)["returned"] == 1


class TestCursors:
    def test_the_pages_bring_all_rows_each_once(self, api):
        fill(api, *(f"Oak number {number}" for number in range(23)))
        told = [ref for page in pages(api, find="oak", k=5) for ref in refs(page)]
        assert told == refs(query(api, find="oak", k=100))

    def test_ask_is_paged_too(self, api):
        make_corpus(api.vault, 40)
        asked = {"ask": "search index and reviewers", "model": "claude"}
        whole = refs(query(api, **asked, k=100))
        told = [ref for page in pages(api, **asked, k=7) for ref in refs(page)]
        assert len(whole) > 7
        assert told == whole

    def test_it_is_opaque_and_named_for_the_language(self, api):
        fill(api, "Oak is hard", "Oak is brown")
        assert query(api, find="oak", k=1)["cursor"].startswith("mqlc:")

    def test_the_size_of_a_page_may_change_on_the_way(self, api):
        fill(api, *(f"Oak number {number}" for number in range(9)))
        first = query(api, find="oak", k=2)
        rest = query(api, find="oak", k=100, cursor=first["cursor"])
        assert refs(first) + refs(rest) == refs(query(api, find="oak", k=100))

    @pytest.mark.parametrize(
        "other",
        [
            {"find": "ash"},
            {"find": "oak", "min_trust": 0.1},
            {"find": "oak", "valid_only": False},
            {"ask": "oak"},
        ],
    )
    def test_with_another_query_it_is_refused(self, api, other):
        fill(api, "Oak is hard", "Oak is brown")
        cursor = query(api, find="oak", k=1)["cursor"]
        response = api.post("query", {**other, "cursor": cursor})
        assert response.status_code == 422
        assert blamed(response) == {"cursor"}

    def test_another_tokens_and_another_vaults_are_nowhere(self, api):
        fill(api, "Oak is hard", "Oak is brown")
        cursor = query(api, find="oak", k=1)["cursor"]
        for other in (api_of(api.vault), api_of()):
            assert other.post("query", {"find": "oak", "cursor": cursor}).status_code == 404

    def test_rows_that_come_and_go_between_pages_move_no_other(self, api):
        now = datetime(2026, 6, 1, tzinfo=UTC)
        with time_machine.travel(now) as clock:
            made = fill(api, *(f"Oak number {number:02d}" for number in range(20)))
            first = query(api, find="oak number", k=5, valid_only=False)
            clock.shift(timedelta(minutes=1))
            for number in range(20, 30):
                api.remember(f"Oak number {number}")
            assert api.delete(f"memories/{refs(first)[0]}").status_code == 200
            told = refs(first)
            body = first
            while body["cursor"]:
                body = query(api, find="oak number", k=5, valid_only=False, cursor=body["cursor"])
                told += refs(body)
        assert sorted(told) == sorted(made)

    def test_nothing_that_was_forgotten_or_expired_since_comes_with_a_later_page(self, api):
        now = datetime(2026, 6, 1, tzinfo=UTC)
        with time_machine.travel(now) as clock:
            fill(api, "Oak is hard", at=LONG_AGO)
            fill(api, "Oak oak", "Oak, oak!", expires_at=now + timedelta(minutes=5))
            first = query(api, find="oak", k=1)
            clock.shift(timedelta(minutes=10))
            later = query(api, find="oak", k=10, cursor=first["cursor"])
        assert {item["content"] for item in later["items"]} <= {"Oak is hard"}
