"""What a request costs in statements, and that each of them names its vault (ARCHITECTURE: One vault never meets another)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.core.kinds import Kind
from memories.models import Conflict
from tests.clients import Api, api_of
from tests.wire.asking import ask, expand, get, ok, pack, query, refs, smp, use
from tests.wire.corpora import TASK, make_corpus

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TENANT_TABLE = re.compile(r"\b(?:memories_|memory_sessions_|session_|contextpack_)\w+")
DIRECTORY = {"memories_vault", "memories_accesstoken"}
# Statements that an engine's own index needs, whose terms carry the vault themselves.
INDEX_TABLES = re.compile(r"memories_fulltext\w*")


@contextmanager
def counting() -> Iterator[list[str]]:
    """Collect the statements of a block, less what transactions and engines add on their own."""
    statements: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield statements
    own = ("SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "COMMIT", "PRAGMA", "SELECT pg_", "SELECT set_config")
    statements += [entry["sql"] for entry in captured if not entry["sql"].lstrip().startswith(own)]


def cost(api: Api, send: Any) -> int:
    """Return how many statements a call takes once its token's use has been noted."""
    assert send(api).status_code == 200
    with counting() as statements:
        response = send(api)
    assert response.status_code == 200, response.content
    return len(statements)


def vault_of(count: int) -> Api:
    api = api_of()
    make_corpus(api.vault, count)
    return api


