"""Every route against everybody who may not pass: one table, which no route may be missing from (docs/wire.md, Who may call).

Alice owns what the table's calls name. Bob is another vault; Carol's token is Alice's but sees another project.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from string import Formatter
from typing import Any

import pytest

from memories.models import ALL_SCOPES, AccessToken, Conflict, Entity, Memory, Scope
from tests.clients import Api, api_of
from tests.factories import make_token, make_vault
from tests.wire.asking import blamed, error_of, fill, query, smp
from tests.wire.routes import Route, guarded_routes

pytestmark = pytest.mark.django_db

READ, WRITE, REVIEW, ADMIN = Scope.READ, Scope.WRITE, Scope.REVIEW, Scope.ADMIN
SECRET = "Zebulon"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that Alice may make.

    `scope` is the least that it takes; None: any token, the tools ask for themselves.
    `there` calls are for a single thing: whoever does not see it gets the answer for what never was. The others
    are for a list or a new thing: whoever does not see Alice's gets an answer without it.
    """

    route: Route
    scope: Scope | None
    path: str = ""
    body: Mapping[str, Any] | None = None
    status: int = 200

    @property
    def address(self) -> str:
        return self.path or self.route.path

    @property
    def names_a_thing(self) -> bool:
        return any(field for _, field, _, _ in Formatter().parse(self.address + str(self.asked)) if field)

    @property
    def asked(self) -> list[str]:
        return [value for value in _texts(self.body) if value.startswith("{")]

    def sent_by(self, api: Api, names: Mapping[str, str]) -> Any:
        body = None if self.body is None else filled(self.body, names)
        return api.call(self.route.method, self.address.format(**names), body)


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: filled(part, names) for key, part in value.items()}
    return value.format(**names) if isinstance(value, str) and value.startswith("{") else value


def _call(method: str, route: str, scope: Scope | None, **rest: Any) -> Call:
    return Call(route=Route(method, route), scope=scope, **rest)


def _tool(name: str, **arguments: Any) -> Call:
    return _call("POST", "tools/call", None, body={"name": name, "arguments": arguments})


CALLS = (
    _call("POST", "captures", WRITE, body={"content": "Something new."}, status=201),
    _call("GET", "memories", READ),
    _call("POST", "memories", WRITE, body={"content": "Something new."}, status=201),
    _call("POST", "memories/bulk", WRITE, body={"memories": [{"content": "Something new."}]}),
    _call("GET", "memories/<str:ref>", READ, path="memories/{memory}"),
    _call("PATCH", "memories/<str:ref>", WRITE, path="memories/{memory}", body={"tags": ["new"]}),
    _call("DELETE", "memories/<str:ref>", WRITE, path="memories/{memory}"),
    _call("POST", "memories/<str:ref>/supersede", WRITE, path="memories/{memory}/supersede",
          body={"content": "Something new."}, status=201),
    _call("POST", "memories/<str:ref>/supersede", WRITE, path="memories/{memory}/supersede",
          body={"replacement": "{other}"}),
    _call("POST", "memories/<str:ref>/approve", REVIEW, path="memories/{memory}/approve", body={}),
    _call("POST", "memories/<str:ref>/decline", REVIEW, path="memories/{pending}/decline", body={}),
    _call("POST", "memories/<str:ref>/undo", REVIEW, path="memories/{decided}/undo", body={}),
    _call("GET", "proposals", REVIEW),
    _call("GET", "decisions", REVIEW),
    _call("POST", "memories/<str:ref>/archive", REVIEW, path="memories/{memory}/archive", body={}),
    _call("POST", "memories/<str:ref>/redact", REVIEW, path="memories/{memory}/redact", body={}),
    _call("GET", "conflicts", READ),
    _call("POST", "conflicts/<str:ref>/resolve", REVIEW, path="conflicts/{conflict}/resolve",
          body={"keep": "both"}),
    _call("GET", "entities", READ),
    _call("GET", "entities/<str:ref>", READ, path="entities/{entity}"),
    _call("DELETE", "entities/<str:ref>", WRITE, path="entities/{entity}"),
    _call("GET", "stats", READ),
    _call("GET", "export", ADMIN),
    _call("POST", "import", ADMIN, body={"cortex_export": 1}),
    _call("GET", "sessions", READ),
    _call("GET", "sessions/<path:session_id>", READ, path="sessions/{session}"),
    _call("DELETE", "sessions/<path:session_id>", WRITE, path="sessions/{session}", status=204),
    _call("GET", "context", READ, path="context?task=Zebulon+ledger"),
    _call("POST", "context", READ, body={"task": "Zebulon ledger"}),
    _call("POST", "context", READ, body={"task": "{task}", "token_budget": 300, "cursor": "{pack_cursor}"}),
    _call("GET", "query", READ, path="query?find=Zebulon+ledger"),
    _call("POST", "query", READ, body={"find": "Zebulon ledger"}),
    _call("POST", "query", READ, body={"find": "Zebulon", "k": 1, "cursor": "{query_cursor}"}),
    _call("GET", "expand", READ, path="expand?ref={memory}"),
    _call("GET", "expand", READ, path="expand?ref={memory}&direction=neighbors"),
    _call("GET", "expand", READ, path="expand?ref={capture}"),
    _call("GET", "expand", READ, path="expand?ref={query_cursor}&direction=more"),
    _call("GET", "receipts/<str:ref>", READ, path="receipts/{receipt}"),
    _call("GET", "receipts/<str:ref>/why-not/<str:memory>", READ, path="receipts/{receipt}/why-not/{memory}"),
    _call("GET", "receipts/<str:ref>/replay", READ, path="receipts/{receipt}/replay"),
    _call("GET", "pins/<str:ref>", READ, path="pins/{pin}"),
    _tool("get_context", task="Zebulon ledger"),
    _tool("query_memory", find="Zebulon ledger"),
    _tool("search", query="Zebulon ledger"),
    _tool("expand", ref="{memory}"),
    _tool("fetch", id="{memory}"),
    _tool("remember_this", content="Something new."),
    _tool("propose_memory", content="Something new."),
    _tool("supersede_memory", ref="{memory}", content="Something new."),
    _tool("forget_memory", ref="{memory}"),
    _call("GET", "tools/schema", None),
)  # fmt: skip


