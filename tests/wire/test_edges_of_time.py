"""Dates at the edges of the calendar, through the calls: an answer or a refusal, never a crash."""

import pytest

from tests.clients import api_of

pytestmark = pytest.mark.django_db

MOMENTS = (
    "0001-01-01T00:00:00Z",
    "0001-01-02T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
)
TEXT = "Ana arrived yesterday. She left 2 weeks ago. We met last month. ACTION: Ana sends it by tomorrow. By Friday it is due."


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_was_said_at_the_edge_of_time_is_kept_or_refused(moment):
    api = api_of()
    response = api.post("captures", {"content": TEXT, "occurred_at": moment})
    assert response.status_code == (201 if moment.endswith("Z") else 422), response.content
    response = api.post("memories", {"content": "Ana arrived yesterday.", "occurred_at": moment})
    assert response.status_code in {200, 201, 422}, response.content


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("task", ["What did Ana do yesterday?", "What did Ana do last week, or in 9999-12?"])
def test_what_is_asked_at_the_edge_of_time_is_answered_or_refused(moment, task):
    api = api_of()
    api.remember("Ana arrived.", occurred_at="0001-01-01T00:00:00Z")
    api.remember("Ana left.", occurred_at="9999-12-31T23:59:59Z")
    for asked in ({"as_of": moment}, {"known_at": moment}, {}):
        response = api.post("context", {"task": task, **asked})
        assert response.status_code in {200, 422}, response.content
        response = api.post("query", {"ask": task, **asked})
        assert response.status_code in {200, 422}, response.content