CALLS = {
    "context": lambda api: ask(api, TASK, model="claude", token_budget=600),
    "context generic": lambda api: ask(api, TASK),
    "context narrowed": lambda api: ask(api, TASK, layers=["semantic"], project="x", as_of="2026-05-01"),
    "context in a session": lambda api: ask(api, TASK, model="claude", session_id="chat", token_budget=600),
    "context of new content": lambda api: ask(api, TASK, model="claude", session_id="news", delta="content"),
    "context pinned": lambda api: ask(api, TASK, model="claude", pin=True, token_budget=600),
    "query find": lambda api: api.post("query", {"find": TASK, "k": 20}),
    "query narrowed": lambda api: api.post("query", {"find": TASK, "layers": ["semantic"], "min_trust": 0.1}),
    "query ask": lambda api: api.post("query", {"ask": TASK}),
    "expand document": lambda api: expand(api, "mem_010000000001"),
    "expand neighbors": lambda api: expand(api, "mem_010000000001", "neighbors"),
    "tool search": lambda api: api.post("tools/call", {"name": "search", "arguments": {"query": TASK}}),
    "sessions": lambda api: api.get("sessions"),
}
MOST = {
    "context": 13, "context generic": 13, "context narrowed": 13, "context in a session": 17,
    "context of new content": 17, "context pinned": 15, "query find": 11, "query narrowed": 13, "query ask": 13,
    "expand document": 12, "expand neighbors": 8, "tool search": 13, "sessions": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_a_fixed_number_of_statements(name):
    few, many = vault_of(10), vault_of(300)
    costs = {cost(few, CALLS[name]), cost(many, CALLS[name])}
    assert len(costs) == 1, costs
    assert costs.pop() <= MOST[name]


def test_the_expanded_memory_is_there():
    assert ok(CALLS["expand document"](vault_of(10)))["document"]


def test_a_session_is_stepped_by_a_fixed_number_of_statements():
    api = vault_of(300)
    asked = {"model": "claude", "session_id": "chat"}
    costs = []
    for budget in (300, 900, 2_000, 4_000, 12_000):
        smp(api, TASK, **asked, token_budget=budget)
        with counting() as statements:
            smp(api, TASK, **asked, token_budget=budget)
        costs.append(len(statements))
    assert len(set(costs)) == 1, costs


# -- Every statement names its vault -------------------------------------------------------------------


def unnamed(statements: list[str]) -> list[str]:
    """Return the statements on tenant tables that do not say whose rows they mean."""
    return [sql for sql in statements if tenant_tables(sql) and "vault_id" not in sql]


def tenant_tables(sql: str) -> set[str]:
    return {
        table
        for table in TENANT_TABLE.findall(sql)
        if table not in DIRECTORY and not INDEX_TABLES.match(table)
    }


def everything(api: Api) -> None:
    """Make every kind of call once, writing and reading."""
    first = api.remember(
        "Ana leads the Atlas launch", entities=["Ana", "Atlas"], tags=["launch"], project="a"
    )
    second = api.remember("The rate limit is 60 per minute", source={"url": "https://example.org/limits"})
    third = api.remember("The rate limit is 600 per minute", kind=Kind.CLAIM.value)
    api.remember("The rate limit is 600 per minute")
    api.post("memories", {"content": "Never paint the barn", "kind": "negative"}, Idempotency_Key="k")
    api.post("memories", {"content": "Never paint the barn", "kind": "negative"}, Idempotency_Key="k")
    api.post("memories/bulk", {"memories": [{"content": f"Note number {number}"} for number in range(300)]})
    api.post("captures", {"content": "Bob: we decided on oak.\nAna: the barn stays red.", "title": "Minutes"})
    api.patch(f"memories/{first['ref']}", {"tags": ["a"], "entities": ["Ana", "Bob"], "confidence": 0.5})
    pending = use(api, "propose_memory", content="Ana may like tea")
    api.post(f"memories/{pending['ref']}/approve")
    new = api.post(
        f"memories/{second['ref']}/supersede", {"content": "The rate limit is 90 per minute"}
    ).json()
    api.post(f"memories/{third['ref']}/supersede", {"replacement": new["ref"]})
    api.remember("The gate opens at 9 o'clock")
    api.remember("The gate opens at 10 o'clock")
    for conflict in Conflict.objects.filter(vault_id=api.vault.pk if api.vault else "", resolved_at=None):
        api.post(f"conflicts/{conflict.ref}/resolve", {"keep": "both"})
    for fmt in ("json", "smp", "markdown"):
        ask(api, "rate limit of Atlas and Ana", format=fmt, model="claude", session_id="chat", pin=True)
    body = smp(api, "Note number", model="claude", token_budget=300, session_id="chat", delta="content")
    smp(api, "Note number", model="claude", token_budget=300, cursor=body["cursor"])
    smp(api, "oak", session_id="chat", since=1, dropped=refs(body))
    pack(
        api,
        "oak",
        project="a",
        layers=["semantic"],
        entities=["Ana"],
        as_of="2026-05-01",
        known_at="2026-05-02",
    )
    found = query(api, find="rate limit", valid_only=False, min_trust=0.1, entities=["Ana"], k=1, project="a")
    found = query(api, find="Note number", k=2, as_of="2026-07-01")
    expand(api, found["cursor"], "more")
    query(api, ask="rate limit", model="gpt")
    for direction in ("document", "neighbors"):
        expand(api, first["ref"], direction)
        expand(api, first["source_urls"][0].removeprefix("cortex-capture://"), direction)
    for name, arguments in (("search", {"query": "Ana"}), ("fetch", {"id": first["ref"]})):
        use(api, name, **arguments)
    told = api.post("context", {"task": "rate limit", "format": "smp", "pin": True}).json()
    api.get(f"receipts/{told['receipt']['id']}")
    api.get(f"receipts/{told['receipt']['id']}/why-not/{second['ref']}")
    api.get(f"pins/{told['pin']['id']}")
    for path in (
        "memories",
        "memories?q=rate&entity=Ana&tag=a&active=true",
        "entities",
        "conflicts",
        "stats",
        "sessions",
    ):
        api.get(path)
    entity = ok(get(api, "entities", q="Ana"))["results"][0]
    api.get(f"entities/{entity['id']}")
    api.get("sessions/chat")
    lines = b"".join(api.get("export").streaming_content)
    other = api_of()
    other.call("POST", "import", raw=lines, Content_Type="application/x-ndjson")
    api.post(f"memories/{new['ref']}/archive")
    api.post(f"memories/{first['ref']}/redact")
    api.delete(f"memories/{told['items'][0]['ref']}")
    api.remember("This runs out", expires_at="2026-06-02T00:00:00Z")
    api.delete("sessions/chat")


def test_every_statement_on_a_tenant_table_names_its_vault():
    api = api_of()
    with time_machine.travel(NOW), counting() as statements:
        everything(api)
    assert len(statements) > 400
    assert unnamed(statements) == []
    touched = {table for sql in statements for table in tenant_tables(sql)}
    assert touched >= {
        "memories_memory", "memories_capture", "memories_source", "memories_entity", "memories_alias",
        "memories_mention", "memories_supersession", "memories_conflict", "memories_tombstone",
        "memories_idempotencyrecord", "memories_searchdocument", "session_working_set",
        "memory_sessions_deltarecord", "contextpack_receipt", "contextpack_pin",
    }  # fmt: skip


def test_every_change_of_a_memory_draws_a_revision():
    api = api_of()
    with time_machine.travel(NOW), counting() as statements:
        everything(api)
    changes = [sql for sql in statements if re.match(r'UPDATE "memories_memory"', sql)]
    assert len(changes) > 5
    assert [sql for sql in changes if '"revision" = ' not in sql] == []


@pytest.mark.parametrize("command", ["sweep", "reindex"])
def test_upkeep_names_the_vault_that_it_works_on(command):
    api = api_of()
    with time_machine.travel(NOW):
        make_corpus(api.vault, 20)
        api.remember("This runs out", expires_at="2026-06-02T00:00:00Z")
        smp(api, TASK, session_id="chat", pin=True)
    with time_machine.travel(datetime(2030, 1, 1, tzinfo=UTC)), counting() as statements:
        call_command(command, stdout=StringIO())
    assert unnamed(statements) == []


def test_the_check_itself_sees_a_statement_without_a_vault():
    assert unnamed(['SELECT * FROM "memories_memory" WHERE "id" = 1']) != []
    assert unnamed(['DELETE FROM "contextpack_pin" WHERE "id" IN (1, 2)']) != []
    assert unnamed(['SELECT * FROM "memories_memory" WHERE "memories_memory"."vault_id" = 1']) == []
    assert unnamed(['UPDATE "memories_accesstoken" SET "name" = 1']) == []
