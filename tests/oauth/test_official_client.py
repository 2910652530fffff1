"""The protocol's own client finds out by itself how to connect, and a person's "yes" is all that it needs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from tests.oauth.speaking import CALLBACK, DESCRIBED_CALLBACK, DESCRIBED_CLIENT, Person


class Kept:
    """What the client keeps between two runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Desk:
    """Where the client sends its person, and hears what they said."""

    def __init__(self, person: Person, scopes: list[str] | None = None) -> None:
        self.person, self.scopes, self.asked = person, scopes, list[str]()

    async def show(self, address: str) -> None:
        self.asked.append(address)

    async def hear(self) -> AuthorizationCodeResult:
        led = self.person.answer(self.asked[-1], scopes=self.scopes)
        told = {name: values[0] for name, values in parse_qs(urlsplit(led.headers["Location"]).query).items()}
        return AuthorizationCodeResult(code=told["code"], state=told.get("state"), iss=told.get("iss"))


def provider(url: str, kept: Kept, desk: Desk, *, described: bool = False) -> OAuthClientProvider:
    callback = DESCRIBED_CALLBACK if described else CALLBACK
    return OAuthClientProvider(
        server_url=f"{url}/mcp",
        client_metadata=OAuthClientMetadata(client_name="Official", redirect_uris=[AnyUrl(callback)]),
        storage=kept,
        redirect_handler=desk.show,
        callback_handler=desk.hear,
        client_metadata_url=DESCRIBED_CLIENT if described else None,
    )


@asynccontextmanager
async def connected(url: str, auth: OAuthClientProvider) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(auth=auth, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("described", [False, True], ids=["registered", "described"])
def test_it_connects_and_uses_the_tools(server, ana, described):
    kept, desk = Kept(), Desk(ana)

    async def talk() -> None:
        async with connected(server.url, provider(server.url, kept, desk, described=described)) as client:
            assert len(await names(client)) == 9
            said = await client.call_tool("remember_this", {"content": "Ana keeps the key to the mill."})
            assert not said.is_error

    anyio.run(talk)
    assert len(desk.asked) == 1
    assert kept.client is not None
    assert (kept.client.client_id == DESCRIBED_CLIENT) is described


def test_it_refreshes_by_itself_and_asks_nobody_again(server, ana):
    kept, desk = Kept(), Desk(ana)
    auth = provider(server.url, kept, desk)

    async def talk() -> None:
        async with connected(server.url, auth) as client:
            await names(client)
            first = kept.tokens
            auth.context.token_expiry_time = 1.0  # long ago
            assert not (await client.call_tool("search", {"query": "mill"})).is_error
        assert first is not None
        assert kept.tokens is not None
        assert kept.tokens.refresh_token != first.refresh_token

    anyio.run(talk)
    assert len(desk.asked) == 1


def test_it_asks_for_a_further_scope_when_a_tool_needs_it(server, ana):
    kept, desk = Kept(), Desk(ana, scopes=["memory:read"])

    async def talk() -> None:
        async with connected(server.url, provider(server.url, kept, desk)) as client:
            assert "remember_this" not in await names(client)
            desk.scopes = ["memory:read", "memory:write"]
            said = await client.call_tool("remember_this", {"content": "The mill opens at six."})
            assert not said.is_error

    anyio.run(talk)
    assert len(desk.asked) == 2
    assert kept.tokens is not None
    assert set((kept.tokens.scope or "").split()) == {"memory:read", "memory:write"}
