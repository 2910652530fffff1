"""A short slice of `make fuzz`, and what longer runs have found, as kinds."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.clients import api_of
from tests.fuzzing import fuzz

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
METHODS = (
    "initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/initialized", "resources/list",
)  # fmt: skip
FRAMES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": st.integers() | st.text(max_size=5) | VALUES,
        "method": st.sampled_from(METHODS) | VALUES,
        "params": st.fixed_dictionaries(
            {}, optional={"name": st.just("search") | VALUES, "arguments": VALUES, "_meta": VALUES}
        )
        | VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)


def test_some_hundred_requests_that_nobody_wrote_find_no_fault(server):
    run = fuzz(server, seed=7, bound={"max-examples": 5}, phases="fuzzing")
    assert run.requests > 100
    assert run.faults == [], run.told


def repeated() -> Iterator[tuple[str, str]]:
    """Yield every operation that takes a query string, with one of its parameters."""
    document = api_of().client.get("/v1/schema").json()
    for path, operations in document["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            if parameter["in"] == "query":
                yield path, parameter["name"]


@pytest.mark.django_db
def test_a_parameter_that_is_given_twice_is_a_list_or_a_refusal_everywhere():
    api, asked = api_of(), list(repeated())
    assert len(asked) > 40
    for path, name in asked:
        address = (
            path.removeprefix("/v1/")
            .replace("{ref}", "x")
            .replace("{session_id}", "x")
            .replace("{memory}", "x")
        )
        for first, second in (("1", "2"), ("true", "false"), ("a", "")):
            response = api.get(f"{address}?{name}={first}&{name}={second}")
            assert response.status_code in {200, 400, 404, 422}, (path, name, response.content)


@pytest.mark.django_db
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=FRAMES | st.lists(FRAMES, max_size=3) | VALUES)
def test_any_frame_gets_an_answer_of_the_protocol(api, message):
    response = api.client.post(
        "/mcp", json.dumps(message), content_type="application/json", headers=api.headers
    )
    assert response.status_code in {200, 202, 400, 404}, response.content
    if response.content:
        told: Any = response.json()
        assert all(one["jsonrpc"] == "2.0" for one in (told if isinstance(told, list) else [told]))


@pytest.fixture
def api():
    return api_of()
