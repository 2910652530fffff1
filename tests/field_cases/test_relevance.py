"""What has nothing to do with the task is not served as if it had, and a measure means the same everywhere (G1 to G3)."""

import pytest

from memories.core.kinds import Kind
from tests.clients import api_of
from tests.wire.asking import fill, items, pack, query, refs, smp
from tests.wire.corpora import make_corpus

pytestmark = pytest.mark.django_db

MODELS = [None, "claude", "gpt", "cursor"]
NOWHERE = "zqxv PHRASE THAT IS NOWHERE"
OFF_TOPIC = (
    "how to bake sourdough bread",
    "What is the capital of Mongolia?",
    "write a poem about autumn leaves",
    "who won the football match yesterday evening",
    "recommend a hotel near the beach with a pool",
    "how many calories has a banana",
    "translate good morning into Portuguese",
    "symptoms of a vitamin deficiency in cats",
)
ON_TOPIC = (
    ("Who reviews the search index before it is merged?", "search index"),
    ("What does the billing service cost a month?", "billing service"),
    ("Where are the settings of the import job kept?", "import job"),
    ("When was the Lisbon office moved?", "Lisbon office"),
)


@pytest.fixture
def api():
    api = api_of()
    make_corpus(api.vault, 200)
    return api


class TestNothing:
    """G1: a phrase that occurs nowhere, asked of two hundred memories."""

    @pytest.mark.parametrize("model", MODELS)
    def test_a_pack_holds_rules_at_most_and_says_weak(self, api, model):
        body = smp(api, NOWHERE, model=model)
        assert body["coverage"]["status"] in {"weak", "empty"}
        assert {item["layer"] for item in body["items"]} <= {"constraints", "recency"}
        assert {item["relevance"] for item in body["items"]} <= {None}

    def test_without_rules_there_is_not_one_item(self):
        api = api_of()
        fill(api, *(f"The alarm of depot {number} was tested" for number in range(200)))
        for model in MODELS:
            assert smp(api, NOWHERE, model=model)["items"] == []

    def test_a_query_finds_nothing(self, api):
        assert query(api, find=NOWHERE)["items"] == []
        assert query(api, ask=NOWHERE, layers=["semantic", "decision", "episodic"])["items"] == []


class TestCommonWords:
    """G2: one common word shared is no answer."""

    @pytest.mark.parametrize("task", OFF_TOPIC)
    @pytest.mark.parametrize("model", [None, "claude"])
    def test_an_off_topic_task_gets_no_fact(self, api, task, model):
        body = smp(api, task, model=model)
        assert body["coverage"]["status"] in {"weak", "empty"}
        assert {item["layer"] for item in body["items"]} <= {"constraints", "recency"}

    def test_a_long_off_topic_task_gets_no_fact_either(self, api):
        body = smp(api, " ".join(OFF_TOPIC) * 3)
        assert body["coverage"]["status"] in {"weak", "empty"}

    @pytest.mark.parametrize(("task", "subject"), ON_TOPIC)
    @pytest.mark.parametrize("model", MODELS)
    def test_an_on_topic_task_gets_its_facts_first(self, api, task, subject, model):
        body = smp(api, task, model=model)
        assert body["coverage"]["status"] in {"usable", "complete"}
        matched = [item for item in body["items"] if item["why"]["fused_rank"]]
        best = min(matched, key=lambda item: item["why"]["fused_rank"])
        assert subject.lower() in best["content"].lower()

    @pytest.mark.parametrize(("task", "subject"), ON_TOPIC)
    def test_a_long_on_topic_task_gets_its_facts(self, api, task, subject):
        context = "I am about to answer a colleague who wrote me a long mail this morning. " * 6
        body = smp(api, f"{context} {task} {context}", model="claude")
        assert body["coverage"]["status"] in {"usable", "complete"}
        assert any(subject.lower() in item["content"].lower() for item in body["items"][:8])


class TestScale:
    """G3: the best of a bad lot is not 1.0, and equal matches are equal in every company."""

    @pytest.mark.parametrize("task", [NOWHERE, *OFF_TOPIC])
    def test_nothing_off_topic_shows_more_than_a_trace(self, api, task):
        assert all(item["relevance"] < 0.35 for item in query(api, find=task, k=100)["items"])

    def test_a_match_of_everything_shows_much(self, api):
        (ref,) = fill(api, "The greenhouse is heated by geothermal wells")
        (item,) = [
            item for item in query(api, find="greenhouse geothermal wells")["items"] if item["ref"] == ref
        ]
        assert item["relevance"] > 0.6

    def test_it_does_not_depend_on_the_company(self):
        told = []
        for others in (0, 30, 60):
            api = api_of()
            (ref,) = fill(api, "The greenhouse is heated by geothermal wells")
            fill(api, *(f"The alarm of depot {number} was tested" for number in range(others)))
            (item,) = [
                item
                for item in query(api, find="How is the greenhouse heated?")["items"]
                if item["ref"] == ref
            ]
            told.append(item["relevance"])
        assert max(told) - min(told) < 0.1

    def test_a_better_match_of_another_task_shows_more(self, api):
        fill(api, "The greenhouse is heated by geothermal wells")
        weak = query(api, find="greenhouse sprinkler maintenance calendar")["items"]
        strong = query(api, find="greenhouse geothermal")["items"]
        assert strong[0]["relevance"] > weak[0]["relevance"] + 0.2

    def test_a_rule_that_no_word_of_the_task_met_has_none(self, api):
        (rule,) = fill(api, "Never feed the heron", kind=Kind.NEGATIVE)
        body = pack(api, "Who reviews the search index?", model="claude", token_budget=12_000)
        told = {row["ref"]: row for row in items(body)}
        if rule in told:
            assert told[rule]["relevance"] is None
        assert rule in refs(smp(api, "heron"))
