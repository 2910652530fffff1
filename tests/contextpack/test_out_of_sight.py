"""A memory in sight whose successor, or predecessor, is not."""

import pytest

from memories.models import Memory, Scope
from tests.clients import api_of
from tests.wire.asking import expand, ok, use

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of()


@pytest.fixture
def limited(api):
    return api_of(api.vault, projects=["hall"], scopes=[Scope.READ, Scope.WRITE, Scope.REVIEW])


@pytest.fixture
def line(api):
    """Three versions of one fact; the middle one has moved to a project of others."""
    first = api.remember("The table is of oak", project="hall")["ref"]
    second = ok_or_created(api, first, "The table is of ash")
    third = ok_or_created(api, second, "The table is of elm")
    Memory.objects.filter(vault=api.vault, ref=second).update(project="barn")
    return first, second, third


def ok_or_created(api, ref, content):
    response = api.post(
        f"memories/{ref}/supersede", {"content": content, "project": "hall", "reason": "the barn's wood"}
    )
    assert response.status_code == 201, response.content
    return response.json()["ref"]


def test_no_answer_names_the_successor(api, limited, line):
    first, second, third = line
    answers = [
        limited.get(f"memories/{first}"),
        limited.get(f"memories/{third}"),
        limited.get("memories?active=false"),
        limited.get("memories?limit=200"),
        expand(limited, first),
        expand(limited, third),
        limited.patch(f"memories/{first}", {"tags": ["wood"]}),
        limited.post("tools/call", {"name": "fetch", "arguments": {"id": first}}),
    ]
    for answer in answers:
        assert answer.status_code == 200, answer.content
        assert second not in answer.content.decode()
        assert "barn" not in answer.content.decode()
    assert ok(api.get(f"memories/{first}"))["superseded_by"] == second


def test_what_lies_in_sight_is_named_as_before(api, limited):
    first = api.remember("The table is of oak", project="hall")["ref"]
    second = ok_or_created(api, first, "The table is of ash")
    assert ok(limited.get(f"memories/{first}"))["superseded_by"] == second
    assert use(limited, "fetch", id=first)["metadata"]["superseded_by"] == second
    assert [step["ref"] for step in ok(limited.get(f"memories/{second}"))["chain"]] == [first, second]
