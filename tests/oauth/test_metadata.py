"""What a client reads first: what the server is, and where everything else is."""

import httpx2
import pytest

MCP_METADATA = "/.well-known/oauth-protected-resource/mcp"


def told(url: str) -> dict[str, object]:
    answer = httpx2.get(url)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    return dict(answer.json())


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_a_resource_names_itself_and_its_authorization_server(server, path):
    document = told(f"{server.url}/.well-known/oauth-protected-resource{path}")
    assert document["resource"] == f"{server.url}{path}"
    assert document["authorization_servers"] == [server.url]
    assert document["bearer_methods_supported"] == ["header"]


def test_the_authorization_server_knows_codes_with_pkce_and_nothing_else(server):
    document = told(f"{server.url}/.well-known/oauth-authorization-server")
    assert document["issuer"] == server.url
    assert document["response_types_supported"] == ["code"]
    assert document["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert document["token_endpoint_auth_methods_supported"] == ["none"]
    assert document["client_id_metadata_document_supported"] is True
    assert document["authorization_response_iss_parameter_supported"] is True
    for name in ("authorization", "token", "revocation", "registration"):
        assert httpx2.post(str(document[f"{name}_endpoint"])).status_code in {302, 400, 401, 403}


def test_a_call_without_a_token_is_told_where_to_get_one(server):
    answer = httpx2.post(f"{server.url}/mcp", json={})
    assert answer.status_code == 401
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge.startswith("Bearer ")
    assert f'resource_metadata="{server.url}{MCP_METADATA}"' in challenge
    assert 'scope="memory:read memory:write"' in challenge
    assert "error=" not in challenge


def test_a_token_that_opens_nothing_is_called_invalid(server):
    headers = {"Authorization": "Bearer cta_madeup"}
    answer = httpx2.post(f"{server.url}/mcp", json={}, headers=headers)
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
