"""The protocol's dispatcher by itself: both eras, every refusal, batches (docs/wire.md, Model Context Protocol)."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.mcp import (
    BATCH_LIMIT,
    CAPABILITIES_KEY,
    HANDSHAKE,
    MODERN,
    SERVER,
    SERVER_KEY,
    SUPPORTED,
    VERSION_KEY,
    Headers,
    Reply,
    answer,
    settled_version,
)

ENVELOPE = {VERSION_KEY: MODERN[0], CAPABILITIES_KEY: {}}

WORDS = ("jsonrpc", "2.0", "id", "method", "tools/call", "params", "_meta", VERSION_KEY, "name", "echo")


class Box:
    """One tool that answers what it was given."""

    def listed(self) -> list[dict[str, Any]]:
        return [{"name": "echo", "inputSchema": {"type": "object"}}]

    def call(self, name: str, arguments: Any) -> dict[str, Any] | None:
        return {"content": [], "structuredContent": arguments} if name == "echo" else None


def message(method: str = "tools/list", /, *, id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def modern(method: str = "tools/list", /, **params: Any) -> dict[str, Any]:
    return message(method, _meta=ENVELOPE, **params)


def mirrored(sent: dict[str, Any], **other: Any) -> Headers:
    """Return the headers that belong to a modern message, but for those told otherwise."""
    stated = {"version": MODERN[0], "method": sent["method"], "name": sent["params"].get("name")}
    return Headers(**{**stated, **other})


def body(reply: Reply) -> dict[str, Any]:
    assert isinstance(reply.body, dict)
    return reply.body


def code(reply: Reply) -> int:
    return int(body(reply)["error"]["code"])


class TestHandshake:
    @pytest.mark.parametrize("version", HANDSHAKE)
    def test_the_version_asked_for_is_echoed(self, version):
        sent = message("initialize", protocolVersion=version, capabilities={}, clientInfo={})
        reply = answer(sent, Box())
        assert body(reply)["result"]["protocolVersion"] == version
        assert settled_version(sent, reply) == version

    @pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", ""])
    def test_any_other_is_answered_with_the_newest_of_its_era(self, version):
        reply = answer(message("initialize", protocolVersion=version), Box())
        assert body(reply)["result"]["protocolVersion"] == "2025-11-25"

    def test_it_may_come_under_any_header(self):
        sent = message("initialize", protocolVersion="2025-06-18")
        reply = answer(sent, Box(), headers=Headers(version="2026-07-28"))
        assert body(reply)["result"]["serverInfo"] == SERVER

    def test_what_is_modern_in_body_and_headers_knows_no_handshake(self):
        sent = modern("initialize", protocolVersion="2025-11-25")
        reply = answer(sent, Box(), headers=mirrored(sent))
        assert (reply.status, code(reply)) == (404, -32601)
        for headers in (None, Headers()):
            assert "result" in body(answer(sent, Box(), headers=headers))

    def test_it_names_a_version(self):
        assert code(answer(message("initialize"), Box())) == -32602

    def test_a_ping_is_answered_with_nothing_and_a_list_without_the_words_of_the_other_era(self):
        assert body(answer(message("ping"), Box()))["result"] == {}
        assert body(answer(message(), Box()))["result"].keys() == {"tools"}

    def test_discovery_belongs_to_the_other_era(self):
        assert code(answer(message("server/discover"), Box())) == -32601

    def test_an_unknown_header_is_told_what_is_supported(self):
        reply = answer(message(), Box(), headers=Headers(version="1999-01-01"))
        assert (reply.status, code(reply)) == (400, -32022)
        assert body(reply)["error"]["data"] == {"supported": list(SUPPORTED), "requested": "1999-01-01"}

    def test_an_error_of_the_method_is_no_error_of_http(self):
        assert answer(message("nothing"), Box(), headers=Headers(version="2025-11-25")).status == 200


class TestModern:
    def test_discovery_names_versions_and_capabilities(self):
        sent = modern("server/discover")
        result = body(answer(sent, Box(), headers=mirrored(sent)))["result"]
        assert result["supportedVersions"] == list(SUPPORTED)
        assert result["capabilities"] == {"tools": {"listChanged": False}}
        assert (result["resultType"], result["cacheScope"]) == ("complete", "private")

    @pytest.mark.parametrize(
        "sent", [modern(), modern("tools/call", name="echo"), modern("server/discover")], ids=str
    )
    def test_every_result_is_complete_and_says_who_answers(self, sent):
        result = body(answer(sent, Box()))["result"]
        assert result["resultType"] == "complete"
        assert result["_meta"] == {SERVER_KEY: SERVER}

    @pytest.mark.parametrize(
        "method", ["ping", "logging/setLevel", "resources/list", "prompts/list", "nothing"]
    )
    def test_a_method_that_is_not_served_is_404(self, method):
        sent = modern(method)
        reply = answer(sent, Box(), headers=mirrored(sent))
        assert (reply.status, code(reply)) == (404, -32601)

    @pytest.mark.parametrize(
        "meta",
        [
            {VERSION_KEY: MODERN[0]},
            {VERSION_KEY: 5, CAPABILITIES_KEY: {}},
            {**ENVELOPE, CAPABILITIES_KEY: []},
        ],
    )
    def test_a_request_that_lacks_part_of_its_envelope_is_malformed(self, meta):
        sent = message(_meta=meta)
        for headers in (None, mirrored(sent)):
            reply = answer(sent, Box(), headers=headers)
            assert (reply.status, code(reply)) == (400, -32602)

    @pytest.mark.parametrize("meta", [None, [], {}])
    def test_so_is_one_whose_header_alone_is_modern(self, meta):
        sent = message(_meta=meta)
        reply = answer(sent, Box(), headers=mirrored(sent))
        assert (reply.status, code(reply)) == (400, -32602)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"version": None},
            {"version": "2025-11-25"},
            {"method": None},
            {"method": "TOOLS/CALL"},
            {"name": None},
            {"name": "other"},
            {"name": "=?base64?ZWNobw?="},
        ],
        ids=str,
    )
    def test_headers_that_say_something_else_are_refused(self, wrong):
        sent = modern("tools/call", name="echo")
        reply = answer(sent, Box(), headers=mirrored(sent, **wrong))
        assert (reply.status, code(reply)) == (400, -32020)

    def test_a_name_may_be_wrapped(self):
        sent = modern("tools/call", name="echo")
        assert "result" in body(answer(sent, Box(), headers=mirrored(sent, name="=?base64?ZWNobw==?=")))

    def test_a_version_unknown_here_is_told_which_are_known(self):
        sent = message(_meta={**ENVELOPE, VERSION_KEY: "2099-01-01"})
        for headers in (None, mirrored(sent, version="2099-01-01")):
            reply = answer(sent, Box(), headers=headers)
            assert (reply.status, code(reply)) == (400, -32022)
            assert body(reply)["error"]["data"]["requested"] == "2099-01-01"

    def test_a_probe_that_lost_its_headers_on_the_way_leads_to_the_handshake(self):
        reply = answer(modern("server/discover"), Box(), headers=Headers())
        assert code(reply) == -32601

    @pytest.mark.parametrize("headers", [None, Headers(), Headers(version="2025-06-18")])
    def test_whoever_names_an_older_revision_in_this_way_is_served_by_its_rules(self, headers):
        sent = message(_meta={**ENVELOPE, VERSION_KEY: "2025-06-18"})
        assert body(answer(sent, Box(), headers=headers))["result"].keys() == {"tools"}

    def test_both_eras_may_take_turns(self):
        assert "resultType" in body(answer(modern(), Box(), spoken="2025-11-25"))["result"]
        assert "resultType" not in body(answer(message(), Box(), spoken="2025-11-25"))["result"]


class TestFrames:
    @pytest.mark.parametrize("sent", [None, 5, "x", True, {}, {"jsonrpc": "1.0", "id": 1, "method": "ping"}])
    def test_what_is_no_message_is_refused_without_a_name(self, sent):
        reply = answer(sent, Box())
        assert (reply.status, code(reply), body(reply)["id"]) == (400, -32600, None)

    @pytest.mark.parametrize("method", [None, 5, [], {}])
    def test_a_request_names_its_method(self, method):
        assert code(answer({"jsonrpc": "2.0", "id": 1, "method": method}, Box())) == -32600

    @pytest.mark.parametrize("id", [0, -1, "", "a", 2**60])
    def test_any_text_or_whole_number_is_an_id(self, id):
        assert body(answer(message("ping", id=id), Box())) == {"jsonrpc": "2.0", "id": id, "result": {}}

    @pytest.mark.parametrize("id", [None, True, 1.5, [], {}])
    def test_nothing_else_is(self, id):
        reply = answer(message("ping", id=id), Box())
        assert (code(reply), body(reply)["id"]) == (-32600, None)

    @pytest.mark.parametrize("params", [[], "x", 5, False])
    def test_params_are_an_object(self, params):
        assert code(answer({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params}, Box())) == -32602

    def test_params_may_be_left_out(self):
        assert body(answer({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Box()))["result"] == {}

    @pytest.mark.parametrize(
        "sent",
        [
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "echo"}},
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}},
        ],
    )
    @pytest.mark.parametrize("version", [None, *SUPPORTED])
    def test_what_asks_nothing_is_accepted_without_a_word(self, sent, version):
        reply = answer(sent, Box(), headers=Headers(version=version))
        assert reply == Reply(body=None, status=202)

    def test_a_notification_in_an_unknown_version_is_told_so(self):
        reply = answer({"jsonrpc": "2.0", "method": "x"}, Box(), headers=Headers(version="2099-01-01"))
        assert (reply.status, code(reply)) == (400, -32022)

    @pytest.mark.parametrize(
        "params", [{}, {"name": 5}, {"name": "echo", "arguments": []}, {"name": "other"}]
    )
    def test_a_call_names_a_tool_that_is_there(self, params):
        assert code(answer(message("tools/call", **params), Box())) == -32602

    @pytest.mark.parametrize("arguments", [{}, {"a": 1}, None])
    def test_arguments_reach_the_tool(self, arguments):
        reply = answer(message("tools/call", name="echo", arguments=arguments), Box())
        assert body(reply)["result"]["structuredContent"] == (arguments or {})

    def test_the_list_has_one_page(self):
        assert code(answer(message("tools/list", cursor="next"), Box())) == -32602

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner),
        )
    )
    def test_nothing_that_is_sent_is_a_fault_of_ours(self, sent):
        reply = answer(sent, Box(), headers=Headers())
        assert reply.status in {200, 202, 400, 404}


class TestBatches:
    TWO = [message("ping", id=1), {"jsonrpc": "2.0", "method": "notifications/x"}, message("nothing", id="b")]

    @pytest.mark.parametrize("spoken", ["2024-11-05", "2025-03-26"])
    def test_the_revisions_that_know_them_get_an_answer_to_each_request(self, spoken):
        replies = answer(self.TWO, Box(), spoken=spoken).body
        assert isinstance(replies, list)
        assert [reply["id"] for reply in replies] == [1, "b"]
        assert replies[1]["error"]["code"] == -32601

    @pytest.mark.parametrize("spoken", ["2025-06-18", "2025-11-25", "2026-07-28"])
    def test_the_later_ones_refuse_them(self, spoken):
        reply = answer(self.TWO, Box(), spoken=spoken)
        assert (reply.status, code(reply), body(reply)["id"]) == (400, -32600, None)

    @pytest.mark.parametrize("size", [0, BATCH_LIMIT + 1])
    def test_an_empty_one_and_a_huge_one_are_refused(self, size):
        assert code(answer([message("ping")] * size, Box())) == -32600

    def test_one_without_a_request_is_accepted(self):
        assert answer([{"jsonrpc": "2.0", "method": "x"}], Box()).status == 202

    def test_no_handshake_is_part_of_one(self):
        replies = answer([message("initialize", protocolVersion="2025-03-26")], Box()).body
        assert isinstance(replies, list)
        assert replies[0]["error"]["code"] == -32600


def test_it_tells_the_version_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert (SERVER["name"], SERVER["version"]) == (project["name"], project["version"])
