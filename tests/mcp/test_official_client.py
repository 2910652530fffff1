"""The protocol's own client, in each of its modes, against a running server and against the command."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from contextpack.demo.server import SOURCE_DIR, Server, throwaway_settings

MODES: dict[ConnectMode, str] = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
TEXT = "Ana keeps the key to the mill."


@asynccontextmanager
async def over_http(server: Server, mode: ConnectMode) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(server: Server, mode: ConnectMode) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["manage.py", "mcp_stdio"],
        cwd=SOURCE_DIR,
        env=throwaway_settings(server.folder, {"CORTEX_TOKEN": server.token}),
    )
    async with Client(stdio_client(command), mode=mode) as client:
        yield client


async def use_it(client: Client, version: str) -> None:
    """Do what an agent does; the client itself checks each answer against the schema that its tool was listed with."""
    assert client.protocol_version == version
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert len(listed) == 9
    assert all(tool.output_schema and tool.annotations for tool in listed.values())
    kept = await client.call_tool("remember_this", {"content": TEXT, "author": "user"})
    assert kept.structured_content is not None
    ref = kept.structured_content["memories"][0]["ref"]
    found = await client.call_tool("search", {"query": "key to the mill"})
    assert found.structured_content is not None
    assert [result["id"] for result in found.structured_content["results"]] == [ref]
    pack = await client.call_tool("get_context", {"task": "open the mill", "format": "markdown"})
    assert ref in pack.content[0].text  # type: ignore[union-attr] # a text, as every content here
    refused = await client.call_tool("fetch", {"id": "mem_zzzzzzzzzzzz"})
    assert refused.is_error
    assert refused.structured_content is None


@pytest.mark.parametrize("mode", MODES)
def test_it_connects_over_http(server, mode):
    async def talk() -> None:
        async with over_http(server, mode) as client:
            await use_it(client, MODES[mode])

    anyio.run(talk)


def test_it_connects_over_stdio_in_every_mode(server):
    async def talk(mode: ConnectMode) -> None:
        async with over_stdio(server, mode) as client:
            await use_it(client, MODES[mode])

    async def talk_in_all() -> None:
        async with anyio.create_task_group() as together:
            for mode in MODES:
                together.start_soon(talk, mode)

    anyio.run(talk_in_all)
