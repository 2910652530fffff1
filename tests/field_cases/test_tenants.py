"""Whose memories are meant: never wider than the token, never by prefix or pattern (D1, D4, D7, D8)."""

import pytest

from tests.clients import api_of
from tests.wire.asking import get, pack, query, refs, smp, use

pytestmark = pytest.mark.django_db

PATTERNS = ["", "*", "%", "_", "?", "[a]", "a%", "a_", ".*", "ana*", "' OR 1=1 --", "null", "None", "all"]


@pytest.fixture
def api():
    return api_of()


class TestOtherVaults:
    """D1: one vault's refs, cursors and sessions against another's token; every route is in tests/wire/test_walls."""

    def test_a_session_of_the_same_name_is_another_session(self, api):
        api.remember("Ana keeps the key")
        smp(api, "key", session_id="chat")
        other = api_of()
        assert other.get("sessions/chat").status_code == 404
        assert smp(other, "key", session_id="chat", since=1)["working_memory"]["new"] == []
        assert api.get("sessions/chat").json()["cursor"] == "1"

    def test_another_vaults_refs_among_the_dropped_are_of_no_effect(self, api):
        theirs = api_of().remember("Bob keeps the key")["ref"]
        mine = api.remember("Ana keeps the key")["ref"]
        smp(api, "key", session_id="chat")
        body = smp(api, "key", session_id="chat", dropped=[theirs, mine])
        assert [entry["ref"] for entry in body["working_memory"]["new"]] == [mine]

    def test_the_same_text_in_two_vaults_is_two_memories(self, api):
        other = api_of()
        mine, theirs = (one.remember("The key is under the oak")["ref"] for one in (api, other))
        assert mine != theirs
        api.delete(f"memories/{mine}")
        assert refs(smp(other, "key oak")) == [theirs]


class TestOwners:
    """D4: a missing, empty or odd owner is an error or the caller's own; never all."""

    @pytest.mark.parametrize(
        "name", ["vault", "vault_id", "owner", "user_id", "tenant", "namespace", "scope"]
    )
    @pytest.mark.parametrize("value", ["", None, "*", [], "default", {}])
    def test_no_field_of_any_question_names_one(self, api, name, value):
        assert api.post("context", {"task": "key", name: value}).status_code == 422
        assert api.post("query", {"find": "key", name: value}).status_code == 422
        assert (
            api.post("tools/call", {"name": "search", "arguments": {"query": "key", name: value}}).status_code
            == 422
        )

    @pytest.mark.parametrize("slug", ["", "*", "%", "nobody"])
    def test_a_token_ignores_the_operators_header(self, api, slug):
        other = api_of()
        other.remember("Bob keeps the key")
        mine = api.remember("Ana keeps the key")["ref"]
        for header in (slug, other.vault.slug, other.vault.pk):
            response = api.post("context", {"task": "key", "format": "smp"}, X_Cortex_Vault=header)
            assert [item["ref"] for item in response.json()["items"]] == [mine]

    @pytest.mark.parametrize("project", PATTERNS)
    def test_an_odd_project_never_widens_a_limited_token(self, api, project):
        shared = api.remember("Everybody may use the key")["ref"]
        api.remember("Ana keeps the key", project="ana")
        limited = api_of(api.vault, projects=["bob"])
        assert refs(smp(limited, "key", project=project)) == [shared]
        if project:
            assert refs(query(limited, find="key", project=project)) == [shared]
        assert refs(smp(limited, "key")) == [shared]
        assert refs(smp(limited, "key", project=None)) == [shared]

    @pytest.mark.parametrize("name", ["entities", "layers"])
    def test_an_empty_filter_never_widens_a_limited_token(self, api, name):
        api.remember("Ana keeps the key", project="ana", entities=["Ana"])
        limited = api_of(api.vault, projects=["bob"])
        assert refs(smp(limited, "key", **{name: None})) == []
        assert limited.post("context", {"task": "key", name: []}).status_code == 422
        assert limited.post("query", {"find": "key", name: []}).status_code == 422


class TestNames:
    """D7: a label is matched whole."""

    @pytest.mark.parametrize(
        ("label", "others"), [("ana", ["ana2", "ana/x", "an", "Ana", "ana "]), ("a_b", ["axb", "a%b"])]
    )
    def test_projects_are_compared_whole(self, api, label, others):
        mine = api.remember("The key is under the oak", project=label)["ref"]
        for other in others:
            api.remember(f"The key is under the oak of {other}", project=other)
        limited = api_of(api.vault, projects=[label])
        for body in (
            smp(api, "key oak", project=label),
            query(api, find="key oak", project=label),
            smp(limited, "key oak"),
            query(limited, find="key oak"),
        ):
            assert refs(body) == [mine]
        assert [result["id"] for result in use(limited, "search", query="key oak")["results"]] == [mine]

    @pytest.mark.parametrize("session", ["chat", "chat/1", "chat 2", "Chat", "чат", "会话", "a?b#c"])
    def test_sessions_are_compared_whole(self, api, session):
        api.remember("The key is under the oak")
        for other in ("cha", "chat1", "chat/", "ch%"):
            smp(api, "key", session_id=other)
        assert len(smp(api, "key", session_id=session)["working_memory"]["new"]) == 1

    @pytest.mark.parametrize("name", ["An", "ana", "Ana Prado", "Ana%", "%", "*"])
    def test_entities_are_compared_whole(self, api, name):
        about = api.remember("The key is under the oak", entities=["Ana"])["ref"]
        api.remember("The key is old", entities=["Anabel"])
        expected = [about] if name == "ana" else []
        assert refs(smp(api, "key", entities=[name])) == expected
        assert refs(query(api, find="key", entities=[name])) == expected


class TestTags:
    """D8: a tag is matched whole, and no character of it is a pattern."""

    def test_every_tag_finds_its_own_alone(self, api):
        tags = ["art", "start", "a%", "a_", "[a]", "a", "ART!", "a*", "tart", '"a"', "a\\", "ar"]
        made = {tag: api.remember(f"Note number {n}", tags=[tag])["ref"] for n, tag in enumerate(tags)}
        for tag, ref in made.items():
            assert [row["ref"] for row in get(api, "memories", tag=tag).json()["results"]] == [ref], tag

    def test_a_tag_is_no_word_of_a_task(self, api):
        api.remember("The key is under the oak", tags=["zebra"])
        assert refs(smp(api, "zebra")) == []
        assert pack(api, "zebra")["coverage"]["status"] in {"weak", "empty"}
