"""A code is good once, for one client, one address and one resource; tokens rotate, end together, and open one vault."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.oauth.speaking import CALLBACK, Person, back, registered

REMEMBER = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "remember_this", "arguments": {"content": "The mill opens at six."}},
}


@pytest.fixture
def code(ana, client) -> str:
    return back(ana.answer(client.request()))["code"]


def error_of(response: Any, status: int = 400) -> str:
    assert response.status_code == status, response.text
    return str(response.json()["error"])


# -- Asking -----------------------------------------------------------------------------------------


def test_the_answer_echoes_the_state_and_says_whose_it_is(server, ana, client):
    told = back(ana.answer(client.request(state="a b&c")))
    assert set(told) == {"code", "state", "iss"}
    assert told["state"] == "a b&c"
    assert told["iss"] == server.url


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "openid"}, "invalid_scope"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
    ],
)
def test_a_client_is_told_what_is_wrong(server, ana, client, changed, error):
    told = back(ana.look(client.request(**changed)))
    assert told["error"] == error
    assert told["state"] == "some state"
    assert told["iss"] == server.url


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": CALLBACK + "/more"},
        {"redirect_uri": CALLBACK + "?more=1"},
        {"redirect_uri": CALLBACK.replace("127.0.0.1", "localhost")},
        {"client_id": "nobody"},
        {"client_id": None},
        {"client_id": "https://127.0.0.1/client.json"},  # the description of a client on a private address
        {"client_id": "https://169.254.169.254/latest/meta-data"},
        {"client_id": "http://client.example/oauth/client.json"},
    ],
)
def test_nobody_is_led_to_an_address_that_is_not_the_clients(ana, client, changed):
    page = ana.look(client.request(**changed))
    assert page.status_code == 400
    assert "Location" not in page.headers


def test_a_program_on_the_persons_machine_listens_where_it_can(ana, client):
    elsewhere = CALLBACK.replace("33418", "50123")
    led = ana.answer(client.request(redirect_uri=elsewhere))
    assert led.headers["Location"].startswith(elsewhere)


def test_scopes_that_are_not_ours_are_left_out(ana, client):
    told = client.connect_as(ana, scope="openid memory:read offline_access")
    assert told["scope"] == "memory:read"


# -- Redeeming --------------------------------------------------------------------------------------


def test_a_code_becomes_tokens_that_last_an_hour(client, code):
    response = client.redeem(code)
    told = response.json()
    assert told["token_type"] == "Bearer"
    assert told["expires_in"] == 3_600
    assert set(told["scope"].split()) == {"memory:read", "memory:write"}
    assert response.headers["Cache-Control"] == "no-store"
    assert client.call(told["access_token"]).status_code == 200


def test_a_code_that_is_used_twice_ends_what_its_first_use_got(client, code):
    told = client.redeem(code).json()
    assert error_of(client.redeem(code)) == "invalid_grant"
    assert client.call(told["access_token"]).status_code == 401
    assert error_of(client.refresh(told["refresh_token"])) == "invalid_grant"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "x" * 43}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_grant"),
        ({"redirect_uri": CALLBACK.replace("33418", "50123")}, "invalid_request"),
        ({"code": "made up"}, "invalid_grant"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
    ],
)
def test_a_code_is_redeemed_by_whoever_asked_for_it_and_as_it_was_asked(client, code, changed, error):
    told = error_of(client.redeem(**{"code": code, **changed}))
    assert told in {error, "invalid_request"}


def test_a_code_of_another_client_is_worth_nothing(server, client, code):
    other = registered(server.url)
    other.verifier = client.verifier
    assert error_of(other.redeem(code)) == "invalid_grant"
    assert client.redeem(code).status_code == 200


@pytest.mark.parametrize(
    "grant",
    ["password", "client_credentials", "urn:ietf:params:oauth:grant-type:device_code", "", "implicit"],
)
def test_there_are_no_other_grants(client, grant):
    answer = client.token(grant_type=grant, username="ana", password="x")
    assert error_of(answer) == "unsupported_grant_type"


@pytest.mark.parametrize(
    "told", [{"code": "\0"}, {"client_id": "\0"}, {"client_id": None}, {"grant_type": None}]
)
def test_what_makes_no_sense_is_refused(client, told):
    assert client.redeem(**{"code": "made up", **told}).status_code in {400, 401}


@pytest.mark.parametrize("what", ["code", "refresh token"])
def test_of_many_who_bring_the_same_at_once_one_gets_something(client, code, what):
    first = {} if what == "code" else client.redeem(code).json()

    def bring(_: int) -> int:
        again = client.redeem(code) if what == "code" else client.refresh(first["refresh_token"])
        return int(again.status_code)

    with ThreadPoolExecutor(6) as hands:
        assert sorted(hands.map(bring, range(6))) == [200, 400, 400, 400, 400, 400]


# -- Refreshing and revoking ------------------------------------------------------------------------


def test_a_refresh_token_is_good_once_and_used_again_ends_its_family(ana, client):
    first = client.connect(ana)
    second = client.refresh(first["refresh_token"]).json()
    assert client.call(first["access_token"]).status_code == 401
    assert client.call(second["access_token"]).status_code == 200
    assert error_of(client.refresh(first["refresh_token"])) == "invalid_grant"
    assert client.call(second["access_token"]).status_code == 401
    assert error_of(client.refresh(second["refresh_token"])) == "invalid_grant"


def test_a_refresh_may_narrow_but_never_widen(ana, client):
    first = client.connect(ana, scopes=["memory:read"])
    assert (
        error_of(client.refresh(first["refresh_token"], scope="memory:read memory:write")) == "invalid_scope"
    )
    assert client.refresh(first["refresh_token"], scope="memory:read").status_code == 200


def test_a_refresh_token_is_for_its_client_and_its_resource(server, ana, client):
    told = client.connect(ana)
    assert error_of(registered(server.url).refresh(told["refresh_token"])) == "invalid_grant"
    elsewhere = client.refresh(told["refresh_token"], resource="https://elsewhere.example")
    assert error_of(elsewhere) == "invalid_target"


@pytest.mark.parametrize("name", ["access_token", "refresh_token"])
def test_revoking_one_token_ends_both(ana, client, name):
    told = client.connect(ana)
    assert client.revoke(told[name]).status_code == 200
    assert client.call(told["access_token"]).status_code == 401
    assert error_of(client.refresh(told["refresh_token"])) == "invalid_grant"


def test_nobody_revokes_a_token_of_another_client(server, ana, client):
    told = client.connect(ana)
    assert registered(server.url).revoke(told["access_token"]).status_code == 200
    assert client.call(told["access_token"]).status_code == 200


# -- Using ------------------------------------------------------------------------------------------


def test_a_token_for_mcp_opens_nothing_else(ana, client):
    told = client.connect(ana)
    assert client.call(told["access_token"], {"find": "mill"}, path="/v1/query").status_code == 401


def test_a_token_for_the_server_opens_all_of_it(server, ana, client):
    told = client.connect_as(ana, resource=server.url)
    assert client.call(told["access_token"], {"find": "mill"}, path="/v1/query").status_code == 200
    assert client.call(told["access_token"]).status_code == 200


def test_a_token_sees_the_vault_that_was_chosen_and_no_other(server, ana, client):
    red = client.connect_as(ana, vault="Team Red", resource=server.url)["access_token"]
    default = client.connect_as(ana, vault="Default", resource=server.url)["access_token"]
    headers = {"Authorization": f"Bearer {red}"}
    kept = client.http.post(
        f"{server.url}/v1/memories", json={"content": "The red door sticks."}, headers=headers
    ).json()
    assert client.http.get(f"{server.url}/v1/memories/{kept['ref']}", headers=headers).status_code == 200
    theirs = client.http.get(
        f"{server.url}/v1/memories/{kept['ref']}",
        headers={"Authorization": f"Bearer {default}", "X-Cortex-Vault": "team-red"},
    )
    assert theirs.status_code == 404


def test_the_record_names_the_person_and_the_client(server, ana, client):
    told = client.connect_as(ana, resource=server.url)
    headers = {"Authorization": f"Bearer {told['access_token']}"}
    asked = {"task": "open the mill", "format": "json"}
    pack = client.http.post(f"{server.url}/v1/context", json=asked, headers=headers).json()
    receipt = client.http.get(f"{server.url}/v1/receipts/{pack['receipt']['id']}", headers=headers).json()
    who, _, number = receipt["actor"].rpartition(":")
    assert who == "oauth:ana:Raw"
    assert (server.folder / "throttle" / number).exists()  # its calls are counted like any token's


def test_a_missing_scope_is_named_so_that_a_client_can_ask_for_it(server, ana, client):
    told = client.connect(ana, scopes=["memory:read"])
    refused = client.call(told["access_token"], REMEMBER)
    assert refused.status_code == 403
    challenge = refused.headers["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="memory:read memory:write"' in challenge
    assert f'resource_metadata="{server.url}/.well-known/oauth-protected-resource/mcp"' in challenge


def test_other_tokens_work_as_ever(server, client):
    assert client.call(server.token).status_code == 200
    assert client.call(server.token, {"find": "mill"}, path="/v1/query").status_code == 200


def test_nobody_who_may_not_log_in_any_more_is_acted_for(server, client):
    told = client.connect(Person(server.url, "leaver"))
    assert client.call(told["access_token"]).status_code == 200
    with sqlite3.connect(server.folder / "cortex.sqlite3", timeout=20) as database:
        database.execute("UPDATE auth_user SET is_active = 0 WHERE username = 'leaver'")
    database.close()
    assert client.call(told["access_token"]).status_code == 401
    assert error_of(client.refresh(told["refresh_token"])) == "invalid_grant"


def test_no_token_stands_in_the_database_or_the_log_as_it_is(server, ana, client):
    told = client.connect(ana)
    client.refresh("ctr_" + "x" * 43)
    log = (server.folder / "stderr").read_bytes()
    assert b"ctr_x" not in log
    stored = b"".join(path.read_bytes() for path in server.folder.glob("cortex.sqlite3*"))
    assert client.client_id.encode() in stored
    for token in (told["access_token"], told["refresh_token"]):
        assert token.encode() not in stored + log
