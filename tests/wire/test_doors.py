"""Every address that is not under /v1/: open to all, behind a token, or behind a login; none may be missing here."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.conf import settings as deployed
from django.contrib.auth.models import User
from django.test import Client

from memories.models import ALL_SCOPES, Scope
from tests.clients import Api, api_of
from tests.wire.asking import error_of
from tests.wire.routes import other_paths
from tests.wire.test_walls import (
    CALLS,
    NOBODY,
    Call,
    alice,
    bob,
    carol,
    filled,
    name_of,
    names,
    of_unknown,
    refs_of,
    rows_of,
)

pytestmark = pytest.mark.django_db
__all__ = ["alice", "names"]  # fixtures

OPEN = {"": 302, "healthz": 200, "readyz": 200, "docs": 200, "admin": 302, "admin/login/": 200}
BEHIND_A_TOKEN = {"metrics", "mcp"}
BEHIND_A_LOGIN = {"m/<str:ref>"}  # and all of the admin
OAUTH = {
    ".well-known/oauth-protected-resource",
    ".well-known/oauth-protected-resource/mcp",
    ".well-known/oauth-authorization-server",
    "oauth/authorize",
    "oauth/token",
    "oauth/revoke",
    "oauth/register",
}  # tests/oauth asks them, and compares this list with the map of a server that has them

TOOLS = [call for call in CALLS if call.route.path == "tools/call"]
each_tool = pytest.mark.parametrize("call", TOOLS, ids=name_of)


def is_admins(path: str) -> bool:
    return path.startswith("admin/") and path not in OPEN


def address_of(pattern: str) -> str:
    """Return an address that a pattern takes."""
    plain = re.sub(r"\(\?P<app_label>(\w+)[^)]*\)", r"\1", pattern)
    plain = plain.replace("(?P<url>.*)", "nothing").replace("^", "").replace("$", "")
    return "/" + re.sub(r"<[^>]+>", "1", plain)


def test_no_address_is_missing_from_the_tables():
    others = {path for path in other_paths() if not is_admins(path)}
    assert others == set(OPEN) | BEHIND_A_TOKEN | BEHIND_A_LOGIN | (OAUTH if deployed.CORTEX_OAUTH else set())


@pytest.mark.parametrize("path", OPEN)
def test_what_is_open_is_open(path):
    assert Client().get(address_of(path)).status_code == OPEN[path]


class TestLogin:
    @pytest.fixture
    def closed(self) -> list[str]:
        paths = [path for path in other_paths() if is_admins(path)]
        assert len(paths) > 50
        return [address_of(path) for path in [*paths, *BEHIND_A_LOGIN]]

    def strangers(self) -> Mapping[str, Client]:
        visitor = Client()
        visitor.force_login(User.objects.create_user("visitor"))
        token = api_of(scopes=ALL_SCOPES).headers["Authorization"]
        return {"nobody": Client(), "no staff": visitor, "a token": Client(headers={"Authorization": token})}

    def test_nobody_passes_without_one_whatever_the_method(self, closed):
        for stranger in self.strangers().values():
            for method in ("GET", "POST"):
                for address in closed:
                    response = stranger.generic(method, address)
                    if method == "POST" and address.startswith("/m/"):
                        assert response.status_code == 405
                        continue
                    assert response.status_code == 302, address
                    assert re.match(r"/admin/(login/\?next=|$)", response["Location"]), address

    def test_a_login_without_permissions_sees_no_rows(self, alice, names):
        clerk = Client()
        clerk.force_login(User.objects.create_user("clerk", is_staff=True))
        assert clerk.get(f"/m/{names['memory']}").status_code == 403
        for path in (
            path for path in other_paths() if re.fullmatch(r"admin/(?!password_change)\w+/\w+/", path)
        ):
            assert clerk.get(address_of(path)).status_code in {302, 403, 404, 405}, path


# -- The Model Context Protocol ----------------------------------------------------------------------


def over_mcp(api: Api, call: Call, told: Mapping[str, str]) -> Any:
    body = filled(call.body, told)
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": body["name"], "arguments": body["arguments"]},
    }
    return api.client.post("/mcp", message, content_type="application/json", headers=api.headers)


def replied(response: Any) -> dict[str, Any]:
    assert response.status_code == 200, response.content
    return dict(response.json())


@each_tool
def test_alice_reaches_her_tools_over_mcp_and_nobody_else_does(alice, names, call):
    before = rows_of(alice)
    for caller in NOBODY.values():
        assert error_of(over_mcp(caller(alice), call, names))["status"] == 401
    for other in (s for s in (Scope.READ, Scope.WRITE, Scope.REVIEW) if s != needed_by(call)):
        refused = over_mcp(api_of(alice.vault, scopes=[other]), call, names)
        assert "error" in refused.json(), refused.content
    assert rows_of(alice) == before
    assert replied(over_mcp(alice, call, names))["result"]["isError"] is False


def needed_by(call: Call) -> Scope:
    assert call.scope is None  # the tools ask for themselves
    writing = {"remember_this", "propose_memory", "supersede_memory", "forget_memory"}
    return Scope.WRITE if call.body and call.body["name"] in writing else Scope.READ


@each_tool
def test_strangers_meet_nothing_of_alices_over_mcp(alice, names, call):
    before, hers = rows_of(alice), refs_of(alice)
    for caller in (bob(alice), carol(alice)):
        result = replied(over_mcp(caller, call, names))["result"]
        if call.names_a_thing:
            assert result == replied(over_mcp(caller, call, of_unknown(names)))["result"]
            assert result["isError"] is True
        assert not hers & set(re.findall(r"\w+", str(result)))
    assert rows_of(alice) == before


class TestMetrics:
    @pytest.mark.parametrize("kind", NOBODY)
    def test_nobody_reads_the_figures(self, alice, kind):
        caller = NOBODY[kind](alice)
        assert error_of(caller.client.get("/metrics", headers=caller.headers))["status"] == 401

    def test_a_scope_that_does_not_reach_is_403_and_a_parameter_that_nobody_knows_422(self, alice):
        lesser = api_of(alice.vault, scopes=[Scope.READ, Scope.WRITE, Scope.REVIEW])
        assert error_of(lesser.client.get("/metrics", headers=lesser.headers))["status"] == 403
        assert error_of(alice.client.get("/metrics?nonsense=1", headers=alice.headers))["status"] == 422
