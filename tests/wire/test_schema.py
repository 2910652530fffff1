"""The OpenAPI document and its page: complete, valid, open, and at home under a strict policy (docs/wire.md)."""

import re
from contextlib import closing
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator

from tests.clients import api_of
from tests.wire.asking import ask, expand, ok, query, tool
from tests.wire.routes import every_route

pytestmark = pytest.mark.django_db

REFUSALS = {"400", "401", "403", "404", "409", "410", "413", "414", "415", "422", "429", "431", "503"}


@pytest.fixture
def document(client: Client):
    response = client.get("/v1/schema")
    assert response.status_code == 200
    return response.json()


def documented(path: str) -> str:
    """Return a URLconf's path as the document writes it."""
    return "/v1/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", path)


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


class TestDocument:
    def test_it_is_openapi_3_1_and_valid(self, document):
        assert document["openapi"].startswith("3.1")
        validate_schema(document)

    def test_it_is_json_unless_yaml_is_asked_for(self, client):
        assert client.get("/v1/schema")["Content-Type"].startswith("application/json")
        yaml = client.get("/v1/schema", headers={"Accept": "application/yaml"})
        assert yaml.content.startswith(b"openapi: 3.1")
        assert client.get("/v1/schema", headers={"Accept": "text/html"}).status_code == 200

    def test_every_route_is_in_it_with_every_method(self, document):
        told = {(path, method) for path, method, _ in operations(document)}
        there = {(documented(path), method.lower()) for method, path in every_route() if path != "schema"}
        assert told == there

    def test_no_value_fits_two_of_the_forms_of_which_it_has_one(self, document):
        def loose(part: Any) -> list[Any]:
            if isinstance(part, list):
                return [found for each in part for found in loose(each)]
            if not isinstance(part, dict):
                return []
            own = [part] if {} in part.get("oneOf", []) else []
            return own + [found for each in part.values() for found in loose(each)]

        assert loose(document) == []

    def test_every_operation_has_a_name_of_its_own(self, document):
        names = [operation["operationId"] for _, _, operation in operations(document)]
        assert len(names) == len(set(names))

    def test_every_operation_tells_its_refusals_in_one_form(self, document):
        for path, method, operation in operations(document):
            assert operation["responses"].keys() >= REFUSALS, (path, method)
            for status in REFUSALS:
                assert "application/problem+json" in operation["responses"][status]["content"]

    def test_every_operation_wants_a_bearer_token(self, document):
        scheme = document["components"]["securitySchemes"]["bearer"]
        assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
        for path, method, operation in operations(document):
            assert operation["security"] == [{"bearer": []}], (path, method)

    def test_the_context_route_documents_all_its_parameters(self, document):
        get = document["paths"]["/v1/context"]["get"]
        assert {parameter["name"] for parameter in get["parameters"]} == {
            "task", "format", "model", "token_budget", "session_id", "since", "dropped", "delta", "project",
            "layers", "entities", "as_of", "known_at", "pin", "legend", "cursor",
        }  # fmt: skip

    def test_the_query_route_documents_every_knob(self, document):
        get = document["paths"]["/v1/query"]["get"]
        assert {parameter["name"] for parameter in get["parameters"]} == {
            "ask", "find", "layers", "entities", "as_of", "known_at", "valid_only", "min_relevance", "min_trust",
            "budget_tokens", "model", "expand", "k", "project", "cursor",
        }  # fmt: skip


class _Page(HTMLParser):
    """What a page loads, and what it holds inline."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.inline: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._open = tag
        self.loads += [address for name in ("src", "href") if (address := named.get(name))]
        self.inline += [name for name in named if name == "style" or name.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self._open in {"script", "style"} and data.strip():
            self.inline.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


def body_of(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else bytes(response.content)


@pytest.fixture(autouse=True)
def _static_files(settings):
    settings.WHITENOISE_USE_FINDERS = True  # the page's scripts and styles are part of what is looked at


class TestPage:
    @pytest.fixture
    def page(self, client):
        response = client.get("/docs")
        assert response.status_code == 200
        page = _Page()
        page.feed(response.content.decode())
        return page

    def test_it_loads_scripts_and_styles_from_here_alone(self, page):
        assert any(address.endswith(".js") for address in page.loads)
        assert any(address.endswith(".css") for address in page.loads)
        assert all(re.match(r"/(?!/)", address) for address in page.loads)

    def test_it_has_nothing_inline(self, page):
        assert page.inline == []

    def test_everything_that_it_loads_is_there(self, page, client):
        for address in page.loads:
            with closing(client.get(address)) as response:
                assert response.status_code == 200, address
                kind = response["Content-Type"]
                assert body_of(response), address
            assert ("javascript" in kind) == (".js" in address or "script" in address), address

    def test_its_script_asks_for_the_document_of_this_server(self, client):
        script = client.get("/docs?script=").content.decode()
        assert "/v1/schema" in script
        assert "https://" not in script
        assert "http://" not in script

    def test_its_policy_is_strict(self, client):
        policy = client.get("/docs")["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy


class TestOpenDoors:
    @pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/v1/schema"])
    def test_they_want_no_token_and_mind_no_wrong_one(self, client, path):
        assert client.get(path).status_code == 200
        assert client.get(path, headers={"Authorization": "Bearer nobody"}).status_code == 200

    def test_the_root_leads_to_the_page(self, client):
        response = client.get("/")
        assert (response.status_code, response["Location"]) == (302, "/docs")


class TestAnswers:
    """What generators make types of: the answers are what the document says."""

    def test_real_answers_are_as_the_document_says(self, document):
        api = api_of()
        ref = api.remember("Oak is hard. Ana leads the oak project.")["ref"]
        components = document["components"]
        told = {
            "Pack": [
                ok(ask(api, "oak")),
                ok(ask(api, "oak", format="smp", session_id="s", model="claude")),
                ok(ask(api, "zebra", entities=["Zoe"])),
            ],
            "QueryAnswer": [
                query(api, find="oak"),
                query(api, ask="oak", model="claude"),
                query(api, find="zqxv"),
            ],
            "Expansion": [ok(expand(api, ref)), ok(expand(api, ref, "neighbors"))],
            "CaptureAnswer": [
                api.post("captures", {"content": "We decided to paint it red."}).json(),
                api.post("captures", {"content": "No memory for this."}).json(),
            ],
            "MemoryWhole": [ok(api.get(f"memories/{ref}"))],
            "BulkAnswer": [ok(api.post("memories/bulk", {"memories": [{"content": "Elm."}, {"kind": "x"}]}))],
            "ToolList": [ok(api.get("tools/schema?format=openai"))],
            "ToolAnswer": [ok(tool(api, "search", query="oak"))],
            "Forgotten": [ok(api.delete(f"memories/{ref}"))],
        }
        for name, answers in told.items():
            schema = {"$ref": f"#/components/schemas/{name}", "components": components}
            for answer in answers:
                Draft202012Validator(schema).validate(answer)

    def test_what_generators_need_has_a_name(self, document):
        answers = {
            operation["operationId"]: operation["responses"].get("200", {}).get("content", {})
            for _, _, operation in operations(document)
        }
        for name in ("post_context", "post_query", "expand", "memories_read", "memories_write_bulk"):
            assert "$ref" in answers[name]["application/json"]["schema"]
        assert "text/markdown" in answers["post_context"]
