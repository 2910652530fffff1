"""Updates that must win, and those that must not (B1, B5, B7, B11)."""

import pytest

from memories.models import Scope
from tests.clients import api_of
from tests.wire.asking import contents, expand, items, ok, pack, query, refs, smp, use

pytestmark = pytest.mark.django_db

RICH_NOTE = (
    "The search engine of the archive is Alder. It was chosen in the spring workshop after a comparison of five "
    "engines by Ana and Bob, because it handles synonyms, accents and compound words better than the others, "
    "because its licence is simple, and because the operators already know it from the catalogue. It runs on the "
    "small machine in the cellar, indexes the whole archive in forty minutes each night, and answers most queries "
    "in less than a tenth of a second. Its settings are kept in the repository of the archive beside the list of "
    "synonyms, which the librarians edit themselves on Thursdays. An upgrade is planned for the autumn."
)


@pytest.fixture
def api():
    return api_of()


def supersede(api, ref, content, **stated):
    response = api.post(f"memories/{ref}/supersede", {"content": content, **stated})
    assert response.status_code == 201, response.content
    return response.json()["ref"]


class TestSupersession:
    """B1: the old row must not come back beside the new one."""

    @pytest.mark.parametrize("model", [None, "claude", "gpt", "cursor"])
    def test_only_the_successor_is_served(self, api, model):
        old = api.remember("We use search engine Alder")["ref"]
        new = supersede(api, old, "We use search engine Birch")
        for task in ("Which search engine do we use?", "Alder", "Birch"):
            assert refs(smp(api, task, model=model)) == [new]
        assert refs(query(api, find="search engine")) == [new]
        assert [result["id"] for result in use(api, "search", query="search engine")["results"]] == [new]

    def test_the_old_one_is_reachable_by_history(self, api):
        old = api.remember("We use search engine Alder")["ref"]
        new = supersede(api, old, "We use search engine Birch", reason="Alder was sold")
        document = ok(expand(api, new))["document"]
        assert [step["ref"] for step in document["chain"]] == [old, new]
        assert document["chain"][0]["reason"] == "Alder was sold"
        assert ok(expand(api, old))["document"]["content"] == "We use search engine Alder"

    def test_a_long_chain_resolves_to_its_head(self, api):
        ref = api.remember("We use search engine number 0")["ref"]
        for number in range(1, 30):
            ref = supersede(api, ref, f"We use search engine number {number}")
        assert refs(smp(api, "Which search engine number 0 do we use?")) == [ref]


class TestTerseCorrections:
    """B5: five words beat the 120 words that they replace."""

    @pytest.mark.parametrize("model", [None, "claude", "gpt", "cursor"])
    @pytest.mark.parametrize(
        "correction", ["No longer true, see Birch.", "Replaced by Birch", "That changed."]
    )
    def test_the_successor_is_served_for_the_words_of_the_old_note(self, api, model, correction):
        old = api.remember(RICH_NOTE)["ref"]
        api.remember("Synonyms in general are kept in a list")
        api.remember("The cellar of the archive is dry")
        new = supersede(api, old, correction)
        body = smp(
            api, "Which search engine handles synonyms for the archive, and where does it run?", model=model
        )
        assert body["items"][0]["ref"] == new
        assert old not in refs(body)
        assert body["items"][0]["why"]["fused_rank"] == 1
        assert body["items"][0]["why"]["matched_terms"] == []  # those words are the old note's, not its own


class TestUnrelated:
    """B7: a contradiction is about one thing, not about one person."""

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Ana leads team red", "Ana likes tea"),
            ("Ana leads team red", "Bob leads team blue"),
            ("The gate opens at 9", "The office opens at 10"),
            ("Ana was born in 1980", "Ana moved to Lisbon in 2010"),
            ("The report is due on Friday", "The report has 12 pages"),
        ],
    )
    def test_both_stay_valid_and_unflagged(self, api, first, second):
        api.remember(first)
        api.remember(second)
        body = pack(api, f"{first} {second}", model="claude")
        assert {first, second} <= set(contents(body))
        assert not any(row["conflicted"] for row in items(body))
        assert ok(api.get("conflicts"))["results"] == []


