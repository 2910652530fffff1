"""How these tests speak the protocol: one request each, in either era, past any client library."""

import io
import json
import sys
from typing import Any

import pytest
from django.core.management import call_command

from contextpack.core.mcp import CAPABILITIES_KEY, MODERN, VERSION_KEY
from contextpack.management.commands import mcp_stdio
from tests.clients import Api

Body = dict[str, Any]
ENVELOPE = {VERSION_KEY: MODERN[0], CAPABILITIES_KEY: {}}


def message(method: str, /, **params: Any) -> Body:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def modern(method: str, /, **params: Any) -> Body:
    return message(method, _meta=ENVELOPE, **params)


def post(api: Api, body: Any, /, **headers: str) -> Any:
    """Send one message to /mcp and return Django's response."""
    return post_raw(api, json.dumps(body).encode(), **headers)


def post_raw(api: Api, raw: bytes, /, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content_type = named.pop("Content-Type", "application/json")
    return api.client.post("/mcp", raw, content_type=content_type, headers={**api.headers, **named})


def post_modern(api: Api, method: str, /, **params: Any) -> Any:
    """Send a request of the modern era with the headers that belong to it."""
    named = {"Mcp-Name": str(params["name"])} if "name" in params else {}
    return post(
        api, modern(method, **params), **{"MCP-Protocol-Version": MODERN[0], "Mcp-Method": method, **named}
    )


def result(response: Any) -> Body:
    assert response.status_code == 200, response.content
    return dict(response.json()["result"])


def code(response: Any) -> int:
    return int(response.json()["error"]["code"])


def call(api: Api, name: str, /, **arguments: Any) -> Body:
    """Call a tool over HTTP and return the whole CallToolResult."""
    return result(post(api, message("tools/call", name=name, arguments=arguments)))


def over_stdio(monkeypatch: pytest.MonkeyPatch, *lines: Any, **options: Any) -> list[Any]:
    """Run the command on these lines, each a message or raw bytes, and return what it wrote, line by line."""
    raw = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    out = io.BytesIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        patched.setattr(sys, "stdout", io.TextIOWrapper(out, write_through=True))
        patched.setattr(
            mcp_stdio, "_let_go", lambda: None
        )  # the test's own transaction is on that connection
        call_command("mcp_stdio", **options)
        return [json.loads(line) for line in out.getvalue().splitlines()]
