"""Many at once: nothing is lost, nobody waits behind a writer, a session stays one (L1, L2, L6)."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from cortex_client import Conversation, Cortex
from memories.models import Memory, Vault
from memories.patience import deferred
from tests.clients import Api, api_of
from tests.sessions.worlds import DjangoTransport
from tests.wire.asking import ask, fill, new_refs, ok

pytestmark = pytest.mark.django_db(transaction=True)

TOPICS = ("bell", "flag", "crane", "ladder", "lamp")
AT_ONCE_SECONDS = (
    5.0  # for a machine that is busy with other tests; whoever waits for the writer waits longer
)


def twin_of(api: Api) -> Api:
    """Return another client of the same token, for another thread."""
    return Api(api.headers["Authorization"].split()[1], api.vault)


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make all calls at the same moment, each in a thread of its own; returns their answers in order."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            start.wait(10)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.fixture
def api() -> Iterator[Api]:
    yield api_of()
    assert deferred.flush(timeout=10)


class TestManyWritersAndReaders:
    """L1: a write is never lost, and nobody gets a 500, however many there are."""

    def test_every_write_is_kept_and_every_read_answered(self, api):
        fill(api, *(f"The harbour has a {topic}" for topic in TOPICS))

        def write(number: int) -> list[int]:
            own = twin_of(api)
            written = [{"content": f"Boat {number} brought crate {crate}"} for crate in range(4)]
            return [own.post("memories", body).status_code for body in written]

        def read(number: int) -> list[int]:
            own, session = twin_of(api), {"session_id": f"reader-{number % 3}"} if number % 2 else {}
            return [ask(own, f"harbour {topic}", **session).status_code for topic in TOPICS[:3]]

        statuses = at_once([partial(each, n) for each in (write, read) for n in range(8)])
        assert [set(told) for told in statuses] == [{201}] * 8 + [{200}] * 8
        assert Memory.objects.filter(vault=api.vault, content__startswith="Boat").count() == 32
        assert ok(api.get("stats"))["memories"] == 37


class TestAHeldWriteTransaction:
    """L2: reads take no write lock, so they do not wait for whoever holds it."""

    @pytest.fixture
    def held(self, api: Api) -> Iterator[None]:
        fill(api, *(f"The harbour has a {topic}" for topic in TOPICS))
        holding, release = threading.Event(), threading.Event()

        def hold() -> None:
            with transaction.atomic():
                Vault.objects.filter(pk=api.vault.pk).update(name="held")
                holding.set()
                release.wait(30)
            connection.close()

        thread = threading.Thread(target=hold)
        thread.start()
        assert holding.wait(10)
        yield
        release.set()
        thread.join()

    @pytest.mark.usefixtures("held")
    @pytest.mark.parametrize(
        "read",
        [
            lambda api: ask(api, "harbour bell"),
            lambda api: ask(api, "harbour bell", format="smp", model="claude"),
            lambda api: api.post("query", {"find": "harbour"}),
            lambda api: api.post("tools/call", {"name": "search", "arguments": {"query": "harbour"}}),
            lambda api: api.get("memories"),
            lambda api: api.get("tools/schema"),
        ],
        ids=["context", "envelope", "query", "search", "list", "tools"],
    )
    def test_reads_answer_at_once(self, api, read):
        began = time.monotonic()
        answers = at_once([lambda: read(twin_of(api))] * 3)
        assert time.monotonic() - began < AT_ONCE_SECONDS
        assert [answer.status_code for answer in answers] == [200] * 3

    @pytest.mark.skipif(
        "connection.vendor == 'sqlite'", reason="SQLite has one writer: a session waits for it"
    )
    @pytest.mark.usefixtures("held")
    def test_a_session_does_not_wait_either(self, api):
        assert ask(api, "harbour bell", session_id="chat").status_code == 200


class TestOneSessionAtOnce:
    """L6: twenty calls on one session are as good as twenty in a row."""

    @pytest.mark.parametrize("mode", ["ids", "content"])
    def test_every_item_is_announced_exactly_once(self, api, mode):
        made = set(fill(api, *(f"The harbour has a {topic}" for topic in TOPICS)))
        asked = {"format": "smp", "model": "claude", "session_id": "chat", "delta": mode}
        answers = at_once(
            [partial(ask, twin_of(api), f"harbour {TOPICS[n % 5]}", **asked) for n in range(20)]
        )
        assert {answer.status_code for answer in answers} == {200}
        bodies = [answer.json() for answer in answers]
        assert sorted(int(body["working_memory"]["cursor"]) for body in bodies) == list(range(1, 21))
        assert sorted(ref for body in bodies for ref in new_refs(body)) == sorted(made)
        assert set(ok(api.get("sessions/chat"))["known"]) == made

    def test_a_client_that_says_what_it_applied_is_told_all_of_it_each_time(self, api):
        made = set(fill(api, *(f"The harbour has a {topic}" for topic in TOPICS)))
        chat = Conversation(Cortex(transport=DjangoTransport(api)), "chat", model="claude")
        turns = at_once([partial(chat.ask, f"harbour {TOPICS[n % 5]}") for n in range(20)])
        assert {frozenset(memory.ref for memory in turn.pack) for turn in turns} == {frozenset(made)}
        assert any(turn.applied for turn in turns)
        last = chat.ask("harbour")
        assert last.new == ()
        assert set(chat.buffer.held) == made == set(ok(api.get("sessions/chat"))["known"])
