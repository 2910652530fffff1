"""`/v1/expand`: onwards from a ref, along what is there, and honest where there is nothing (docs/wire.md, Expand; CMP §7)."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from memories.core.kinds import Kind, Status
from tests.clients import api_of
from tests.factories import LONG_AGO
from tests.wire.asking import blamed, expand, fill, get, ok, query, refs, tool
from tests.wire.corpora import make_corpus

pytestmark = pytest.mark.django_db

UNKNOWN = "mem_zzzzzzzzzzzz"


@pytest.fixture
def api():
    return api_of()


class TestDocument:
    def test_it_is_the_whole_memory_with_its_sources(self, api):
        told = api.remember(
            "Oak is hard. " * 100, summary="Oak", source={"url": "https://example.org/oak", "title": "On oak"}
        )
        body = ok(expand(api, told["ref"]))
        assert body["document"]["content"] == told["content"]
        assert body["document"]["source_urls"] == ["https://example.org/oak"]
        assert [source["title"] for source in body["document"]["sources"]] == ["On oak"]
        assert (body["ref"], body["direction"]) == (told["ref"], "document")

    def test_it_is_the_default_direction(self, api):
        (ref,) = fill(api, "Oak is hard")
        assert ok(get(api, "expand", ref=ref)) == ok(expand(api, ref))

    def test_it_tells_who_superseded_what_when_and_why(self, api):
        first = api.remember("The table is of oak")["ref"]
        second = api.post(f"memories/{first}/supersede", {"content": "The table is of ash", "reason": "sold"})
        third = api.post(f"memories/{second.json()['ref']}/supersede", {"content": "The table is of beech"})
        for ref in (first, second.json()["ref"], third.json()["ref"]):
            chain = ok(expand(api, ref))["document"]["chain"]
            assert [step["ref"] for step in chain] == [first, second.json()["ref"], third.json()["ref"]]
            assert chain[0]["superseded_by"] == second.json()["ref"]
            assert chain[0]["reason"] == "sold"
            assert chain[0]["actor"]
            assert chain[0]["at"]

    def test_a_superseded_memory_is_reachable_by_its_history(self, api):
        old = api.remember("The table is of oak")["ref"]
        api.post(f"memories/{old}/supersede", {"content": "The table is of ash"})
        assert ok(expand(api, old))["document"]["content"] == "The table is of oak"

    def test_a_capture_is_a_document_too(self, api):
        told = api.remember("Oak is hard")
        cited = told["source_urls"][0].removeprefix("cortex-capture://")
        assert ok(expand(api, cited))["document"]["content"] == "Oak is hard"
        assert ok(expand(api, cited, "neighbors"))["items"] == []

    @pytest.mark.parametrize(
        "fields",
        [
            {"status": Status.PENDING},
            {"status": Status.ARCHIVED},
            {"redacted_at": LONG_AGO},
            {"expires_at": LONG_AGO},
            {"withheld": True},
        ],
    )
    @pytest.mark.parametrize("direction", ["document", "neighbors"])
    def test_what_may_not_be_served_is_an_empty_answer(self, api, fields, direction):
        (ref,) = fill(api, "Oak is a secret", **fields)
        response = expand(api, ref, direction)
        assert b"secret" not in response.content
        body = ok(response)
        assert (body["document"], body["items"]) == (None, [])

    @pytest.mark.parametrize("verb", ["archive", "redact"])
    def test_a_capture_tells_nothing_that_its_memories_may_not(self, api, verb):
        told = api.remember("The cellar key is under the oak")
        cited = told["source_urls"][0].removeprefix("cortex-capture://")
        assert api.post(f"memories/{told['ref']}/{verb}").status_code == 200
        response = expand(api, cited)
        assert b"cellar" not in response.content
        assert response.status_code in {200, 404}

    def test_a_capture_expires_with_its_memory(self, api):
        with time_machine.travel(datetime(2026, 6, 1, tzinfo=UTC)) as clock:
            told = api.remember("The cellar key is under the oak", expires_at="2026-06-01T01:00:00Z")
            cited = told["source_urls"][0].removeprefix("cortex-capture://")
            assert ok(expand(api, cited))["document"]["content"] == told["content"]
            clock.shift(timedelta(hours=2))
            assert ok(expand(api, cited))["document"] is None


class TestNeighbours:
    def test_one_hop_through_shared_entities(self, api):
        start = api.remember("Ana leads the Atlas launch", entities=["Ana", "Atlas"])["ref"]
        both = api.remember("Ana wrote the Atlas plan", entities=["Ana", "Atlas"])["ref"]
        one = api.remember("Atlas has a budget", entities=["Atlas", "Bob"])["ref"]
        two_hops = api.remember("Bob likes tea", entities=["Bob"])["ref"]
        body = ok(expand(api, start, "neighbors"))
        assert refs(body) == [both, one]
        assert two_hops not in refs(body)
        assert {entity["name"] for entity in body["entities"]} == {"Ana", "Atlas"}

    def test_only_what_is_cited_approved_and_current(self, api):
        start = api.remember("Ana leads the launch", entities=["Ana"])["ref"]
        old = api.remember("Ana sits in Lisbon", entities=["Ana"])["ref"]
        new = api.post(
            f"memories/{old}/supersede", {"content": "Ana sits in Porto", "entities": ["Ana"]}
        ).json()["ref"]
        hidden = api.remember("Ana has a plan B", entities=["Ana"])["ref"]
        api.post(f"memories/{hidden}/archive")
        assert refs(ok(expand(api, start, "neighbors"))) == [new]

    def test_a_memory_about_nobody_has_none(self, api):
        (ref,) = fill(api, "oak is hard")
        body = ok(expand(api, ref, "neighbors"))
        assert (body["items"], body["entities"], body["document"]) == ([], [], None)

    def test_neighbours_of_other_projects_are_out_of_sight(self, api):
        start = api.remember("Ana leads the launch", entities=["Ana"], project="hall")["ref"]
        api.remember("Ana hides the key", entities=["Ana"], project="barn")
        seen = api_of(api.vault, projects=["hall"])
        assert ok(expand(seen, start, "neighbors"))["items"] == []


class TestMore:
    def test_it_is_the_next_page_of_the_query(self, api):
        fill(api, *(f"Oak number {number}" for number in range(9)))
        first = query(api, find="oak", k=4)
        more = ok(expand(api, first["cursor"], "more"))
        assert refs(more) == refs(query(api, find="oak", k=4, cursor=first["cursor"]))
        last = ok(expand(api, more["cursor"], "more"))
        assert len(refs(last)) == 1
        assert last["cursor"] is None

    @pytest.mark.parametrize("ref", [UNKNOWN, "mqlc:", "mqlc:x", "mqlc:x:y:z"])
    def test_what_is_no_cursor_is_refused(self, api, ref):
        response = expand(api, ref, "more")
        assert response.status_code == 400
        assert "Traceback" not in response.content.decode()


class TestRefusals:
    def test_an_unknown_ref_and_another_vaults_are_one_answer(self, api):
        other = api_of()
        (theirs,) = fill(other, "Oak is hard", kind=Kind.DECISION)
        capture = other.remember("Oak is hard")["source_urls"][0].removeprefix("cortex-capture://")
        told = {
            expand(api, ref, way).content
            for ref in (UNKNOWN, theirs, capture, "cap_zzzzzzzzzzzz", "no ref at all")
            for way in ("document", "neighbors")
        }
        assert len(told) == 1
        assert expand(api, theirs).status_code == 404

    @pytest.mark.parametrize(
        ("params", "field"),
        [
            ({}, "ref"),
            ({"ref": ""}, "ref"),
            ({"ref": UNKNOWN, "direction": "up"}, "direction"),
            ({"ref": UNKNOWN, "depth": "2"}, "depth"),
            ({"ref": [UNKNOWN, UNKNOWN]}, "ref"),
        ],
    )
    def test_what_breaks_a_rule_is_refused(self, api, params, field):
        response = get(api, "expand", **params)
        assert response.status_code == 422
        assert blamed(response) == {field}

    def test_every_ref_of_a_pack_leads_somewhere(self, api):
        make_corpus(api.vault, 30)
        for ref in refs(query(api, ask="search index", k=20)):
            assert ok(expand(api, ref))["document"]["ref"] == ref


class TestMoments:
    """`as_of` and `known_at`: the table was of oak until the third day; that was written down on the fifth."""

    @staticmethod
    def at(day: int) -> datetime:
        return datetime(2026, 3, day, 12, tzinfo=UTC)

    @pytest.fixture
    def told(self, api):
        with time_machine.travel(self.at(1), tick=False) as clock:
            table = api.remember("The table of Ana is of oak", entities=["Ana"])["ref"]
            chair = api.remember("The chair of Ana is of oak", entities=["Ana"])["ref"]
            clock.move_to(self.at(5))
            body = {"content": "The table of Ana is of ash", "reason": "sold", "entities": ["Ana"]}
            ash = api.post(
                f"memories/{table}/supersede", {**body, "valid_from": self.at(3).isoformat()}
            ).json()["ref"]
            clock.move_to(self.at(7))
            beech = api.post(f"memories/{ash}/supersede", {**body, "content": "It is of beech"}).json()["ref"]
        return {"table": table, "chair": chair, "ash": ash, "beech": beech}

    def ask(self, api, ref, direction="document", **days):
        moments = {name: self.at(day).isoformat() for name, day in days.items()}
        body = ok(get(api, "expand", ref=ref, direction=direction, **moments))
        called = ok(tool(api, "expand", ref=ref, direction=direction, **moments))["result"]
        assert called == body
        return body

    @pytest.mark.parametrize(
        ("as_of", "known_at", "near"),
        [(9, 9, "beech"), (4, 4, "table"), (4, 6, "ash"), (2, 9, "table"), (9, 6, "ash"), (9, 4, "table")],
    )
    def test_neighbours_were_true_and_known_then(self, api, told, as_of, known_at, near):
        body = self.ask(api, told["chair"], "neighbors", as_of=as_of, known_at=known_at)
        assert refs(body) == [told[near]]

    @pytest.mark.parametrize(
        ("known_at", "line"),
        [(9, ["table", "ash", "beech"]), (6, ["table", "ash"]), (4, [])],
    )
    def test_a_history_tells_what_was_known_then(self, api, told, known_at, line):
        document = self.ask(api, told["table"], known_at=known_at)["document"]
        assert [step["ref"] for step in document["chain"]] == [told[name] for name in line]
        assert document["superseded_by"] == (told["ash"] if line else None)
        if line:
            assert document["chain"][-1]["superseded_by"] is None
            assert (document["chain"][0]["reason"], document["chain"][0]["at"]) == (
                "sold",
                self.at(5).isoformat(),
            )

    @pytest.mark.parametrize("direction", ["document", "neighbors"])
    def test_what_was_recorded_later_is_absent(self, api, told, direction):
        body = self.ask(api, told["ash"], direction, known_at=4)
        assert (body["document"], body["items"], body["entities"]) == (None, [], [])
        assert told["ash"] not in str(self.ask(api, told["table"], known_at=4))

    @pytest.mark.parametrize(("day", "seen"), [(2, False), (3, True), (4, True)])
    def test_what_was_not_true_yet_has_no_document(self, api, told, day, seen):
        assert (self.ask(api, told["ash"], as_of=day)["document"] is not None) == seen

    def test_an_end_is_not_within(self, api):
        ref = api.remember("Oak was dear", valid_from="2026-03-01", valid_to="2026-03-05")["ref"]
        for as_of, seen in (("2026-03-04T23:59:59Z", True), ("2026-03-05", False)):
            assert (ok(get(api, "expand", ref=ref, as_of=as_of))["document"] is not None) == seen

    def test_a_conflict_is_open_until_it_was_resolved(self, api):
        with time_machine.travel(self.at(1), tick=False) as clock:
            left = api.remember("Rate limit is 60 per minute")["ref"]
            clock.move_to(self.at(3))
            right = api.remember("Rate limit is 600 per minute")["ref"]
            conflict = api.get("conflicts").json()["results"][0]["id"]
            clock.move_to(self.at(5))
            api.post(f"conflicts/{conflict}/resolve", {"keep": "both"})
        for day, told in ((2, []), (4, [None]), (6, ["both"])):
            conflicts = self.ask(api, left, known_at=day)["document"]["conflicts"]
            assert [each["resolution"] for each in conflicts] == told
        assert right not in str(self.ask(api, left, known_at=2))

    def test_more_has_moments_of_its_own(self, api):
        fill(api, "Oak is hard", "Oak is old")
        cursor = query(api, find="oak", k=1)["cursor"]
        response = get(api, "expand", ref=cursor, direction="more", as_of="2026-01-01")
        assert (response.status_code, blamed(response)) == (422, {"as_of"})

    @pytest.mark.parametrize("name", ["as_of", "known_at"])
    def test_what_is_no_moment_is_refused(self, api, name):
        (ref,) = fill(api, "Oak is hard")
        assert blamed(get(api, "expand", ref=ref, **{name: "yesterday"})) == {name}
