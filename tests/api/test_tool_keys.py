"""Idempotency-Key on a tool's call: once, as over its REST twin."""

import pytest

from memories.models import IdempotencyRecord, Memory
from tests.clients import api_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of()


def call(api, name, key=None, **arguments):
    body = {"name": name, "arguments": arguments}
    return api.post("tools/call", body, **({"Idempotency_Key": key} if key else {}))


@pytest.mark.parametrize("name", ["remember_this", "propose_memory"])
def test_a_repetition_gets_the_first_answer(api, name):
    first = call(api, name, "k1", content="Ana prefers tea.")
    again = call(api, name, "k1", content="Ana prefers tea.")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"
    assert Memory.objects.get(vault=api.vault).occurrences == 1


def test_another_call_under_the_key_is_422(api):
    call(api, "remember_this", "k1", content="Ana prefers tea.")
    assert call(api, "remember_this", "k1", content="Ana prefers coffee.").status_code == 422
    assert call(api, "propose_memory", "k1", content="Ana prefers tea.").status_code == 422
    assert Memory.objects.filter(vault=api.vault).count() == 1


@pytest.mark.parametrize("name", ["remember_this", "propose_memory"])
def test_a_retry_after_a_forget_writes_nothing_back(api, name):
    result = call(api, name, "k1", content="Ana prefers tea.").json()["result"]
    ref = result["memories"][0]["ref"] if "memories" in result else result["ref"]
    assert api.delete(f"memories/{ref}").status_code == 200
    retried = call(api, name, "k1", content="Ana prefers tea.")
    assert retried.status_code == 410
    assert "tea" not in retried.content.decode()
    assert not Memory.objects.filter(vault=api.vault, content__contains="tea").exists()


def test_a_forget_is_repeated_in_words_only(api):
    ref = api.remember("Ana prefers tea.")["ref"]
    first = call(api, "forget_memory", "k1", ref=ref)
    again = call(api, "forget_memory", "k1", ref=ref)
    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"


def test_a_supersede_makes_one_successor(api):
    ref = api.remember("We use A", author="user")["ref"]
    first = call(api, "supersede_memory", "k1", ref=ref, content="We use B", author="user")
    assert (
        first.json() == call(api, "supersede_memory", "k1", ref=ref, content="We use B", author="user").json()
    )
    assert Memory.objects.filter(vault=api.vault).count() == 2


def test_reading_keeps_no_answer(api):
    api.remember("Oak is hard")
    for _ in range(2):
        assert "Idempotency-Replayed" not in call(api, "query_memory", "k1", find="oak")
    assert not IdempotencyRecord.objects.exists()


def test_a_tool_that_does_not_exist_keeps_the_key_free(api):
    assert call(api, "nothing", "k1").status_code == 404
    assert call(api, "remember_this", "k1", content="Ana prefers tea.").status_code == 200


def test_the_hints_are_true_of_what_is_said_twice(api):
    tools = {tool["name"]: tool for tool in api.get("tools/schema?format=mcp").json()["tools"]}
    repeatable = {name for name, tool in tools.items() if tool["annotations"]["idempotentHint"]}
    assert repeatable == {"query_memory", "expand", "search", "fetch"}


def test_a_null_spoils_no_other_item(api):
    told = api.post("memories/bulk", {"memories": [None, {"content": "Oak is hard"}, 5, [], "x"]})
    assert told.status_code == 200
    assert [result["status"] for result in told.json()["results"]] == [422, 201, 422, 422, 422]
    assert all(result["errors"] for result in told.json()["results"] if result["status"] == 422)
