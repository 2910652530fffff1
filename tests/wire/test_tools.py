"""The tools: each the same code path as its REST twin, described so that any client accepts it (docs/wire.md, Tools)."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from jsonschema import Draft202012Validator

from memories.models import Memory, Scope
from tests.clients import Api, api_of
from tests.wire.asking import ask, blamed, error_of, expand, fill, get, ok, pack, query, tool, use
from tests.wire.corpora import TASK, make_corpus

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, tzinfo=UTC)
READING = {"get_context", "query_memory", "expand", "search", "fetch"}
WRITING = {"remember_this", "propose_memory", "supersede_memory", "forget_memory"}
SHAPES = ("openai", "openai-responses", "anthropic", "mcp")
# For each tool one call that it takes.
CALLS: dict[str, dict[str, Any]] = {
    "get_context": {"task": "oak"},
    "query_memory": {"find": "oak"},
    "expand": {"ref": "mem_zzzzzzzzzzzz"},
    "search": {"query": "oak"},
    "fetch": {"id": "mem_zzzzzzzzzzzz"},
    "remember_this": {"content": "Ana keeps the key to the mill."},
    "propose_memory": {"content": "Ana keeps the key to the mill."},
    "supersede_memory": {"ref": "mem_zzzzzzzzzzzz", "content": "Bob keeps it."},
    "forget_memory": {"ref": "mem_zzzzzzzzzzzz"},
}


@pytest.fixture
def api():
    return api_of()


def described(api: Api, shape: str) -> dict[str, dict[str, Any]]:
    """Return the tools that a token is shown, by name, each as one shape has it."""
    tools = ok(get(api, "tools/schema", format=shape))["tools"]
    return {(entry.get("function") or entry)["name"]: entry for entry in tools}


def input_schema(entry: dict[str, Any]) -> dict[str, Any]:
    inner = entry.get("function", entry)
    return dict(inner.get("parameters") or inner.get("input_schema") or inner["inputSchema"])


class TestCalls:
    def test_an_answer_names_its_tool(self, api):
        body = ok(tool(api, "search", query="oak"))
        assert body == {"name": "search", "result": {"results": []}}

    def test_arguments_may_be_left_out_where_none_is_needed_and_are_missed_otherwise(self, api):
        response = api.post("tools/call", {"name": "search"})
        assert response.status_code == 422
        assert blamed(response) == {"query"}

    @pytest.mark.parametrize("name", ["no_such_tool", "", "get_context ", "GET_CONTEXT", "__class__"])
    def test_an_unknown_tool_is_not_here(self, api, name):
        assert tool(api, name).status_code in {404, 422}
        if name:
            assert error_of(tool(api, name))["status"] == 404

    @pytest.mark.parametrize("name", sorted(WRITING))
    def test_a_tool_out_of_scope_is_as_unknown_as_one_that_never_was(self, api, name):
        reader = api_of(api.vault, scopes=[Scope.READ])
        assert tool(reader, name, **CALLS[name]).content == tool(reader, "no_such_tool").content
        assert not Memory.objects.filter(vault=api.vault).exists()

    @pytest.mark.parametrize("name", sorted(READING))
    def test_a_token_that_only_writes_reads_nothing(self, api, name):
        writer = api_of(api.vault, scopes=[Scope.WRITE])
        assert tool(writer, name, **CALLS[name]).status_code == 404
        assert ok(tool(writer, "remember_this", content="Ana keeps the key."))

    @pytest.mark.parametrize(
        "body",
        [
            [],
            {"name": 5},
            {"name": "search", "arguments": []},
            {"name": "search", "arguments": "query=oak"},
            {"name": "search", "arguments": None},
            {"name": "search", "arguments": {"query": "oak"}, "id": 1},
            {"arguments": {"query": "oak"}},
        ],
    )
    def test_a_call_that_is_none_is_refused(self, api, body):
        response = api.post("tools/call", body)
        assert response.status_code == 422
        error_of(response)

    @pytest.mark.parametrize("name", sorted(CALLS))
    def test_bad_arguments_are_refused_and_named(self, api, name):
        response = tool(api, name, **CALLS[name], nonsense=1)
        assert response.status_code == 422
        assert "nonsense" in blamed(response)
        first = next(iter(CALLS[name]))
        wrong = tool(api, name, **{**CALLS[name], first: 5})
        assert wrong.status_code == 422
        assert first in blamed(wrong)

    def test_text_that_no_database_takes_is_refused(self, api):
        assert (
            api.call(
                "POST", "tools/call", raw=rb'{"name":"search","arguments":{"query":"a\u0000"}}'
            ).status_code
            == 400
        )


class TestTwins:
    @pytest.mark.parametrize("fmt", ["json", "smp"])
    @pytest.mark.parametrize("model", [None, "claude"])
    def test_get_context_answers_as_its_route_does(self, api, fmt, model):
        make_corpus(api.vault, 40)
        asked = {"task": TASK, "format": fmt, "model": model, "token_budget": 900}
        with time_machine.travel(NOW, tick=False):
            assert use(api, "get_context", **asked) | {"receipt": None} == pack(api, **asked) | {
                "receipt": None
            }

    def test_a_markdown_pack_is_the_same_text(self, api):
        make_corpus(api.vault, 40)
        with time_machine.travel(NOW, tick=False):
            text = ask(api, TASK, format="markdown").content.decode()
            told = use(api, "get_context", task=TASK, format="markdown")
        assert told["markdown"] == text
        assert told["receipt"].keys() == {"id"}
        assert [told[name] for name in ("cursor", "delta_cursor", "pin")] == [None, None, None]

    def test_what_the_route_says_in_headers_is_said_beside_the_pack(self, api):
        make_corpus(api.vault, 40)
        asked = {"task": TASK, "format": "markdown", "session_id": "s"}
        told = use(api, "get_context", **asked, token_budget=300)
        assert told.keys() == {"markdown", "cursor", "delta_cursor", "receipt", "pin"}
        assert told["cursor"]
        assert ok(api.get(f"receipts/{told['receipt']['id']}"))["session_id"] == "s"
        pin = use(api, "get_context", **asked, pin=True)["pin"]["id"]
        assert api.get(f"pins/{pin}").status_code == 200
        assert "delta" not in use(api, "get_context", **asked, since=int(told["delta_cursor"]))
        assert use(api, "get_context", **asked, since=999)["delta"] == "reset"
        assert use(api, "get_context", **{**asked, "format": "smp"}, since=999)["delta"] == "reset"

    @pytest.mark.parametrize(
        "mql",
        [{"find": "search index", "k": 5}, {"ask": "search index", "model": "gpt", "min_relevance": 0.1}],
    )
    def test_query_memory_answers_as_its_route_does(self, api, mql):
        make_corpus(api.vault, 40)
        with time_machine.travel(NOW, tick=False):
            assert use(api, "query_memory", **mql) == query(api, **mql)

    @pytest.mark.parametrize("direction", ["document", "neighbors"])
    def test_expand_answers_as_its_route_does(self, api, direction):
        told = api.remember("Ana leads Atlas", entities=["Ana"])
        api.remember("Ana likes tea", entities=["Ana"])
        result = use(api, "expand", ref=told["ref"], direction=direction)
        assert result == ok(expand(api, told["ref"], direction))

    def test_expand_goes_on_from_a_cursor(self, api):
        make_corpus(api.vault, 40)
        cursor = query(api, find="search index", k=3)["cursor"]
        with time_machine.travel(NOW, tick=False):
            assert use(api, "expand", ref=cursor, direction="more") == ok(expand(api, cursor, "more"))

    def test_remember_this_is_a_capture(self):
        text = "Ana keeps the key to the mill.\nWe decided to close on Mondays."
        asked = {"content": text, "title": "Minutes", "source": "chat", "author": "user"}
        with time_machine.travel(NOW, tick=False):
            by_tool = use(api_of(), "remember_this", **asked)
            by_route = api_of().post("captures", asked).json()
        assert without_refs(by_tool) == without_refs(by_route)

    def test_supersede_memory_gives_a_successor(self):
        with time_machine.travel(NOW, tick=False):
            told = []
            for way in ("tool", "route"):
                api = api_of()
                old = api.remember("Ana keeps the key")["ref"]
                asked = {"content": "Bob keeps the key", "reason": "moved"}
                if way == "tool":
                    told.append(use(api, "supersede_memory", ref=old, **asked))
                else:
                    told.append(api.post(f"memories/{old}/supersede", asked).json())
                assert api.get(f"memories/{old}").json()["superseded_by"] == told[-1]["ref"]
        assert without_refs(told[0]) == without_refs(told[1])

    def test_forget_memory_erases_and_proves_it(self):
        told = []
        for way in ("tool", "route"):
            api = api_of()
            ref = api.remember("Ana keeps the key")["ref"]
            body = use(api, "forget_memory", ref=ref) if way == "tool" else ok(api.delete(f"memories/{ref}"))
            told.append(without_refs(body))
            assert api.get(f"memories/{ref}").status_code == 404
        assert told[0] == told[1]
        assert set(told[0]["probes"].values()) == {0}

    def test_propose_memory_waits_for_a_review(self, api):
        told = use(api, "propose_memory", content="Ana keeps the key", kind="claim", tags=["mill"])
        assert (told["status"], told["tags"]) == ("pending", ["mill"])
        assert pack(api, "Who keeps the key?")["layers"] == {}
        assert api.post(f"memories/{told['ref']}/approve").status_code == 200
        assert pack(api, "Who keeps the key?")["layers"]["facts"][0]["ref"] == told["ref"]


def without_refs(value: Any) -> Any:
    """Return an answer with its random refs in place of each other."""
    if isinstance(value, dict):
        return {key: without_refs(part) for key, part in value.items()}
    if isinstance(value, list):
        return [without_refs(part) for part in value]
    return re.sub(r"(mem|cap)_\w+", r"\1", value) if isinstance(value, str) else value


class TestConnector:
    """`search` and `fetch`, in the shapes that ChatGPT's connector insists on."""

    def test_search_gives_ids_titles_addresses_and_texts(self, api):
        (ref,) = fill(api, "Oak is hard. It grows slowly.")
        (result,) = use(api, "search", query="oak")["results"]
        assert result == {
            "id": ref,
            "title": "Oak is hard.",
            "url": "https://example.org/note",
            "text": "Oak is hard. It grows slowly.",
        }

    def test_fetch_takes_an_id_from_search_and_gives_the_document(self, api):
        api.remember("Oak is hard. It grows slowly.")
        (found,) = use(api, "search", query="oak")["results"]
        document = use(api, "fetch", id=found["id"])
        assert document.keys() == {"id", "title", "text", "url", "metadata"}
        assert (document["id"], document["text"]) == (found["id"], "Oak is hard. It grows slowly.")
        assert document["url"]
        assert document["url"] == found["url"]

    def test_where_people_reach_the_server_its_pages_are_cited(self, api, settings):
        settings.CORTEX_PUBLIC_URL = "https://me.example"
        (ref,) = fill(api, "Oak is hard.")
        (result,) = use(api, "search", query="oak")["results"]
        document = use(api, "fetch", id=ref)
        assert result["url"] == document["url"] == f"https://me.example/m/{ref}"
        assert document["metadata"]["source_urls"] == ["https://example.org/note"]

    def test_a_web_address_is_cited_before_the_capture_of_what_it_said(self, api):
        told = use(api, "remember_this", content="Oak is hard.", url="https://example.org/oak")
        (ref,) = (memory["ref"] for memory in told["memories"])
        (result,) = use(api, "search", query="oak")["results"]
        assert result["url"] == use(api, "fetch", id=ref)["url"] == "https://example.org/oak"
        (ref,) = fill(api, "Elm is tough.", source_url="cortex-capture://cap_0123456789ab")
        assert use(api, "fetch", id=ref)["url"] == "cortex-capture://cap_0123456789ab"

    def test_a_memory_that_cites_nothing_has_an_address_all_the_same(self, api):
        (ref,) = fill(api, "Oak is hard.", source_url=None)
        assert use(api, "fetch", id=ref)["url"] == f"cortex-memory://{ref}"

    def test_what_is_not_there_is_an_error_and_no_empty_document(self, api):
        gone = api.remember("Oak is hard")["ref"]
        api.delete(f"memories/{gone}")
        hidden = api.remember("Oak is brown")["ref"]
        api.post(f"memories/{hidden}/archive")
        (theirs,) = fill(api_of(), "Oak is dear")
        told = {tool(api, "fetch", id=ref).content for ref in (gone, hidden, theirs, "mem_zzzzzzzzzzzz", "x")}
        assert len(told) == 1
        assert tool(api, "fetch", id=gone).status_code == 404


