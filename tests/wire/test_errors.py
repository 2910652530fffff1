"""Refusals: one form, the right status, never a 500, never a traceback (docs/wire.md, Errors and limits)."""

import json
from typing import Any

import pytest
from django.db import OperationalError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.models import Scope
from tests.clients import Api, api_of
from tests.wire.asking import ask, blamed, error_of, fill, get, ok, query, tool

pytestmark = pytest.mark.django_db

UNKNOWN = "mem_zzzzzzzzzzzz"
READS = [
    ("GET", "context?task=oak"),
    ("POST", "context"),
    ("GET", "query?find=oak"),
    ("POST", "query"),
    ("GET", f"expand?ref={UNKNOWN}"),
    ("GET", "receipts/rcp_zzzzzzzzzzzz"),
    ("GET", f"receipts/rcp_zzzzzzzzzzzz/why-not/{UNKNOWN}"),
    ("GET", "pins/pin_0"),
    ("GET", "sessions"),
    ("GET", "sessions/chat"),
    ("POST", "tools/call"),
    ("GET", "tools/schema"),
]
POSTS = ["context", "query", "tools/call"]
SINGLE = ["receipts/{}", "receipts/{}/why-not/x", "pins/{}", "sessions/{}"]


@pytest.fixture
def api():
    return api_of()


class TestForm:
    @pytest.mark.parametrize(("method", "path"), READS)
    def test_every_refusal_is_problem_json(self, method, path):
        assert error_of(Api(None).call(method, path, {}))["status"] == 401

    def test_the_fields_that_are_to_blame_are_named_with_a_message(self, api):
        body = error_of(ask(api, "", token_budget="x", nonsense=1))
        assert {error["field"] for error in body["errors"]} <= {"task", "token_budget", "nonsense"}
        assert all(error["message"] for error in body["errors"])

    @pytest.mark.parametrize("path", ["nothing", "context/", "memories/x/y/z", "v1/context", ""])
    def test_an_address_that_is_none_is_404(self, api, path):
        assert error_of(api.get(path))["status"] == 404
        assert error_of(Api(None).get(path))["status"] == 404

    @pytest.mark.parametrize("path", SINGLE)
    def test_a_ref_that_never_was_is_404(self, api, path):
        assert error_of(api.get(path.format("rcp_zzzzzzzzzzzz")))["status"] == 404

    def test_a_method_that_is_not_there_is_405(self, api):
        for method, path in (
            ("PUT", "context"),
            ("DELETE", "query"),
            ("POST", "expand"),
            ("PATCH", "pins/x"),
        ):
            assert error_of(api.call(method, path, {}))["status"] == 405

    def test_head_asks_for_what_get_asks_for(self, api):
        fill(api, "Oak is hard")
        reader = api_of(api.vault, scopes=[Scope.READ])
        for path in ("context?task=oak", "query?find=oak", "sessions", "tools/schema"):
            response = reader.call("HEAD", path)
            assert response.status_code == 200
            assert response.content == b""


class TestTokens:
    @pytest.mark.parametrize(
        "header",
        ["", "Bearer", "Bearer ", "Basic eDp5", "Bearer nobody", "Bearer é", "ctx_123", "Bearer a b"],
    )
    def test_what_is_no_valid_token_is_401_and_says_how_to_ask(self, header):
        api = Api(None)
        api.headers = {"Authorization": header} if header else {}
        response = api.get("context?task=oak")
        assert error_of(response)["status"] == 401
        assert response["WWW-Authenticate"].startswith("Bearer")

    def test_the_word_bearer_is_read_in_any_case(self, api):
        api.headers = {"Authorization": api.headers["Authorization"].replace("Bearer", "bearer")}
        assert ask(api, "oak").status_code == 200

    def test_a_query_string_carries_no_token(self, api):
        secret = api.headers["Authorization"].split()[1]
        assert Api(None).get(f"context?task=oak&access_token={secret}").status_code == 401

    @pytest.mark.parametrize("slug", ["", "*", "a/b", "../x", "ä", "x" * 101, "a b"])
    def test_the_operators_key_names_its_vault_plainly_or_not_at_all(self, settings, slug):
        settings.CORTEX_API_KEY = "operator-key"
        response = Api("operator-key").get("sessions", X_Cortex_Vault=slug)
        assert response.status_code == (422 if slug else 200)

    def test_the_operators_key_makes_the_vault_that_it_names(self, settings):
        settings.CORTEX_API_KEY = "operator-key"
        operator = Api("operator-key")
        there = {"X_Cortex_Vault": "new-vault"}
        told = operator.post("memories", {"content": "Oak is hard"}, **there)
        assert told.status_code == 201
        assert len(operator.get("query?find=oak", **there).json()["items"]) == 1
        assert operator.get("query?find=oak").json()["items"] == []
        assert operator.get("query?find=oak", X_Cortex_Vault="default").json()["items"] == []


