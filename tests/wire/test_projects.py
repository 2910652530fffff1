"""A token of some projects is answered as if the others were not there (CONTRACT: who may call)."""

import re

import pytest

from memories.core.kinds import Verb
from memories.models import Decision, Entity, Memory, Scope
from tests.clients import api_of

pytestmark = pytest.mark.django_db

VARYING = re.compile(
    r"\b(?:mem|cap|ent|dec|con|rcp)_[0-9a-z]{12}\b|\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|\+00:00)|token:\d+"
)


def propose(api, old, content):
    arguments = {"ref": old, "content": content}
    return api.post("tools/call", {"name": "supersede_memory", "arguments": arguments}).json()["result"][
        "ref"
    ]


def vault_with(*projects):
    """Fill a vault alike for each of some projects; what is asked about is of the first one."""
    api = api_of()
    for project in projects:
        told = {"project": project, "author": "user", "entities": ["Zebulon", "Quill"]}
        first = api.remember("Zebulon keeps ledger one", **told)["ref"]
        api.remember("Zebulon keeps ledger two", **told)
        decided = api.remember("Zebulon sold the boat", **told)["ref"]
        assert api.post(f"memories/{decided}/archive").status_code == 200
        waiting = propose(api, first, "Zebulon keeps ledger three")
        Memory.objects.filter(vault=api.vault, ref=waiting).update(project=project)
    mine = Memory.objects.filter(vault=api.vault, project=projects[0])
    return api, {
        "memory": mine.get(content="Zebulon keeps ledger one").ref,
        "decided": mine.get(content="Zebulon sold the boat").ref,
        "pending": mine.get(content="Zebulon keeps ledger three").ref,
        "entity": Entity.objects.get(vault=api.vault, name="Zebulon").ref,
    }


CALLS: list[tuple[str, str, dict[str, str] | None]] = [
    ("GET", "entities", None),
    ("GET", "entities/{entity}", None),
    ("DELETE", "entities/{entity}", None),
    ("GET", "proposals", None),
    ("GET", "decisions", None),
    ("GET", "decisions?ref={decided}", None),
    ("GET", "decisions?verb=archive", None),
    ("GET", "memories/{decided}", None),
    ("POST", "memories/{decided}/undo", {}),
    ("POST", "memories/{pending}/decline", {}),
    ("POST", "memories/{pending}/approve", {}),
    ("DELETE", "memories/{memory}", None),
    ("GET", "conflicts", None),
]


def told(api, names, method, path, body):
    narrow = api_of(api.vault, projects=["ana"], scopes=[Scope.READ, Scope.WRITE, Scope.REVIEW])
    response = narrow.call(method, path.format(**names), body)
    assert response.status_code == 200, response.content
    return VARYING.sub("…", response.content.decode())


@pytest.mark.parametrize(
    ("method", "path", "body"), CALLS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_answer_is_the_same_whether_another_project_is_there_or_not(method, path, body):
    (both, names), (one, names_of_one) = vault_with("ana", "bo"), vault_with("ana")
    assert told(both, names, method, path, body) == told(one, names_of_one, method, path, body)


def test_decisions_about_what_another_project_held_and_forgot_are_not_told():
    api, names = vault_with("ana", "bo")
    gone = Memory.objects.filter(vault=api.vault, project="bo").latest("pk")
    api.delete(f"memories/{gone.ref}")
    assert Decision.objects.filter(vault=api.vault, verb=Verb.FORGET).exists()
    assert gone.ref not in told(api, names, "GET", "decisions", None)
