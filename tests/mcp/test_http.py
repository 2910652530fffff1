"""`POST /mcp` as HTTP sees it: who may call, which bodies and headers, and in which form it answers."""

import json

import pytest

from contextpack.core.mcp import HANDSHAKE, MODERN
from memories.models import Scope
from tests.clients import Api, api_of
from tests.mcp.speaking import call, code, message, modern, post, post_modern, post_raw, result

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    return api_of()


class TestDoor:
    def test_it_wants_a_token(self, api):
        for nobody in (Api(None), Api("ctx_wrong")):
            response = post(nobody, message("ping"))
            assert response.status_code == 401
            assert response["WWW-Authenticate"].startswith("Bearer")

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
    def test_it_takes_posts_alone_whoever_calls(self, api, method):
        for caller in (Api(None), api):
            response = api.client.generic(method, "/mcp", headers=caller.headers)
            assert response.status_code == 405
            assert response["Allow"] == "POST"

    @pytest.mark.parametrize(
        "origin",
        [
            "http://localhost:6274",
            "http://127.0.0.1",
            "http://[::1]:8766",
            "https://testserver",
            "https://me.example",
        ],
    )
    def test_pages_of_this_server_may_call(self, api, origin, settings):
        settings.CORTEX_PUBLIC_URL = "https://me.example"
        assert post(api, message("ping"), Origin=origin).status_code == 200

    @pytest.mark.parametrize(
        "origin",
        ["https://evil.example", "null", "http://localhost.evil.example", "http://[::", "file://", ""],
    )
    def test_pages_from_elsewhere_may_not(self, api, origin):
        assert post(api, message("ping"), Origin=origin).status_code == 403

    def test_a_rate_that_is_used_up_is_429(self, api, settings):
        settings.CORTEX_THROTTLE = "2/min"
        answered = [post(api, message("ping")) for _ in range(3)]
        assert [response.status_code for response in answered] == [200, 200, 429]
        assert int(answered[-1]["Retry-After"]) > 0

    def test_a_batch_is_as_many_calls_as_it_holds(self, api, settings):
        settings.CORTEX_THROTTLE = "3/min"
        assert post(api, [message("ping")] * 2).status_code == 200
        assert post(api, [message("ping")] * 2).status_code == 429


class TestBodies:
    @pytest.mark.parametrize(
        "raw", [b"", b"{", b"\xff", b"NaN", b'"\\u0000"', b'["\\ud800"]', b"[" * 5_000, b'{"a":1,"a":2}']
    )
    def test_what_is_no_json_is_a_parse_error(self, api, raw):
        response = post_raw(api, raw)
        assert (response.status_code, code(response), response.json()["id"]) == (400, -32700, None)

    def test_a_body_has_the_limits_of_every_other(self, api, settings):
        assert post_raw(api, b" " * (settings.BODY_LIMIT_BYTES + 1)).status_code == 413
        assert post(api, message("ping"), Content_Type="text/plain").status_code == 415

    def test_a_notification_gets_nothing_but_a_status(self, api):
        response = post(api, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (response.status_code, response.content) == (202, b"")
        assert "Content-Type" not in response

    def test_a_batch_is_for_those_who_know_them(self, api):
        two = [message("ping"), {"jsonrpc": "2.0", "method": "notifications/x"}]
        assert post(api, two).json() == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
        refused = post(api, two, MCP_Protocol_Version="2025-06-18")
        assert (refused.status_code, code(refused)) == (400, -32600)

    def test_a_session_id_of_another_server_is_ignored(self, api):
        response = post(api, message("ping"), Mcp_Session_Id="x", Last_Event_ID="5")
        assert response.status_code == 200
        assert "Mcp-Session-Id" not in response


class TestForms:
    @pytest.mark.parametrize(
        "accept",
        [
            None,
            "application/json",
            "application/json, text/event-stream",
            "text/event-stream, application/json;q=0.1",
            "text/event-stream, */*",
            "*/*",
            "application/*",
            "text/html",
        ],
    )
    def test_whoever_takes_json_gets_it(self, api, accept):
        response = post(api, message("ping"), **({} if accept is None else {"Accept": accept}))
        assert response["Content-Type"] == "application/json"
        assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}

    @pytest.mark.parametrize(
        "accept", ["text/event-stream", "Text/Event-Stream; q=0.9", "text/event-stream, application/json;q=0"]
    )
    def test_whoever_takes_events_alone_gets_one(self, api, accept):
        api.remember("Oak is hard.\nIt grows slowly.")
        response = post(api, message("tools/call", name="search", arguments={"query": "oak"}), Accept=accept)
        assert response["Content-Type"] == "text/event-stream"
        event, data, *rest = response.content.decode().split("\n")
        assert (event, rest) == ("event: message", ["", ""])
        assert json.loads(data.removeprefix("data: "))["id"] == 1

    def test_an_error_is_told_as_json_to_them_too(self, api):
        response = post_raw(api, b"{", Accept="text/event-stream")
        assert (response.status_code, code(response)) == (400, -32700)


