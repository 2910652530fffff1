"""POST /v1/memories/bulk: up to a thousand at once; a bad item is reported, accepted means stored."""

import pytest

from memories.models import Capture, Conflict, Memory, Scope
from tests.clients import api_of

pytestmark = pytest.mark.django_db


def bulk(api, *items):
    return api.post("memories/bulk", {"memories": list(items)})


def test_every_item_has_its_answer_in_its_place():
    api = api_of()
    response = bulk(
        api, {"content": "One"}, {"content": ""}, {"content": "Two", "kind": "nope"}, 5, {"content": "Three"}
    )
    assert response.status_code == 200
    results = response.json()["results"]
    assert [result["status"] for result in results] == [201, 422, 422, 422, 201]
    assert results[1]["errors"][0]["field"] == "content"
    assert results[2]["errors"][0]["field"] == "kind"
    stored = dict(Memory.objects.filter(vault=api.vault).values_list("content", "ref"))
    assert stored == {"One": results[0]["ref"], "Three": results[4]["ref"]}


def test_rules_beyond_a_fields_form_are_reported_per_item():
    api = api_of()
    items = [
        {"content": "a", "valid_from": "2026-02-01", "valid_to": "2026-01-01"},
        {"content": "b", "source": {"url": "javascript:alert(1)"}},
        {"content": "c", "source": {"url": "cortex-capture://cap_000000000000"}},
        {"content": "d"},
    ]
    results = bulk(api, *items).json()["results"]
    assert [result["status"] for result in results] == [422, 422, 422, 201]
    assert [r["errors"][0]["field"] for r in results[:3]] == ["valid_to", "source.url", "source.url"]


def test_projects_out_of_sight_are_refused_per_item():
    api = api_of(projects=["ana"], scopes=[Scope.WRITE])
    results = bulk(api, {"content": "a", "project": "ana"}, {"content": "b", "project": "bo"}).json()[
        "results"
    ]
    assert [result["status"] for result in results] == [201, 403]


def test_twins_within_a_batch_are_one_memory():
    api = api_of()
    results = bulk(api, {"content": "It is so"}, {"content": "IT IS SO"}, {"content": "it is  so"}).json()[
        "results"
    ]
    assert [result["status"] for result in results] == [201, 200, 200]
    assert len({result["ref"] for result in results}) == 1
    assert api.get(f"memories/{results[0]['ref']}").json()["occurrences"] == 3


def test_twins_of_what_is_stored_are_counted():
    api = api_of()
    ref = api.remember("It is so")["ref"]
    results = bulk(
        api, {"content": "It is so"}, {"content": "Something new"}, {"content": "It is so"}
    ).json()["results"]
    assert [result["status"] for result in results] == [200, 201, 200]
    told = api.get(f"memories/{ref}").json()
    assert told["occurrences"] == 3
    assert len(told["source_urls"]) == 1


def test_everything_in_a_batch_is_cited():
    api = api_of()
    bulk(api, {"content": "One"}, {"content": "Two", "source": {"url": "https://example.org"}})
    assert all(memory["source_urls"] for memory in api.get("memories").json()["results"])
    assert Capture.objects.filter(vault=api.vault).count() == 1


def test_a_batch_is_found_by_its_words_at_once():
    api = api_of()
    bulk(api, *({"content": f"Fact number {n} about kumquats"} for n in range(30)))
    assert len(api.get("memories?q=kumquats&limit=200").json()["results"]) == 30


def test_contradictions_within_a_batch_are_found():
    api = api_of()
    bulk(api, {"content": "Rate limit is 60 per minute"}, {"content": "Rate limit is 600 per minute"})
    assert Conflict.objects.filter(vault=api.vault).count() == 1


def test_events_do_not_contradict_one_another():
    api = api_of()
    bulk(
        api,
        {"content": "Rate limit is 60 per minute", "kind": "event"},
        {"content": "Rate limit is 600 per minute", "kind": "event"},
    )
    assert not Conflict.objects.filter(vault=api.vault).exists()


def test_a_thousand_are_taken_and_one_more_refused():
    api = api_of()
    items = [{"content": f"Turn {n}", "kind": "event", "thread": "t", "position": n} for n in range(1_001)]
    assert bulk(api, *items).status_code == 422
    assert not Memory.objects.exists()
    response = bulk(api, *items[:1_000])
    assert response.status_code == 200
    assert {result["status"] for result in response.json()["results"]} == {201}
    assert Memory.objects.filter(vault=api.vault).count() == 1_000


def test_an_empty_batch_is_an_empty_answer():
    assert bulk(api_of()).json() == {"results": []}


@pytest.mark.parametrize(
    "body", [{}, {"memories": None}, {"memories": {}}, {"memories": "x"}, [], {"items": []}]
)
def test_a_body_without_a_list_is_refused(body):
    assert api_of().post("memories/bulk", body).status_code == 422


def test_a_batch_larger_than_a_single_write_may_be_is_taken():
    api = api_of()
    items = [{"content": f"{n} " + "x" * 90_000} for n in range(30)]
    assert bulk(api, *items).status_code == 200


def test_the_number_of_statements_does_not_grow_with_the_batch(django_assert_max_num_queries):
    api = api_of()
    api.remember("warm up")
    items = [{"content": f"Turn {n} by Ana about Lisbon", "kind": "event"} for n in range(200)]
    with django_assert_max_num_queries(60):
        bulk(api, *items)


def test_one_limited_call_is_one_call_whatever_it_carries(settings):
    settings.CORTEX_THROTTLE = "5/min"
    api = api_of()
    for n in range(5):
        assert bulk(api, *({"content": f"{n}-{k}"} for k in range(12))).status_code == 200
    response = api.post("memories", {"content": "One too many"})
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0
    assert Memory.objects.filter(vault=api.vault).count() == 60
