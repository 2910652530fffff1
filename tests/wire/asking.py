"""How these tests ask: each question once, through the wire, and what they read off an answer."""

from typing import Any
from urllib.parse import urlencode

from tests.clients import Api
from tests.factories import make_memory

Body = dict[str, Any]


def fill(api: Api, *contents: str, **fields: Any) -> list[str]:
    """Store memories past the writing verbs and return their refs."""
    assert api.vault is not None
    return [make_memory(api.vault, content=content, **fields).ref for content in contents]


# -- Asking --------------------------------------------------------------------------------------


def ask(api: Api, task: str, **asked: Any) -> Any:
    """Ask for a pack and return the whole response."""
    return api.post("context", {"task": task, **asked})


def pack(api: Api, task: str, **asked: Any) -> Body:
    return ok(ask(api, task, **asked))


def smp(api: Api, task: str, **asked: Any) -> Body:
    return pack(api, task, format="smp", **asked)


def markdown(api: Api, task: str, **asked: Any) -> str:
    response = ask(api, task, format="markdown", **asked)
    assert response.status_code == 200, response.content
    return str(response.content.decode())


def query(api: Api, **mql: Any) -> Body:
    return ok(api.post("query", mql))


def expand(api: Api, ref: str, direction: str = "document") -> Any:
    return get(api, "expand", ref=ref, direction=direction)


def tool(api: Api, name: str, **arguments: Any) -> Any:
    return api.post("tools/call", {"name": name, "arguments": arguments})


def use(api: Api, name: str, **arguments: Any) -> Body:
    """Call a tool and return its result."""
    return dict(ok(tool(api, name, **arguments))["result"])


def get(api: Api, path: str, **params: Any) -> Any:
    """Send a GET; lists are repeated."""
    text = urlencode(params, doseq=True)
    return api.get(f"{path}?{text}" if text else path)


def ok(response: Any) -> Body:
    assert response.status_code == 200, response.content
    return dict(response.json())


# -- Reading an answer ---------------------------------------------------------------------------


def items(body: Body) -> list[Body]:
    """Return the memories of any answer that has some, whatever their grouping."""
    if "layers" in body:
        return [row for rows in body["layers"].values() for row in rows]
    return list(body["items"])


def refs(body: Body) -> list[str]:
    return [item["ref"] for item in items(body)]


def contents(body: Body) -> list[str]:
    return [item["content"] for item in items(body)]


def new_refs(body: Body) -> list[str]:
    return [entry["ref"] for entry in body["working_memory"]["new"]]


def blamed(response: Any) -> set[str]:
    """Return the fields that a refusal names."""
    return {error["field"] for error in response.json().get("errors", ())}


def error_of(response: Any) -> Body:
    """Return the body of a refusal, after seeing that it has the one form of all of them."""
    body = dict(response.json())
    assert response["Content-Type"] == "application/problem+json"
    assert body["status"] == response.status_code
    assert all(isinstance(body[name], str) and body[name] for name in ("type", "title", "detail"))
    return body
