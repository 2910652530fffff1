"""The bytes of a forgotten text leave the files of the database, its log included."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction

from memories.search import fulltext
from memories.search.scrubbing import scrub_after_commit
from tests.clients import api_of

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "Zebulon keeps the blueish ledger under the stairs"
TRACES = (b"zebulon", b"blueish")


@pytest.fixture(autouse=True)
def _on_sqlite():
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL does this by itself, when it vacuums")


def files_with_traces():
    """The files of the database that hold a word of the secret, in whatever case."""
    name = Path(str(connection.settings_dict["NAME"]))
    files = [file for file in (name, name.with_name(f"{name.name}-wal")) if file.exists()]
    assert files
    held = {file.name: file.read_bytes().lower() for file in files}
    return [name for name, held_bytes in held.items() if any(trace in held_bytes for trace in TRACES)]


@pytest.mark.parametrize("verb", ["forget", "redact"])
def test_after_forgetting_no_file_of_the_database_has_the_text(verb):
    api = api_of()
    api.post("memories/bulk", {"memories": [{"content": f"Fact {n} about the office"} for n in range(200)]})
    ref = api.post(
        "memories", {"content": SECRET, "summary": SECRET, "tags": ["Zebulon"]}, Idempotency_Key="k"
    ).json()["ref"]
    captured = api.post("captures", {"content": f"{SECRET}. The office moved to Lisbon."}).json()
    assert files_with_traces()
    for gone in (ref, captured["memories"][0]["ref"]):
        done = api.delete(f"memories/{gone}") if verb == "forget" else api.post(f"memories/{gone}/redact")
        assert done.status_code == 200
    assert files_with_traces() == []


def test_a_sweep_clears_what_had_to_wait(monkeypatch):
    api = api_of()
    ref = api.remember(SECRET)["ref"]
    monkeypatch.setattr("memories.search.scrubbing._scrub_a_little", lambda: None)
    api.delete(f"memories/{ref}")
    assert files_with_traces()
    call_command("sweep", stdout=StringIO())
    assert files_with_traces() == []


def test_a_scrubbing_that_fails_fails_no_call(monkeypatch):
    def busy(**_):
        raise OperationalError("database is locked")

    monkeypatch.setattr(fulltext, "compact", busy)
    api = api_of()
    ref = api.remember(SECRET)["ref"]
    assert api.delete(f"memories/{ref}").status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchall() == [(20_000,)]


def test_nothing_is_scrubbed_for_a_transaction_that_is_undone(monkeypatch):
    called = []
    monkeypatch.setattr(fulltext, "compact", lambda **_: called.append(True))
    with transaction.atomic():
        scrub_after_commit()
        transaction.set_rollback(True)
    assert called == []
