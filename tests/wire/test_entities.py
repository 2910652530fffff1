"""/v1/entities: the people and things that memories name."""

from urllib.parse import quote

import pytest

from memories.models import Alias, Entity, Scope
from tests.clients import api_of
from tests.factories import make_vault

pytestmark = pytest.mark.django_db


def names(response):
    return [entity["name"] for entity in response.json()["results"]]


def test_entities_are_listed_by_name_with_their_count():
    api = api_of()
    api.remember("First", entities=["Bo", "Ana"])
    api.remember("Second", entities=["Ana"])
    body = api.get("entities").json()
    assert [(e["name"], e["memories"], e["aliases"]) for e in body["results"]] == [
        ("Ana", 2, []),
        ("Bo", 1, []),
    ]
    assert all(entity["id"].startswith("ent_") for entity in body["results"])
    assert body["next"] is None


def test_one_entity_is_told_with_aliases_and_neighbours():
    api = api_of()
    api.remember("First", entities=["Ana", "Bo", "Cy"])
    api.remember("Second", entities=["Ana", "Bo"])
    ana = Entity.objects.get(vault=api.vault, name="Ana")
    Alias.objects.create(vault=api.vault, entity=ana, name="Ana Costa", key="ana costa")
    body = api.get(f"entities/{ana.ref}").json()
    assert (body["name"], body["aliases"], body["memories"]) == ("Ana", ["Ana Costa"], 2)
    assert [(n["name"], n["shared"]) for n in body["neighbours"]] == [("Bo", 2), ("Cy", 1)]


def test_an_entity_is_found_by_any_of_its_names_whole():
    api = api_of()
    api.remember("First", entities=["Ana Costa"])
    api.remember("Second", entities=["Bo"])
    ana = Entity.objects.get(vault=api.vault, name="Ana Costa")
    Alias.objects.create(vault=api.vault, entity=ana, name="AC", key="ac")
    assert names(api.get("entities?q=ana+costa")) == ["Ana Costa"]
    assert names(api.get("entities?q=AC")) == ["Ana Costa"]
    assert names(api.get("entities?q=ana")) == []
    assert names(api.get("entities?q=%25")) == []


def test_the_list_comes_in_pages():
    api = api_of()
    api.remember("Many", entities=[f"Name {n:02}" for n in range(23)])
    seen, cursor = [], ""
    while True:
        body = api.get(f"entities?limit=5{cursor}").json()
        seen += [entity["name"] for entity in body["results"]]
        if body["next"] is None:
            break
        cursor = f"&cursor={quote(body['next'])}"
    assert seen == [f"Name {n:02}" for n in range(23)]


def test_only_what_memories_in_sight_are_about_is_told():
    vault = make_vault()
    api = api_of(vault)
    api.remember("First", entities=["Ana", "Bo"], project="ana")
    api.remember("Second", entities=["Ana", "Cy"], project="cy")
    narrow = api_of(vault, projects=["cy"])
    assert names(narrow.get("entities")) == ["Ana", "Cy"]
    ana = Entity.objects.get(vault=vault, name="Ana")
    body = narrow.get(f"entities/{ana.ref}").json()
    assert (body["memories"], [n["name"] for n in body["neighbours"]]) == (1, ["Cy"])
    bo = Entity.objects.get(vault=vault, name="Bo")
    assert narrow.get(f"entities/{bo.ref}").status_code == 404


def test_what_is_elsewhere_is_not_here():
    api, stranger = api_of(), api_of()
    api.remember("First", entities=["Ana"])
    ana = Entity.objects.get(vault=api.vault)
    answers = [stranger.get(f"entities/{ref}") for ref in (ana.ref, "ent_000000000000", "x")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert names(stranger.get("entities")) == []


@pytest.mark.parametrize("query", ["q=", "limit=0", "name=Ana", "cursor=x&x=1"])
def test_a_parameter_that_breaks_a_rule_is_422(query):
    assert api_of().get(f"entities?{query}").status_code == 422


def test_looking_needs_the_scope_to_read():
    assert api_of(scopes=[Scope.WRITE]).get("entities").status_code == 403
    assert api_of(scopes=[Scope.WRITE]).get("entities/x").status_code == 403


def test_a_page_takes_a_fixed_number_of_statements(django_assert_num_queries):
    api = api_of()
    api.remember("Many", entities=[f"Name {n:02}" for n in range(23)])
    api.get("entities?limit=1")
    with django_assert_num_queries(4):  # the token, the rows, their aliases, their counts
        api.get("entities")
