"""Clients that register themselves: whatever they say, within bounds, and never with a secret."""

import json

import httpx2
import pytest

from tests.oauth.speaking import CALLBACK

URIS = {"redirect_uris": [CALLBACK]}


def register(server, told: object, *, forwarded: str | None = None) -> httpx2.Response:
    content = told if isinstance(told, bytes) else json.dumps(told).encode()
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return httpx2.post(f"{server.url}/oauth/register", content=content, headers=headers)


def test_a_client_gets_an_id_and_no_secret(server):
    told = {
        **URIS,
        "client_name": "Chat",
        "token_endpoint_auth_method": "client_secret_basic",
        "logo_uri": "x",
    }
    answer = register(server, told)
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    client = answer.json()
    assert client["client_id"]
    assert client["token_endpoint_auth_method"] == "none"
    assert client["redirect_uris"] == [CALLBACK]
    assert client["grant_types"] == ["authorization_code", "refresh_token"]
    assert not {"client_secret", "registration_access_token"} & set(client)


@pytest.mark.parametrize(
    "uri",
    [
        "https://chat.example/callback",
        "https://chat.example:8443/callback?tenant=a",
        "http://localhost:8080/callback",
        "http://[::1]/callback",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ],
)
def test_an_address_that_can_be_trusted_with_a_code_is_taken(server, uri):
    assert register(server, {"redirect_uris": [uri]}).status_code == 201


@pytest.mark.parametrize(
    "uri",
    [
        "http://chat.example/callback",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://chat.example/callback#fragment",
        "https://ana:secret@chat.example/",
        "https://chat.example/a b",
        "https://chat.example\\@evil.example/",
        "https:///callback",
        "http://127.0.0.1.evil.example/",
        "https://chat.example:0/",
        "https://[::1/",
        "/callback",
        "",
    ],
)
def test_any_other_is_not(server, uri):
    answer = register(server, {"redirect_uris": [uri]})
    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_redirect_uri"


@pytest.mark.parametrize(
    "told",
    [
        b"no json",
        b"[" * 50_000,
        b"\xff",
        b"[]",
        {},
        {"redirect_uris": CALLBACK},
        {"redirect_uris": [1]},
        {"redirect_uris": [CALLBACK] * 11},
        {"redirect_uris": ["https://chat.example/" + "x" * 500]},
        {**URIS, "client_name": "x" * 101},
        {**URIS, "client_name": "Chat\u202egnp"},
        {**URIS, "client_name": None},
        {**URIS, "grant_types": ["implicit"]},
        {**URIS, "response_types": ["token"]},
        {**URIS, "padding": "x" * 20_000},
    ],
)
def test_a_description_that_makes_no_client_is_refused(server, told):
    answer = register(server, told)
    assert answer.status_code == 400
    assert answer.json()["error"] in {"invalid_client_metadata", "invalid_redirect_uri"}


def test_one_address_registers_so_many_an_hour(server):
    statuses = [register(server, URIS).status_code for _ in range(21)]
    assert statuses == [201] * 20 + [429]
    assert int(register(server, URIS).headers["Retry-After"]) > 0


def test_behind_a_proxy_nobody_uses_up_what_others_may(server):
    seen = "198.51.100.{}, 203.0.113.5"  # the first is made up by the caller, anew for each call
    statuses = [register(server, URIS, forwarded=seen.format(n)).status_code for n in range(21)]
    assert statuses == [201] * 20 + [429]
    assert register(server, URIS, forwarded="203.0.113.5, 203.0.113.6").status_code == 201


def test_no_description_is_fetched_because_a_token_is_asked_for(server):
    form = {
        "grant_type": "refresh_token",
        "refresh_token": "x",
        "client_id": "https://client.example/never-seen.json",
    }
    answer = httpx2.post(f"{server.url}/oauth/token", data=form)
    assert answer.status_code == 401
    assert answer.json()["error"] == "invalid_client"