class TestParsing:
    @pytest.mark.parametrize("path", POSTS)
    @pytest.mark.parametrize(
        "raw",
        [
            b"{",
            b"nul",
            b"\xff\xfe",
            b'{"task": NaN}',
            b'{"token_budget": 1e999}',
            b'{"task": "a\x00"}',
            rb'{"task": "a\u0000"}',
            rb'{"task": "\ud83d"}',
            rb'{"\udc00": 1}',
            b"[" * 10_000,
            b'{"a":' * 200 + b"1" + b"}" * 200,
        ],
    )
    def test_what_cannot_be_parsed_is_400(self, api, path, raw):
        assert error_of(api.call("POST", path, raw=raw))["status"] == 400

    @pytest.mark.parametrize("path", POSTS)
    @pytest.mark.parametrize("raw", [b"[]", b'"text"', b"5", b"null", b"true", b'[{"task": "x"}]'])
    def test_a_body_that_is_no_object_is_422(self, api, path, raw):
        assert error_of(api.call("POST", path, raw=raw))["status"] == 422

    @pytest.mark.parametrize(
        "field",
        [
            "task",
            "format",
            "model",
            "session_id",
            "project",
            "layers",
            "entities",
            "as_of",
            "cursor",
            "delta",
            "dropped",
        ],
    )
    def test_nul_and_lone_surrogates_are_400_in_every_field_of_a_body(self, api, field):
        for text in ("a\0b", "\ud83d"):
            for value in (text, [text]):
                assert error_of(api.post("context", {"task": "x", field: value}))["status"] == 400
        assert ask(api, "oak").status_code == 200

    @pytest.mark.parametrize(
        "path",
        ["context?task=oak", "query?find=oak", "expand?ref=x", "sessions?limit=5", "tools/schema?format=mcp"],
    )
    def test_nul_and_stray_bytes_are_400_in_every_address(self, api, path):
        for tail in ("&x=a%00b", "&x=%ff", "%00", "&%00=1"):
            assert error_of(api.get(f"{path}{tail}"))["status"] == 400

    @pytest.mark.parametrize("path", SINGLE)
    def test_nul_in_a_path_is_400(self, api, path):
        assert error_of(api.get(path.format("a%00b")))["status"] == 400
        assert error_of(api.get(path.format("%ff")))["status"] == 404

    @pytest.mark.parametrize(
        "header", ["Authorization", "X-Cortex-Vault", "X-Request-Id", "Accept", "Idempotency-Key"]
    )
    def test_nul_in_a_header_is_no_500(self, api, header, settings):
        settings.CORTEX_API_KEY = "operator-key"
        api.headers |= {header: "Bearer a\0b" if header == "Authorization" else "a\0b"}
        assert ask(api, "oak").status_code in {200, 400, 401, 422}

    @pytest.mark.parametrize("path", POSTS)
    def test_a_large_body_is_413(self, api, path):
        raw = b'{"task": "' + b"x" * (2 * 1024 * 1024) + b'"}'
        assert error_of(api.call("POST", path, raw=raw))["status"] == 413

    @pytest.mark.parametrize("path", POSTS)
    @pytest.mark.parametrize(
        "kind",
        [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/xml",
        ],
    )
    def test_what_is_not_json_is_415(self, api, path, kind):
        assert error_of(api.call("POST", path, raw=b"task=x", Content_Type=kind))["status"] == 415

    @pytest.mark.parametrize(
        "accept", ["text/markdown", "text/html", "application/xml", "text/event-stream", "*/*", "nonsense"]
    )
    def test_an_answer_does_not_depend_on_accept(self, api, accept):
        fill(api, "Oak is hard")
        response = api.post("context", {"task": "oak", "format": "markdown"}, Accept=accept)
        assert response.status_code == 200
        assert response["Content-Type"].startswith("text/markdown")
        assert api.get("query?find=oak", Accept=accept)["Content-Type"] == "application/json"
        assert error_of(api.get("query", Accept=accept))["status"] == 422

    def test_types_are_strict(self, api):
        assert blamed(query_refused(api, valid_only="false")) == {"valid_only"}
        assert blamed(ask(api, "oak", pin="false")) == {"pin"}
        assert blamed(ask(api, "oak", legend=0)) == {"legend"}


