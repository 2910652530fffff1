"""A pack and a query read the same field as the same thing."""

import pytest

from tests.clients import api_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    client = api_of()
    for project in ("", "atlas", "borealis"):
        client.remember(f"The oak of {project or 'everybody'} is hard", project=project)
    return client


def contents(response):
    assert response.status_code == 200, response.content
    return {item["content"] for item in response.json()["items"]}


def blamed(response):
    assert response.status_code == 422
    return {error["field"].split(".")[0] for error in response.json()["errors"]}


def all_ways(api, **fields):
    """The same narrowing by a pack, a query, and the tools of both."""
    yield api.post("context", {"task": "oak", "format": "smp", **fields})
    yield api.post("query", {"find": "oak", **fields})
    yield api.post("query", {"ask": "oak", **fields})


@pytest.mark.parametrize(
    ("project", "owners"),
    [
        ("", {"everybody"}),
        ("atlas", {"everybody", "atlas"}),
        ("Atlas", {"everybody"}),
        (" atlas", {"everybody"}),
    ],
)
def test_a_project_means_the_same(api, project, owners):
    expected = {f"The oak of {owner} is hard" for owner in owners}
    for response in all_ways(api, project=project):
        assert contents(response) == expected


def test_an_empty_project_in_an_address_is_the_unlabelled(api):
    assert contents(api.get("context?task=oak&format=smp&project=")) == {"The oak of everybody is hard"}
    assert contents(api.get("query?find=oak&project=")) == {"The oak of everybody is hard"}


@pytest.mark.parametrize("field", ["layers", "entities"])
def test_an_empty_selection_never_means_everything(api, field):
    for response in all_ways(api, **{field: []}):
        assert blamed(response) == {field}
    assert blamed(api.get(f"context?task=oak&{field}=")) == {field}
    assert blamed(api.get(f"query?find=oak&{field}=")) == {field}
    call = {"name": "get_context", "arguments": {"task": "oak", field: []}}
    assert blamed(api.post("tools/call", call)) == {field}


@pytest.mark.parametrize("field", ["layers", "entities", "project"])
def test_null_is_absent_from_a_pack(api, field):
    assert len(contents(api.post("context", {"task": "oak", "format": "smp", field: None}))) == 3