def name_of(call: Call) -> str:
    tool = f" {call.body['name']}" if call.body and "name" in call.body else ""
    return f"{call.route.method} {call.address}{tool}"


each_call = pytest.mark.parametrize("call", CALLS, ids=name_of)


@pytest.fixture
def alice():
    return api_of()


@pytest.fixture
def names(alice):
    """What Alice has: all of it in the project `a`, all of it about Zebulon."""
    told = [
        alice.remember(text, entities=[SECRET], project="a")
        for text in (
            "Zebulon keeps the blue ledger",
            "Zebulon's rate limit is 60 per minute",
            "Zebulon's rate limit is 600 per minute",
        )
    ]
    fill(alice, *(f"Zebulon wrote page {number} of the ledger" for number in range(12)), project="a")
    body = smp(alice, "Zebulon ledger", session_id="chat-of-alice", pin=True, token_budget=300)
    waiting = {"content": "Zebulon owes 5", "project": "a"}
    pending = alice.post("tools/call", {"name": "propose_memory", "arguments": waiting}).json()["result"][
        "ref"
    ]
    alice.post(f"memories/{told[2]['ref']}/approve")
    return {
        "memory": told[0]["ref"],
        "pending": pending,
        "decided": told[2]["ref"],
        "other": told[1]["ref"],
        "capture": told[0]["source_urls"][0].removeprefix("cortex-capture://"),
        "conflict": Conflict.objects.get(vault=alice.vault).ref,
        "entity": Entity.objects.get(vault=alice.vault, name=SECRET).ref,
        "session": "chat-of-alice",
        "receipt": body["receipt"]["id"],
        "pin": body["pin"]["id"],
        "task": "Zebulon ledger",
        "pack_cursor": smp_cursor(alice),
        "query_cursor": query(alice, find=SECRET, k=1)["cursor"],
    }


def smp_cursor(api: Api) -> str:
    """The cursor of the very request that the table continues."""
    response = api.post("context", {"task": "Zebulon ledger", "token_budget": 300})
    return str(response.json()["cursor"])


UNKNOWN = {
    "memory": "mem_000000000000",
    "other": "mem_000000000001",
    "pending": "mem_000000000002",
    "decided": "mem_000000000003",
    "capture": "cap_000000000000",
    "conflict": "con_000000000000",
    "entity": "ent_000000000000",
    "session": "chat-of-nobody",
    "receipt": "rcp_000000000000",
    "pin": "pin_000000000000",
}


def of_unknown(names: Mapping[str, str]) -> dict[str, str]:
    """The same names with nothing behind them; a cursor that nobody gave is no cursor, so those stay."""
    return {**names, **UNKNOWN}


# -- The table itself ------------------------------------------------------------------------------


def test_no_route_is_missing_from_the_table():
    assert {call.route for call in CALLS} == guarded_routes()


@each_call
def test_alice_passes_and_so_does_the_admins_scope_alone(alice, names, call):
    response = call.sent_by(alice, names)
    assert response.status_code == call.status, body_of(response)
    admin = call.sent_by(api_of(alice.vault, scopes=[ADMIN]), of_unknown(names))
    assert admin.status_code not in {401, 403}


# -- Nobody ----------------------------------------------------------------------------------------


def expired(alice: Api) -> Api:
    past = datetime(2026, 1, 1, tzinfo=UTC)
    return Api(make_token(alice.vault, scopes=ALL_SCOPES, expires_at=past)[1])