class TestSchemas:
    def test_a_reader_is_shown_the_reading_tools_and_a_writer_all(self, api):
        reader = api_of(api.vault, scopes=[Scope.READ])
        for shape in SHAPES:
            assert described(reader, shape).keys() == READING
            assert described(api, shape).keys() == READING | WRITING

    @pytest.mark.parametrize("shape", SHAPES)
    def test_every_schema_is_valid_and_an_object_that_names_all_it_takes(self, api, shape):
        for entry in described(api, shape).values():
            schema = input_schema(entry)
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert schema["additionalProperties"] is False
            assert set(schema.get("required", ())) <= set(schema["properties"])
            assert not {"anyOf", "oneOf", "allOf", "$ref", "not"} & schema.keys()
            assert "$ref" not in str(schema)

    def test_each_shape_is_that_of_its_provider(self, api):
        openai = described(api, "openai")["search"]
        assert openai["type"] == "function"
        assert openai["function"].keys() == {"name", "description", "parameters"}
        flat = described(api, "openai-responses")["search"]
        assert flat.keys() == {"type", "name", "description", "parameters", "strict"}
        assert (flat["type"], flat["strict"]) == ("function", False)
        assert described(api, "anthropic")["search"].keys() == {"name", "description", "input_schema"}
        assert described(api, "mcp")["search"].keys() >= {"name", "title", "description", "inputSchema"}

    def test_what_a_tool_answers_is_described_as_well(self, api):
        for entry in described(api, "mcp").values():
            schema = entry["outputSchema"]
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert "$ref" not in str(schema)

    def test_hints_are_all_said_outright(self, api):
        for name, entry in described(api, "mcp").items():
            hints = entry["annotations"]
            assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= hints.keys()
            assert hints["readOnlyHint"] is (name in READING)
            assert hints["destructiveHint"] is (name in {"supersede_memory", "forget_memory"})

    @pytest.mark.parametrize("name", sorted(CALLS))
    def test_a_schema_promises_what_its_tool_takes(self, api, name):
        schema = input_schema(described(api, "openai")[name])
        Draft202012Validator(schema).validate(CALLS[name])
        for field in schema["properties"]:
            response = tool(api, name, **{**CALLS[name], field: object_of_no_type()})
            assert response.status_code == 422, field
            told = " ".join(error["message"] for error in response.json()["errors"])
            assert "unknown field" not in told, field
            assert "no field" not in told, field

    @pytest.mark.parametrize(
        ("params", "field"), [({"format": "gemini"}, "format"), ({"shape": "mcp"}, "shape")]
    )
    def test_an_unknown_shape_is_refused(self, api, params, field):
        response = get(api, "tools/schema", **params)
        assert response.status_code == 422
        assert blamed(response) == {field}


def object_of_no_type() -> dict[str, Any]:
    """Return what no field of any tool takes."""
    return {"neither": {"text": ["nor", "number"]}}