def query_refused(api: Api, **mql: Any) -> Any:
    response = api.post("query", {"find": "oak", **mql})
    assert response.status_code == 422
    return response


class TestLoad:
    def test_too_many_requests_are_429_and_told_when_to_come_back(self, api, settings):
        settings.CORTEX_THROTTLE = "3/min"
        answers = [ask(api, "oak") for _ in range(4)]
        assert [response.status_code for response in answers] == [200, 200, 200, 429]
        assert error_of(answers[-1])
        assert 1 <= int(answers[-1]["Retry-After"]) <= 60
        assert ask(api_of(api.vault), "oak").status_code == 200

    def test_a_database_that_does_not_answer_is_503(self, api, monkeypatch):
        def refuse(*_: Any, **__: Any) -> Any:
            raise OperationalError("SELECT secrets FROM memories")

        monkeypatch.setattr("contextpack.views.answer_context", refuse)
        response = ask(api, "oak")
        assert error_of(response)["status"] == 503
        assert int(response["Retry-After"]) >= 1
        assert "SELECT" not in response.content.decode()

    def test_what_nobody_foresaw_tells_nothing_of_itself(self, api, monkeypatch, caplog):
        def fail(*_: Any, **__: Any) -> Any:
            raise RuntimeError("SELECT secrets FROM memories")

        monkeypatch.setattr("contextpack.views.answer_context", fail)
        api.client.raise_request_exception = False
        response = ask(api, "oak")
        assert error_of(response)["status"] == 500
        assert "secrets" not in response.content.decode()
        assert "Traceback" not in response.content.decode()


# -- Whatever a client may send --------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
CONTEXT_FIELDS = (
    "task", "format", "model", "token_budget", "session_id", "since", "dropped", "delta", "project", "layers",
    "entities", "as_of", "known_at", "pin", "legend", "cursor",
)  # fmt: skip
QUERY_FIELDS = (
    "ask", "find", "layers", "entities", "as_of", "known_at", "valid_only", "min_relevance", "min_trust",
    "budget_tokens", "model", "expand", "k", "project", "cursor",
)  # fmt: skip


def bodies(base: dict[str, Any], fields: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(fields), VALUES, max_size=3).map(lambda body: base | body)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    context=bodies({"task": "oak"}, CONTEXT_FIELDS),
    mql=bodies({"find": "oak"}, QUERY_FIELDS),
    name=st.sampled_from(["get_context", "query_memory", "expand", "search", "fetch", "remember_this"]),
    arguments=VALUES,
)
def test_nothing_that_is_json_makes_a_500(api, context, mql, name, arguments):
    for response in (
        send(api, "context", context),
        send(api, "query", mql),
        send(api, "tools/call", {"name": name, "arguments": arguments}),
        send(api, "tools/call", {"name": "query_memory", "arguments": mql}),
    ):
        assert response.status_code in {200, 400, 404, 422}, response.content
        if response.status_code != 200:
            error_of(response)


def send(api: Api, path: str, body: Any) -> Any:
    return api.call("POST", path, raw=json.dumps(body).encode())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=60).filter(str.strip))
def test_any_text_is_a_task(api, text):
    assert send(api, "context", {"task": text}).status_code in {200, 400}
    assert send(api, "query", {"find": text}).status_code in {200, 400}
    assert get(api, "context", task=text.encode("utf-8", "replace")).status_code in {200, 400}


def test_the_helpers_of_this_module_see_an_answer(api):
    fill(api, "Oak is hard")
    assert ok(tool(api, "search", query="oak"))["result"]["results"]
    assert query(api, find="oak")["returned"] == 1
