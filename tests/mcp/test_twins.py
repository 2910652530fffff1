"""Every question by every road: REST, `/v1/tools/call`, MCP over HTTP and over stdio answer alike."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from jsonschema import Draft202012Validator

from contextpack.core.fitting import ANSWER_TOKENS, answer_tokens
from contextpack.tools import TOOLS, writes
from tests.clients import Api, api_of
from tests.mcp.speaking import Body, call, message, over_stdio, post_modern, result
from tests.wire.asking import error_of, expand, fill, get, ok, tool, use
from tests.wire.test_tools import without_refs

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TEXTS = ("Oak is hard and grows slowly.", "Elm wood resists splitting.", "Ana leads the oak project.")
OPEN = {"task": "oak", "model": "claude"}


@pytest.fixture(autouse=True)
def _still():
    with time_machine.travel(NOW, tick=False):
        yield


def rest(path: str) -> Callable[[Api, Body], Body]:
    return lambda api, asked: ok(api.post(path, asked))


def written(path: str) -> Callable[[Api, Body], Body]:
    return lambda api, asked: dict(api.post(path, asked).json())


def markdown(api: Api, asked: Body) -> Body:
    answer = api.post("context", asked)
    return {
        "markdown": answer.content.decode(),
        "receipt": {"id": answer["Cortex-Receipt"]},
        **dict.fromkeys(("cursor", "delta_cursor", "pin")),
    }


def superseded(api: Api, asked: Body) -> Body:
    return dict(api.post(f"memories/{asked.pop('ref')}/supersede", asked).json())


# Tool, arguments ("{0}" is the first memory's ref), the REST call that answers the same; None: the tool has no route.
QUESTIONS: dict[str, tuple[str, Body, Callable[[Api, Body], Body] | None]] = {
    "pack as json": ("get_context", OPEN, rest("context")),
    "pack as envelope": ("get_context", {**OPEN, "format": "smp", "token_budget": 400}, rest("context")),
    "pack as markdown": ("get_context", {**OPEN, "format": "markdown"}, markdown),
    "pack of a session as markdown": ("get_context", {**OPEN, "format": "markdown", "session_id": "s"}, None),
    "empty pack": ("get_context", {"task": "zebra", "format": "smp", "entities": ["Zoe"]}, rest("context")),
    "session": ("get_context", {**OPEN, "session_id": "s", "since": 0, "delta": "content"}, rest("context")),
    "find": ("query_memory", {"find": "oak", "k": 1, "expand": "document"}, rest("query")),
    "ask": ("query_memory", {"ask": "oak", "model": "gpt-4o", "min_relevance": 0.1}, rest("query")),
    "nothing found": ("query_memory", {"find": "zebra"}, rest("query")),
    "document": ("expand", {"ref": "{0}"}, lambda api, asked: ok(expand(api, asked["ref"]))),
    "neighbors": (
        "expand",
        {"ref": "{0}", "direction": "neighbors"},
        lambda api, asked: ok(expand(api, **asked)),
    ),
    "search": ("search", {"query": "oak"}, None),
    "fetch": ("fetch", {"id": "{0}"}, None),
    "remember": ("remember_this", {"content": "Bob keeps the key.", "author": "user"}, written("captures")),
    "our own words": ("remember_this", {"content": "No memory for this."}, written("captures")),
    "propose": ("propose_memory", {"content": "Bob keeps the key.", "kind": "claim"}, None),
    "supersede": ("supersede_memory", {"ref": "{0}", "content": "Oak is soft.", "reason": "new"}, superseded),
    "forget": (
        "forget_memory",
        {"ref": "{0}"},
        lambda api, asked: ok(api.delete(f"memories/{asked['ref']}")),
    ),
}


def ask_by_http(api: Api, name: str, asked: Body) -> Body:
    return told_twice(call(api, name, **asked))


def ask_by_modern_http(api: Api, name: str, asked: Body) -> Body:
    return told_twice(result(post_modern(api, "tools/call", name=name, arguments=asked)))


def told_twice(answer: Body) -> Body:
    """Return what a CallToolResult says, after seeing that its text says all that its structure says."""
    (content,) = answer["content"]
    structured: Body = answer["structuredContent"]
    assert answer["isError"] is False
    assert content["type"] == "text"
    beside = {name: value for name, value in structured.items() if name != "markdown"}
    text = content["text"].removeprefix(structured.get("markdown", ""))
    assert (json.loads(text) if text else {}) == beside
    return structured


@pytest.fixture
def roads(monkeypatch) -> dict[str, Callable[[Api, str, Body], Body]]:
    def by_stdio(api: Api, name: str, asked: Body) -> Body:
        secret = api.headers["Authorization"].split()[1]
        sent = message("tools/call", name=name, arguments=asked)
        (reply,) = over_stdio(monkeypatch, sent, token=secret)
        return told_twice(reply["result"])

    return {
        "tools/call": lambda api, name, asked: use(api, name, **asked),
        "mcp over http": ask_by_http,
        "modern mcp over http": ask_by_modern_http,
        "mcp over stdio": by_stdio,
    }


def without_moving_parts(body: Body) -> Body:
    """Leave out what no two answers share: the receipt, and how often this session was asked."""
    if "delta_cursor" in body:
        body = body | {"delta_cursor": None}
    memory = body.get("working_memory")
    kept = {"working_memory": memory | {"cursor": None}} if memory else {}
    return {**body, **kept, "receipt": None, "warnings": None}


def named(asked: Body, refs: list[str]) -> Body:
    return {key: value.format(*refs) if isinstance(value, str) else value for key, value in asked.items()}


@pytest.mark.parametrize("question", [name for name, (tool, *_) in QUESTIONS.items() if not writes(tool)])
def test_every_road_leads_to_the_same_answer(question, roads):
    name, asked, route = QUESTIONS[question]
    api = api_of()
    asked = named(asked, fill(api, *TEXTS))
    answers = {way: by(api, name, asked) for way, by in roads.items()}
    if route is not None:
        answers["rest"] = route(api, asked)
    told = {way: without_moving_parts(answer) for way, answer in answers.items()}
    assert {way: answer for way, answer in told.items() if answer != told["tools/call"]} == {}


@pytest.mark.parametrize("question", [name for name, (tool, *_) in QUESTIONS.items() if writes(tool)])
def test_every_road_leads_to_the_same_deed(question, roads):
    name, asked, route = QUESTIONS[question]
    if route is not None:
        roads["rest"] = lambda api, _, body: route(api, body)
    told = {}
    for way, by in roads.items():  # each in a vault of its own
        api = api_of()
        told[way] = without_refs(by(api, name, named(asked, fill(api, *TEXTS))))
    assert {way: answer for way, answer in told.items() if answer != told["tools/call"]} == {}


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_what_their_tools_promise(question):
    name, asked, _ = QUESTIONS[question]
    api = api_of()
    asked = named(asked, fill(api, *TEXTS))
    listed = {tool["name"]: tool for tool in result(post_modern(api, "tools/list"))["tools"]}
    Draft202012Validator(listed[name]["inputSchema"]).validate(asked)
    schema = listed[name]["outputSchema"]
    answer = call(api, name, **asked)["structuredContent"]
    Draft202012Validator(schema).validate(answer)
    assert answer.keys() <= schema["properties"].keys()


# -- Refusals ------------------------------------------------------------------------------------

UNKNOWN = "mem_zzzzzzzzzzzz"
Rest = Callable[[Api, Body], Any]


def to(path: str) -> Rest:
    return lambda api, asked: api.post(path, asked)


def to_expand(api: Api, asked: Body) -> Any:
    return get(api, "expand", **asked)


def to_supersede(api: Api, asked: Body) -> Any:
    return api.post(f"memories/{asked['ref']}/supersede", {k: v for k, v in asked.items() if k != "ref"})


# Tool, arguments, the status that it has over REST, and the REST call that is refused alike.
REFUSALS: dict[str, tuple[str, Body, int, Rest | None]] = {
    "no task": ("get_context", {"model": "claude"}, 422, to("context")),
    "a filter of nothing": ("get_context", {"task": "oak", "layers": []}, 422, to("context")),
    "a field that is none": ("get_context", {"task": "oak", "top_k": 3}, 422, to("context")),
    "a foreign cursor": ("get_context", {"task": "oak", "cursor": "nonsense"}, 400, to("context")),
    "find and ask": ("query_memory", {"find": "oak", "ask": "oak"}, 422, to("query")),
    "k beyond its range": ("query_memory", {"find": "oak", "k": 1_000}, 422, to("query")),
    "nothing behind it": ("expand", {"ref": UNKNOWN}, 404, to_expand),
    "no direction": ("expand", {"ref": UNKNOWN, "direction": "up"}, 422, to_expand),
    "no query": ("search", {}, 422, None),
    "a query that is no text": ("search", {"query": 7}, 422, None),
    "an unknown id": ("fetch", {"id": UNKNOWN}, 404, None),
    "no id": ("fetch", {"ref": UNKNOWN}, 422, None),
    "nothing to keep": ("remember_this", {"author": "user"}, 422, to("captures")),
    "nobody says so": ("remember_this", {"content": "Oak.", "author": "me"}, 422, to("captures")),
    "no such kind": ("propose_memory", {"content": "Oak.", "kind": "rumour"}, 422, to("memories")),
    "no claim": ("propose_memory", {"content": ""}, 422, to("memories")),
    "no old one": ("supersede_memory", {"ref": UNKNOWN, "content": "Oak."}, 404, to_supersede),
    "no new one": ("supersede_memory", {"ref": "{0}"}, 422, to_supersede),
    "the very same": ("supersede_memory", {"ref": "{0}", "content": TEXTS[0]}, 409, to_supersede),
    "nothing to forget": (
        "forget_memory",
        {"ref": UNKNOWN},
        404,
        lambda api, asked: api.delete(f"memories/{asked['ref']}"),
    ),
    "forget what": ("forget_memory", {}, 422, None),
}


def refused_over_stdio(monkeypatch: pytest.MonkeyPatch, api: Api, name: str, asked: Body) -> Body:
    secret = api.headers["Authorization"].split()[1]
    (reply,) = over_stdio(monkeypatch, message("tools/call", name=name, arguments=asked), token=secret)
    return dict(reply["result"])


def test_every_tool_is_asked_and_refused():
    assert {tool for tool, *_ in QUESTIONS.values()} == {tool for tool, *_ in REFUSALS.values()} == set(TOOLS)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_every_road_refuses_alike_and_says_what_to_do(refusal, monkeypatch):
    name, asked, status, route = REFUSALS[refusal]
    api = api_of()
    asked = named(asked, fill(api, *TEXTS))
    problem = error_of(tool(api, name, **asked))
    assert problem["status"] == status
    if route is not None:
        by_route = error_of(route(api, asked))
        assert (by_route["status"], by_route["detail"]) == (problem["status"], problem["detail"])
        assert by_route.get("errors") == problem.get("errors")
    by_http = call(api, name, **asked)
    by_modern_http = result(post_modern(api, "tools/call", name=name, arguments=asked))
    told = {name: value for name, value in by_modern_http.items() if name in by_http}
    assert by_http == told == refused_over_stdio(monkeypatch, api, name, asked)
    assert (by_http["isError"], "structuredContent" in by_http) == (True, False)
    (content,) = by_http["content"]
    said, *lines = content["text"].splitlines()
    assert said == f"{name} failed: {problem['detail']}"
    blame = [f"- {error['field']}: {error['message']}" for error in problem.get("errors", ())]
    assert lines[: len(blame)] == blame
    assert lines[len(blame) :], "what to do next is missing"


# -- Room ----------------------------------------------------------------------------------------

LONG = "The quarry at Oak Hill sells slate and lime. " * 2_200  # 99,000 characters


@pytest.mark.parametrize("name", TOOLS)
def test_no_answer_is_longer_than_a_client_takes(name):
    api = api_of()
    refs = fill(api, *(f"Number {number}. {LONG}" for number in range(4)), LONG)
    largest: dict[str, Body] = {
        "get_context": {"task": "quarry", "token_budget": 1_000_000},
        "query_memory": {"find": "quarry", "k": 100},
        "expand": {"ref": refs[0], "direction": "neighbors"},
        "search": {"query": "quarry"},
        "fetch": {"id": refs[0]},
        "remember_this": {
            "content": "\n".join(f"We decided on quarry {n}, which is deep." for n in range(3_000))
        },
        "propose_memory": {"content": f"A claim. {LONG}"},
        "supersede_memory": {"ref": refs[0], "content": f"It closed. {LONG}"},
        "forget_memory": {"ref": refs[0]},
    }
    answer = call(api, name, **largest[name])
    assert answer["isError"] is False
    for part in (answer["structuredContent"], {"text": answer["content"][0]["text"]}):
        assert answer_tokens(part) <= ANSWER_TOKENS * 1.2  # the text is JSON within JSON here
