"""Reads beside a writer that holds the database."""

import logging
import sqlite3
import threading
import time

import pytest
from django.db import DatabaseError, OperationalError, connection

from contextpack.models import Receipt
from contextpack.recording import save_patiently
from memories.models import AccessToken
from memories.patience import PATIENCE_MS, Deferred, deferred, is_busy, short_patience
from tests.clients import api_of
from tests.factories import make_vault
from tests.wire.asking import fill, get, query, refs, smp

SOON = 1.0

only_on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="elsewhere nobody holds it all")


@pytest.fixture
def api(transactional_db):
    api = api_of()
    fill(api, "The table is of oak")
    return api


@pytest.fixture
def lock(api):
    """A write transaction of another connection; the test ends it by `rollback`."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()
    assert deferred.flush(timeout=10)


@only_on_sqlite
def test_a_pack_is_answered_at_once_and_its_receipt_follows(api, lock):
    began = time.monotonic()
    told = [smp(api, "oak") for _ in range(5)]
    assert time.monotonic() - began < SOON * 2
    assert all(refs(body) for body in told)
    assert Receipt.objects.filter(vault=api.vault).count() == 0
    lock.rollback()
    assert deferred.flush(timeout=10)
    for body in told:
        assert api.get(f"receipts/{body['receipt']['id']}").status_code == 200


@only_on_sqlite
@pytest.mark.parametrize("path", ["query", "memories", "expand", "receipts", "sessions", "entities", "stats"])
def test_every_read_is_answered_at_once(api, request, path):
    receipt, ref = smp(api, "oak")["receipt"]["id"], refs(smp(api, "oak"))[0]
    AccessToken.objects.update(last_used_at=None)
    request.getfixturevalue("lock")
    began = time.monotonic()
    if path == "query":
        assert query(api, find="oak")["items"]
    elif path == "expand":
        assert get(api, "expand", ref=ref).status_code == 200
    else:
        assert get(api, f"receipts/{receipt}" if path == "receipts" else path).status_code == 200
    assert time.monotonic() - began < SOON


@only_on_sqlite
def test_a_connection_is_as_patient_as_before_afterwards(transactional_db):
    def patience() -> int:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout")
            return int(cursor.fetchone()[0])

    usual = patience()
    with short_patience():
        assert patience() == PATIENCE_MS
    assert patience() == usual > PATIENCE_MS


@only_on_sqlite
def test_a_read_only_database_is_no_busy_one(transactional_db):
    receipt = Receipt(vault=make_vault(), actor="x", task="x", profile="x", budget_tokens=1, budget_used=1)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
        try:
            with pytest.raises(OperationalError) as told:
                save_patiently(receipt)
        finally:
            cursor.execute("PRAGMA query_only = OFF")
    assert not is_busy(told.value)
    assert deferred.is_idle


# -- The queue -----------------------------------------------------------------------------------


@pytest.fixture
def held():
    """A queue for two whose thread is kept at its first write until `held.go` is set."""
    line = Deferred(room=2)
    go, at_work = threading.Event(), threading.Event()

    def work() -> None:
        at_work.set()
        go.wait(10)

    line.add(work)
    assert at_work.wait(10)
    yield line, go
    go.set()
    assert line.flush(timeout=10)


def test_one_thread_writes_in_order(held):
    line, go = held
    written: list[tuple[int, str]] = []
    for number in range(2):
        assert line.add(lambda n=number: written.append((n, threading.current_thread().name)))
    assert not line.is_idle
    assert written == []
    go.set()
    assert line.flush(timeout=10)
    assert written == [(0, "deferred-writes"), (1, "deferred-writes")]


def test_a_full_queue_drops_and_says_so(held, caplog):
    line, _ = held
    assert [line.add(lambda: None) for _ in range(3)] == [True, True, False]
    assert "dropped" in caplog.text


def test_what_is_still_locked_at_the_end_is_said_to_be_lost(held, caplog):
    line, _ = held
    line.flush_at_exit(timeout=0.01)
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert (record.getMessage(), record.__dict__["lost"]) == (
        "deferred writes were lost: the database stayed locked",
        1,
    )


@pytest.mark.parametrize("error", [OperationalError, DatabaseError])
def test_a_write_that_fails_for_good_is_lost_and_the_next_is_not(error, caplog):
    line, written = Deferred(room=2), []

    def fail():
        raise error("disk full")

    line.add(fail)
    line.add(lambda: written.append("next"))
    assert line.flush(timeout=10)
    assert written == ["next"]
    assert "a deferred write failed" in caplog.text
    assert "disk full" not in caplog.text
