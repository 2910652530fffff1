"""A body is plain UTF-8 JSON that can be read in one way only."""

import gzip
import json

import pytest

from cortex.api.parsing import parse_json
from cortex.errors import Unparsable
from tests.clients import api_of

pytestmark = pytest.mark.django_db

BODY = json.dumps({"content": "Oak is härd"}).encode()
LINES = b'{"class": "none"}\n'


@pytest.fixture
def api():
    return api_of()


def refusal(response):
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "GZIP", "gzip, identity", "x"])
@pytest.mark.parametrize("path", ["memories", "memories/bulk", "tools/call", "query", "import"])
def test_a_compressed_body_is_415(api, path, coding):
    response = api.call("POST", path, raw=gzip.compress(BODY), Content_Encoding=coding)
    assert refusal(response) == 415
    assert "compressed" in response.json()["detail"]


@pytest.mark.parametrize("charset", ["latin-1", "utf-16", "ascii", "utf-7", "nonsense"])
@pytest.mark.parametrize("path", ["memories", "import"])
def test_another_charset_is_415(api, path, charset):
    response = api.call("POST", path, raw=BODY, Content_Type=f"application/json; charset={charset}")
    assert refusal(response) == 415


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Encoding": "identity"},
        {"Content_Encoding": ""},
        {"Content_Type": "application/json; charset=utf-8"},
        {"Content_Type": 'application/json; charset="UTF-8"'},
        {"Content_Type": "application/json;charset=UTF8"},
    ],
)
def test_what_says_that_it_is_plain_is_taken(api, headers):
    assert api.call("POST", "memories", raw=BODY, **headers).status_code == 201


def test_a_byte_order_mark_is_no_text(api):
    response = api.call("POST", "memories", raw=b"\xef\xbb\xbf" + BODY)
    assert response.status_code == 201
    assert response.json()["content"] == "Oak is härd"


@pytest.mark.parametrize(
    "raw",
    [
        b'{"content": "a", "content": "b"}',
        b'{"content": "a", "c\\u006fntent": "b"}',
        b'{"content": "a", "source": {"url": "x", "url": "y"}}',
    ],
)
def test_a_field_named_twice_is_400(api, raw):
    response = api.call("POST", "memories", raw=raw)
    assert refusal(response) == 400
    assert "twice" in response.json()["detail"]


def test_the_same_name_in_two_objects_is_fine():
    assert parse_json(b'[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]
    with pytest.raises(Unparsable, match="twice"):
        parse_json(b'[{"a": {"b": 1, "b": 1}}]')


def test_a_stated_giant_is_413_without_being_read(api):
    response = api.client.post(
        "/v1/memories",
        BODY,
        content_type="application/json",
        headers=api.headers,
        CONTENT_LENGTH="99999999999",
    )
    assert refusal(response) == 413


def test_chunks_that_the_server_did_not_cut_are_411(api):
    assert refusal(api.call("POST", "memories", raw=BODY, Transfer_Encoding="chunked")) == 411
