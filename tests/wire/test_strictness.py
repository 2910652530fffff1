"""What a client may send and must never break: NUL, lone surrogates, depth, size, types, methods."""

import json
from urllib.parse import quote

import pytest

from memories.models import Memory
from tests.clients import api_of
from tests.wire.asking import get, tool

pytestmark = pytest.mark.django_db

TEXT_FIELDS = ["content", "summary", "project", "thread", "speaker", "kind", "author", "occurred_at"]
POSTS = [
    "memories",
    "memories/bulk",
    "captures",
    "memories/mem_000000000000/supersede",
    "memories/mem_000000000000/approve",
    "conflicts/con_000000000000/resolve",
]
LISTS = ["memories", "entities", "conflicts"]
PARAMETERS = [
    "q",
    "project",
    "entity",
    "tag",
    "thread",
    "cursor",
    "limit",
    "status",
    "occurred_after",
    "unknown",
]


def is_problem(response, status):
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert {"type", "title", "status", "detail"} <= set(body)
    assert body["status"] == status
    return True


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud83d", "a\udc00"])
@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_what_no_database_stores_is_400_in_any_field(field, text):
    assert is_problem(api_of().post("memories", {"content": "It is so", field: text}), 400)
    assert not Memory.objects.exists()


@pytest.mark.parametrize("text", ["\0", "\ud83d"])
def test_it_is_400_wherever_it_is_nested(text):
    api = api_of()
    for body in (
        {"content": "x", "tags": [text]},
        {"content": "x", "entities": ["Ana", text]},
        {"content": "x", "source": {"url": f"https://example.org/{text}"}},
        {"content": "x", text: 1},
    ):
        assert is_problem(api.post("memories", body), 400)
    assert is_problem(api.post("memories/bulk", {"memories": [{"content": "x"}, {"content": text}]}), 400)
    assert is_problem(api.post("captures", {"content": text}), 400)


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("parameter", PARAMETERS)
def test_nul_in_a_query_is_400(path, parameter):
    assert is_problem(api_of().get(f"{path}?{parameter}=a%00b"), 400)


@pytest.mark.parametrize("path", ["memories/%00", "memories/a%00b", "entities/%00", "conflicts/%00/resolve"])
def test_nul_in_an_address_is_400(path):
    api = api_of()
    response = api.post(path, {"keep": "both"}) if path.endswith("resolve") else api.get(path)
    assert is_problem(response, 400)


@pytest.mark.parametrize("path", LISTS)
def test_bytes_that_are_no_text_are_400(path):
    assert is_problem(api_of().get(f"{path}?q=%ff"), 400)


def test_later_reads_are_fine():
    api = api_of()
    api.post("memories", {"content": "\ud83d"})
    api.remember("It is so")
    assert api.get("memories").status_code == 200


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "raw", [b"{", b"", b"nul", b"\xff\xfe", b'{"content": NaN}', b'{"content": 1e999}', b"[" * 10_000]
)
def test_what_is_no_json_is_refused(path, raw):
    if raw == b"" and path.endswith("approve"):
        return  # an empty body is what it expects
    response = api_of().call("POST", path, raw=raw)
    assert response.status_code in {400, 422} if raw == b"" else is_problem(response, 400)


def test_deep_nesting_is_400():
    deep = b'{"content": ' + b"[" * 200 + b"]" * 200 + b"}"
    assert is_problem(api_of().call("POST", "memories", raw=deep), 400)


@pytest.mark.parametrize("body", ['"text"', "5", "true", "null", "[]", '["content"]'])
def test_a_body_that_is_no_object_is_422(body):
    assert is_problem(api_of().call("POST", "memories", raw=body.encode()), 422)


def test_switches_are_no_words():
    api = api_of()
    assert is_problem(api.get("memories?active=maybe"), 422)
    assert is_problem(api.post("memories", {"content": "x", "confidence": "1"}), 422)


def test_a_large_body_is_413():
    api = api_of()
    assert is_problem(api.post("memories", {"content": "x" * (2 * 1024 * 1024)}), 413)
    raw = b'{"memories": [' + b" " * (32 * 1024 * 1024) + b"]}"
    assert is_problem(api.call("POST", "memories/bulk", raw=raw), 413)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_what_is_not_json_is_415(content_type):
    response = api_of().call("POST", "memories", raw=b"content=x", Content_Type=content_type)
    assert is_problem(response, 415)


@pytest.mark.parametrize("path", ["memories", "memories/x", "captures", "stats", "memories/x/approve"])
def test_a_method_that_is_not_there_is_405(path):
    assert is_problem(api_of().call("PUT", path, {}), 405)


def test_no_refusal_tells_what_another_vault_holds():
    stranger = api_of()
    ref = stranger.remember("The blue ledger")["ref"]
    for response in (
        api_of().get(f"memories/{ref}"),
        api_of().delete(f"memories/{ref}"),
        api_of().post(f"memories/{ref}/supersede", {"content": "x"}),
    ):
        assert b"ledger" not in response.content


def test_an_answer_is_json_in_utf_8_as_it_was_written():
    api = api_of()
    text = "设备 café Zoë 🎉 \u2028 </script>"
    told = api.remember(text)
    assert told["content"] == text
    raw = api.get(f"memories/{told['ref']}").content
    assert json.loads(raw)["content"] == text
    assert "设备".encode() in raw


@pytest.mark.parametrize("mark", ["\n", "\r", "\t", "\x1f", "\x7f", "\x85", "\u2028", "\u2029"])
def test_a_session_is_named_by_what_its_address_can_say(mark):
    api = api_of()
    name = f"a{mark}b"
    asked = {"task": "oak", "session_id": name}
    for answer in (
        api.post("context", asked),
        get(api, "context", **asked),
        tool(api, "get_context", **asked),
    ):
        assert answer.status_code == 422
        assert [error["field"] for error in answer.json()["errors"]] == ["session_id"]


@pytest.mark.parametrize("name", ["a b", "a/b", "ä\u200dö", "会話", "?#%", "a%0Ab", "🪵"])
def test_each_session_that_is_taken_can_be_read_and_ended(name):
    api = api_of()
    assert api.post("context", {"task": "oak", "session_id": name}).status_code == 200
    assert api.get(f"sessions/{quote(name, safe='')}").json()["session_id"] == name
    assert api.delete(f"sessions/{quote(name, safe='')}").status_code == 204


@pytest.mark.parametrize("url", ["http://[::1", "https://[nobody]/", "http://a]b/", "http://\u2100.example/"])
def test_an_address_that_no_parser_takes_is_no_citation(url):
    api = api_of()
    text = "Oak is hard."
    for answer in (
        api.post("memories", {"content": text, "source": {"url": url}}),
        api.post("captures", {"content": text, "url": url}),
        tool(api, "remember_this", content=text, url=url),
    ):
        assert answer.status_code == 422, answer.content
    (result,) = api.post("memories/bulk", {"memories": [{"content": text, "source": {"url": url}}]}).json()[
        "results"
    ]
    assert result["status"] == 422
    assert not Memory.objects.exists()


def test_a_masked_address_is_still_a_citation():
    api = api_of()
    url = "https://ana:hunter2-Xq9@host.example/[masked:token]"
    kept = api.post("memories", {"content": "Oak is hard.", "source": {"url": url}})
    assert kept.status_code == 201, kept.content
