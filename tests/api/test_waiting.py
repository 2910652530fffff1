"""Writers that wait for SQLite's one writer leave threads to the readers."""

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing
from itertools import islice

import pytest
from django.db import OperationalError, connection

from contextpack.demo.client import Reply
from contextpack.demo.server import Server, throwaway_server
from cortex.api.waiting import SEATS, WaitingRoom
from cortex_client import Conversation, Cortex
from memories.models import Vault
from tests.clients import api_of
from tests.factories import make_vault

WORKERS = 2
CALLS = 40
SESSIONS = 4
AT_ONCE_SECONDS = 2.0
MCP = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


# -- A server as it runs ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def busy() -> Iterator[Server]:
    with throwaway_server(workers=WORKERS, settings={"CORTEX_THROTTLE": ""}) as running:
        with closing(running.client()) as client:
            client.post("/v1/memories", {"content": "The harbour has a bell"}, expect=201)
        yield running


def locked(server: Server) -> sqlite3.Connection:
    """Begin a write transaction, as somebody else's."""
    other = sqlite3.connect(server.folder / "cortex.sqlite3", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


def ask(server: Server, task: str, **asked: object) -> Reply:
    with closing(server.client()) as client:
        return client.post("/v1/context", {"task": task, "format": "smp", **asked}, expect=None)


def reads(server: Server) -> list[Callable[[], Reply]]:
    def get(path: str) -> Reply:
        with closing(server.client()) as client:
            return client.get(path)

    def post(path: str, body: object) -> Reply:
        with closing(server.client()) as client:
            return client.post(path, body)

    return [
        lambda: ask(server, "harbour bell"),
        lambda: post("/v1/query", {"find": "harbour"}),
        lambda: post("/mcp", MCP),
        lambda: get("/v1/memories"),
        lambda: get("/readyz"),
    ]


def slowest_of(calls: list[Callable[[], Reply]]) -> float:
    took = []
    for call in calls:
        began = time.monotonic()
        assert call().status == 200
        took.append(time.monotonic() - began)
    return max(took)


def test_reads_are_answered_while_forty_sessions_wait_for_a_held_writer(busy):
    with closing(locked(busy)) as lock, ThreadPoolExecutor(CALLS) as pool:
        asked: list[Future[Reply]] = [
            pool.submit(ask, busy, f"harbour bell {n}", session_id=f"chat-{n % SESSIONS}")
            for n in range(CALLS)
        ]
        assert slowest_of(reads(busy)) < AT_ONCE_SECONDS
        refused = [each.result() for each in islice(as_completed(asked), CALLS - WORKERS * SEATS)]
        assert {reply.status for reply in refused} == {503}
        assert {reply.headers["content-type"] for reply in refused} == {"application/problem+json"}
        assert all(int(reply.headers["retry-after"]) >= 1 for reply in refused)
        assert slowest_of(reads(busy)) < AT_ONCE_SECONDS, "those with a seat go on waiting"
        lock.rollback()
        replies = [each.result() for each in asked]
    assert {reply.status for reply in replies} == {200, 503}
    told = Counter(
        (f"chat-{n % SESSIONS}", int(reply.json()["working_memory"]["cursor"]))
        for n, reply in enumerate(replies)
        if reply.status == 200
    )
    assert SEATS <= told.total() <= WORKERS * SEATS
    with closing(busy.client()) as client:
        listed = client.get("/v1/sessions").json()["results"]
    reached = {
        each["session_id"]: int(each["cursor"]) for each in listed if each["session_id"].startswith("chat-")
    }
    assert told == Counter(
        (name, cursor) for name, last in reached.items() for cursor in range(1, last + 1)
    ), "each answer has a cursor of its own, and no refused call has one"


def test_forty_calls_at_once_on_one_session_are_all_answered_where_nobody_holds_the_writer(busy):
    with ThreadPoolExecutor(CALLS) as pool:
        calls = [pool.submit(ask, busy, f"bell {n}", session_id="one", model="claude") for n in range(CALLS)]
        replies = [each.result() for each in calls]
    assert {reply.status for reply in replies} == {200}
    told = [reply.json()["working_memory"] for reply in replies]
    assert sorted(int(each["cursor"]) for each in told) == list(range(1, CALLS + 1))
    assert sum(len(each["new"]) for each in told) == 1


def test_the_client_comes_back_until_the_writer_is_done(server):
    waits: list[float] = []
    with closing(locked(server)) as lock, ThreadPoolExecutor(SEATS + 1) as pool:

        def wait(seconds: float) -> None:
            waits.append(seconds)
            lock.rollback()

        asked = [pool.submit(ask, server, f"harbour {n}", session_id="others") for n in range(SEATS + 1)]
        assert next(as_completed(asked)).result().status == 503
        with Cortex(server.url, server.token, sleep=wait) as cortex:
            turn = Conversation(cortex, "patient").ask("harbour bell")
        assert sorted(each.result().status for each in asked) == [200] * SEATS + [503]
    assert turn.applied
    assert waits[0] == 1.0


# -- The room --------------------------------------------------------------------------------------

only_on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="elsewhere nobody holds it all")


@pytest.fixture
def held(transactional_db) -> Iterator[sqlite3.Connection]:
    vault = make_vault()
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()
    Vault.objects.filter(pk=vault.pk).delete()


def rename(room: WaitingRoom) -> None:
    with connection.execute_wrapper(room):
        Vault.objects.update(name="renamed")


@only_on_sqlite
def test_whoever_has_no_seat_leaves_once_nobody_gets_on(held):
    room = WaitingRoom(seats=0, stuck_seconds=0.2)
    began = time.monotonic()
    with pytest.raises(OperationalError, match="locked"):
        rename(room)
    assert 0.2 <= time.monotonic() - began < 1.0


@only_on_sqlite
def test_whoever_has_no_seat_is_let_in_while_the_others_get_on(held):
    room = WaitingRoom(seats=0, stuck_seconds=5.0)
    threading.Timer(0.3, held.rollback).start()
    rename(room)
    assert set(Vault.objects.values_list("name", flat=True)) == {"renamed"}


@only_on_sqlite
def test_the_room_gives_a_connection_its_own_patience_back(held):
    with pytest.raises(OperationalError, match="locked"):
        rename(WaitingRoom(seats=0, stuck_seconds=0.0))
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchall() == [(20_000,)]


@only_on_sqlite
def test_a_read_takes_no_seat(held):
    with connection.execute_wrapper(WaitingRoom(seats=0, stuck_seconds=0.0)):
        assert Vault.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_forty_writers_at_once_are_all_let_in():
    api = api_of()

    def write(number: int) -> int:
        try:
            return int(api_of(api.vault).post("memories", {"content": f"Crate {number}"}).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(CALLS) as pool:
        assert list(pool.map(write, range(CALLS))) == [201] * CALLS