class TestClashes:
    """A newer value beside the old one is shown as a conflict, until somebody says which one stands."""

    @pytest.mark.parametrize(
        ("first", "second", "reason"),
        [
            ("The launch is on 3 March", "The launch is on 4 March", "value"),
            ("The trail is 5 km long", "The trail is 5 miles long", "number"),
            ("The cache TTL is 10 ms", "The cache TTL is 10 s", "number"),
            ("Migrations run before the deploy", "Migrations run after the deploy", "negation"),
            ("Ana works at Acme", "Ana now works at Globex", "value"),
            ("The scheduler starts the indexer", "The scheduler stops the indexer", "negation"),
            ("Ana does not eat meat", "Ana eats meat", "negation"),
        ],
    )
    def test_both_sides_are_listed_and_served_side_by_side(self, api, first, second, reason):
        old, new = api.remember(first)["ref"], api.remember(second)["ref"]
        (conflict,) = ok(api.get("conflicts"))["results"]
        assert {side["ref"] for side in conflict["memories"]} == {old, new}
        assert conflict["reason"] == reason
        rows = {row["ref"]: row["conflicted"] for row in items(pack(api, second, model="claude"))}
        assert rows == {old: True, new: True}

    def test_a_stated_supersession_is_no_conflict(self, api):
        old = api.remember("The launch is on 3 March")["ref"]
        supersede(api, old, "The launch is on 4 March")
        assert ok(api.get("conflicts"))["results"] == []

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("The timeout is 60 seconds", "The timeout is one minute"),
            ("The launch is on 3 March", "The launch is on March 3rd"),
            ("Ana lives in Lisbon", "Ana lives in Portugal"),
            ("Uploads are forbidden", "Uploads are not allowed"),
        ],
    )
    def test_other_words_for_the_same_are_no_conflict(self, api, first, second):
        api.remember(first)
        api.remember(second)
        assert ok(api.get("conflicts"))["results"] == []


class TestTheUsersWord:
    """B11: an agent, however sure of itself, does not overrule the user."""

    def test_the_users_value_stays_and_the_agents_is_a_proposal(self, api):
        mine = api.remember("The rate limit is 60 per minute", author="user")["ref"]
        writer = api_of(api.vault, scopes=[Scope.READ, Scope.WRITE])
        told = writer.remember("The rate limit is 600 per minute", author="agent", confidence=1.0)
        assert told["status"] == "pending"
        assert told["flags"] == ["contradicts_user"]
        assert refs(smp(api, "What is the rate limit?")) == [mine]

    @pytest.mark.parametrize("author", ["agent", "inferred"])
    def test_a_supersession_by_an_agent_waits(self, api, author):
        mine = api.remember("The rate limit is 60 per minute", author="user")["ref"]
        writer = api_of(api.vault, scopes=[Scope.READ, Scope.WRITE])
        told = writer.post(
            f"memories/{mine}/supersede", {"content": "The rate limit is 600 per minute", "author": author}
        ).json()
        assert told["status"] == "pending"
        assert refs(smp(api, "What is the rate limit?")) == [mine]
        assert smp(api, "What is the rate limit?")["coverage"]["pending_excluded"] == 1

    def test_the_user_corrects_the_agent_at_once(self, api):
        old = api.remember("The rate limit is 600 per minute", author="agent")["ref"]
        new = supersede(api, old, "The rate limit is 60 per minute", author="user")
        assert refs(smp(api, "What is the rate limit?")) == [new]

    def test_nothing_extracted_is_dropped_in_silence(self, api):
        api.remember("The rate limit is 60 per minute", author="user")
        writer = api_of(api.vault, scopes=[Scope.READ, Scope.WRITE])
        answer = writer.post(
            "captures",
            {"content": "The rate limit is 600 per minute.\nThe gate is painted green.", "author": "agent"},
        ).json()
        stored = ok(api.get("memories?limit=50"))["results"]
        assert {memory["ref"] for memory in answer["memories"]} <= {memory["ref"] for memory in stored}
        assert any("600" in memory["content"] for memory in answer["memories"])
        waiting = [memory for memory in answer["memories"] if "600" in memory["content"]]
        assert all(memory["status"] == "pending" for memory in waiting)