class TestEras:
    @pytest.mark.parametrize("version", [None, *HANDSHAKE])
    def test_a_handshake_and_what_follows_it(self, api, version):
        told = result(post(api, message("initialize", protocolVersion=version or "2024-11-05")))
        assert told["protocolVersion"] == version or "2024-11-05"
        headers = {} if version is None else {"MCP-Protocol-Version": version}
        assert result(post(api, message("tools/list"), **headers))["tools"]

    def test_a_modern_client_needs_none(self, api):
        assert MODERN[0] in result(post_modern(api, "server/discover"))["supportedVersions"]
        assert result(post_modern(api, "tools/list"))["tools"]
        called = result(post_modern(api, "tools/call", name="search", arguments={"query": "oak"}))
        assert (called["resultType"], called["structuredContent"]) == ("complete", {"results": []})

    def test_a_modern_client_is_told_what_does_not_fit(self, api):
        headers = {"MCP-Protocol-Version": MODERN[0], "Mcp-Method": "tools/list"}
        assert code(post(api, modern("tools/call", name="search"), **headers)) == -32020
        assert (
            code(post(api, modern("tools/list"), **{**headers, "MCP-Protocol-Version": "2099-01-01"}))
            == -32020
        )
        assert post_modern(api, "ping").status_code == 404

    def test_an_unknown_version_is_told_the_known_ones(self, api):
        response = post(api, message("tools/list"), MCP_Protocol_Version="2099-01-01")
        assert (response.status_code, code(response)) == (400, -32022)
        assert {*MODERN, *HANDSHAKE} == set(response.json()["error"]["data"]["supported"])


class TestTools:
    def test_a_token_is_shown_and_served_what_it_may_use(self, api):
        reader = api_of(api.vault, scopes=[Scope.READ])
        names = [tool["name"] for tool in result(post(reader, message("tools/list")))["tools"]]
        assert names == ["get_context", "query_memory", "expand", "search", "fetch"]
        refused = post(
            reader, message("tools/call", name="remember_this", arguments={"content": "Oak is hard."})
        )
        unknown = post(reader, message("tools/call", name="no_such_tool"))
        assert code(refused) == code(unknown) == -32602

    def test_a_token_without_any_tool_is_shown_none(self, api):
        reviewer = api_of(api.vault, scopes=[Scope.REVIEW])
        assert result(post(reviewer, message("tools/list"))) == {"tools": []}

    def test_what_a_tool_refuses_is_told_to_the_model(self, api):
        told = call(api, "query_memory", find="oak", k=1_000, nonsense=1)
        assert told.keys() == {"content", "isError"}
        assert told["isError"] is True
        (content,) = told["content"]
        assert "- k: " in content["text"]
        assert "- nonsense: " in content["text"]
        assert content["text"].endswith("call again.")

    def test_what_is_not_there_is_an_error_and_no_empty_document(self, api):
        theirs = api_of().remember("Oak is dear")["ref"]
        gone = api.remember("Oak is hard")["ref"]
        api.delete(f"memories/{gone}")
        told = [call(api, "fetch", id=ref) for ref in (theirs, gone, "mem_zzzzzzzzzzzz", "x")]
        assert all(answer["isError"] and "structuredContent" not in answer for answer in told)
        assert len({answer["content"][0]["text"] for answer in told}) == 1

    def test_a_query_too_long_for_a_client_gets_fewer_rows_and_a_cursor_to_the_others(self, api):
        for number in range(4):
            api.remember(f"Oak number {number}. " + f"It grows on hill {number}. " * 1_200)
        told = call(api, "query_memory", find="oak", k=4)["structuredContent"]
        assert (told["returned"], told["truncated"][:16]) == (2, "k was lowered to")
        more = call(api, "query_memory", find="oak", k=4, cursor=told["cursor"])["structuredContent"]
        assert len({item["ref"] for item in told["items"] + more["items"]}) == 4

    def test_a_text_too_long_for_a_client_is_cut_and_says_so(self, api):
        ref = api.remember("Oak is hard. " * 7_000)["ref"]
        for told in (call(api, "fetch", id=ref), call(api, "expand", ref=ref)):
            assert len(told["content"][0]["text"]) < 100_000
            assert "texts are cut" in told["structuredContent"]["truncated"]