def revoked(alice: Api) -> Api:
    token, secret = make_token(alice.vault, scopes=ALL_SCOPES)
    token.revoke(at=datetime(2026, 1, 1, tzinfo=UTC))
    return Api(secret)


NOBODY: dict[str, Callable[[Api], Api]] = {
    "no token": lambda alice: Api(None),
    "an unknown token": lambda alice: Api("ctx_nobody-has-this-one"),
    "an expired token": expired,
    "a revoked token": revoked,
}


@each_call
def test_without_a_valid_token_or_the_scope_nobody_passes(alice, names, call):
    before = rows_of(alice)
    for caller in NOBODY.values():
        response = call.sent_by(caller(alice), names)
        assert error_of(response)["status"] == 401
    others = [REVIEW] if call.scope is None else [s for s in (READ, WRITE, REVIEW) if s != call.scope]
    response = call.sent_by(api_of(alice.vault, scopes=others), names)
    if call.scope is not None:
        assert error_of(response)["status"] == 403
    elif call.route.path == "tools/call":
        assert error_of(response)["status"] == 404
    else:
        assert response.json() == {"tools": []}
    assert_nonsense_is_refused(alice, names, call)
    assert rows_of(alice) == before


def assert_nonsense_is_refused(alice: Api, names: Mapping[str, str], call: Call) -> None:
    """See that a call with a parameter, or a field, that nobody knows is refused by name."""
    address = call.address.format(**names)
    joint = "&" if "?" in address else "?"
    body = None if call.body is None else filled(call.body, names)
    told = [alice.call(call.route.method, f"{address}{joint}nonsense=1", body)]
    if body is not None and call.route.path != "import":  # import judges line by line
        told.append(alice.call(call.route.method, address, {**body, "nonsense": 1}))
    assert [(error_of(one)["status"], blamed(one)) for one in told] == [(422, {"nonsense"})] * len(told)


# -- Other vaults, other projects --------------------------------------------------------------------


def bob(alice: Api) -> Api:
    return api_of(make_vault())


def carol(alice: Api) -> Api:
    return api_of(alice.vault, projects=["c"])


@each_call
def test_strangers_meet_nothing_of_alices(alice, names, call):
    before, hers = rows_of(alice), refs_of(alice)
    for caller, is_carol in ((bob(alice), False), (carol(alice), True)):
        response = call.sent_by(caller, names)
        assert SECRET not in without_echo(response)
        if call.names_a_thing:
            unknown = call.sent_by(caller, of_unknown(names))
            assert response.status_code == unknown.status_code == 404
            assert body_of(response) == body_of(unknown)
        elif call.scope is ADMIN and is_carol:
            assert response.status_code == 403
        else:
            assert response.status_code == call.status
            assert not hers & set(words_of(response))
    assert rows_of(alice) == before


def body_of(response: Any) -> bytes:
    """Return a whole body; what is streamed can be read again afterwards."""
    if not response.streaming:
        return bytes(response.content)
    content = b"".join(response.streaming_content)
    response.streaming_content = [content]
    return content


def without_echo(response: Any) -> str:
    """Return a body without the question that it repeats."""
    text = body_of(response).decode()
    for echo in ("Zebulon ledger", '"find":"Zebulon"'):
        text = text.replace(echo, "")
    return text


def words_of(response: Any) -> list[str]:
    return re.findall(r"\w+", body_of(response).decode())


def refs_of(api: Api) -> set[str]:
    return set(Memory.objects.filter(vault=api.vault).values_list("ref", flat=True))


def rows_of(api: Api) -> set[tuple[Any, ...]]:
    """What Alice has, as far as a stranger could change it."""
    fields = ("ref", "status", "superseded_by", "redacted_at", "occurrences", "content")
    return set(Memory.objects.filter(vault=api.vault, project="a").values_list(*fields))


# -- What a token is -------------------------------------------------------------------------------


def test_a_token_is_stored_as_a_digest_and_remembers_its_last_use(alice):
    secret = alice.headers["Authorization"].split()[1]
    token = AccessToken.objects.get(vault=alice.vault)
    assert secret not in {str(value) for value in vars(token).values()}
    assert token.last_used_at is None
    assert alice.get("stats").status_code == 200
    token.refresh_from_db()
    assert token.last_used_at is not None


def test_a_limited_token_sees_its_projects_and_what_is_shared(alice):
    shared, own, other = (
        alice.remember(f"Zebulon has a {thing}", project=project)["ref"]
        for thing, project in (("desk", ""), ("lamp", "ana"), ("boat", "ana2"))
    )
    seen = api_of(alice.vault, projects=["ana"])
    assert set(refs_in(query(seen, find=SECRET))) == {shared, own}
    assert set(refs_in(smp(seen, SECRET))) == {shared, own}
    assert other not in str(seen.get("memories").json())


def refs_in(body: Mapping[str, Any]) -> list[str]:
    return [item["ref"] for item in body["items"]]
