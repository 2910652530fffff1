"""What is said of a database that gives no answer: busy, away, not migrated, broken."""

import sqlite3
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import InterfaceError, OperationalError, ProgrammingError, connection
from django.test import Client

from cortex.api.databases import AWAY, BROKEN, BUSY, MISFIT, said_of, trouble_of
from tests.clients import api_of
from tests.factories import make_memory, make_vault


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def of_sqlite(code: int, words: str = "words") -> Any:
    cause = sqlite3.OperationalError(words)
    cause.sqlite_errorcode = code
    return caused(OperationalError(words), cause)


def of_postgres(kind: type[Exception], state: str | None) -> Exception:
    cause = Exception("words")
    cause.sqlstate = state  # type: ignore[attr-defined]
    return caused(kind("words"), cause)


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (of_sqlite(sqlite3.SQLITE_BUSY), BUSY),
        (of_sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT), BUSY),
        (of_sqlite(sqlite3.SQLITE_LOCKED), BUSY),
        (of_sqlite(sqlite3.SQLITE_ERROR, "no such table: memories_memory"), MISFIT),
        (of_sqlite(sqlite3.SQLITE_ERROR, "no such column: m.thread"), MISFIT),
        (of_sqlite(sqlite3.SQLITE_ERROR, "table memories_memory has no column named thread"), MISFIT),
        (of_sqlite(sqlite3.SQLITE_FULL), BROKEN),
        (of_sqlite(sqlite3.SQLITE_READONLY), BROKEN),
        (of_postgres(OperationalError, None), AWAY),
        (of_postgres(OperationalError, "08006"), AWAY),
        (of_postgres(OperationalError, "57P03"), AWAY),
        (of_postgres(OperationalError, "40P01"), AWAY),
        (of_postgres(OperationalError, "53100"), BROKEN),
        (of_postgres(ProgrammingError, "42P01"), MISFIT),
        (of_postgres(ProgrammingError, "42703"), MISFIT),
        (InterfaceError("the connection is closed"), AWAY),
        (of_postgres(ProgrammingError, "42601"), None),
        (ValueError("no database"), None),
    ],
)
def test_an_error_means_one_trouble(error, trouble):
    assert trouble_of(error) is trouble


def test_an_operator_is_told_in_one_line():
    assert "manage.py migrate" in said_of(of_sqlite(1, "no such table: x"))
    assert "\n" not in said_of(OperationalError("a\nb"))


@pytest.mark.django_db
class TestMisfit:
    @pytest.fixture(autouse=True)
    def _only_sqlite(self):
        if connection.vendor != "sqlite":
            pytest.skip("PostgreSQL keeps its index beside its rows")

    def test_a_missing_index_is_503_and_names_the_way_out(self, caplog):
        api = api_of()
        api.remember("Oak is hard")
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE memories_fulltext")
        response = api.get("query?find=oak")
        assert response.status_code == 503
        assert "manage.py migrate" in response.json()["detail"]
        assert "Retry-After" not in response
        assert "SELECT" not in response.content.decode()
        assert "cannot be used" in caplog.text

    def test_readiness_notices_a_missing_index(self):
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE memories_fulltext")
        response = Client().get("/readyz")
        assert response.status_code == 503
        assert response.json()["indexes"].startswith("failed")

    def test_readiness_notices_a_missing_table(self):
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE memories_idempotencyrecord")
        response = Client().get("/readyz")
        assert response.status_code == 503
        assert response.json()["database"] == "without memories_idempotencyrecord"

    def test_readiness_notices_a_database_of_a_newer_version(self):
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES ('memories', '9999_later', '2030-01-01')"
            )
        response = Client().get("/readyz")
        assert response.status_code == 503
        assert response.json()["migrations"] == "1 of a newer version"

    @pytest.mark.parametrize("command", ["sweep", "reindex"])
    def test_a_command_ends_in_one_line(self, command):
        make_memory(index=False)
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE memories_idempotencyrecord")
            cursor.execute("DROP TABLE memories_searchdocument")
        with pytest.raises(CommandError, match=r"manage\.py migrate"):
            call_command(command, stdout=StringIO(), stderr=StringIO())


@pytest.mark.django_db
def test_a_sweep_tells_only_of_vaults_where_something_went():
    full, _ = make_vault(), make_vault()
    make_memory(full, content="Over", expires_at="2020-01-01T00:00:00Z")
    make_vault()
    told = StringIO()
    call_command("sweep", stdout=told)
    lines = told.getvalue().splitlines()
    assert lines == [f"{full.slug}: 1 expired memories", "3 vaults swept: 1 expired memories"]
