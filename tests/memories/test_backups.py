"""Backups: made while the server writes, sound, private and few; brought back without what was forgotten since."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from contextpack.demo.server import SOURCE_DIR, Server, throwaway_server, throwaway_settings
from memories.backups import SET_ASIDE, Unsound, back_up, check, prune, put_in_place
from tests.clients import api_of

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def manage(server: Server, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env=throwaway_settings(server.folder, {}),
        cwd=SOURCE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def contents(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as file:
        return [row[0] for row in file.execute("SELECT content FROM memories_memory ORDER BY content")]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "cortex.sqlite3"
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("CREATE TABLE memories_memory (content TEXT)")
        file.execute("INSERT INTO memories_memory VALUES ('Oak is hard')")
        file.commit()
    return path


@pytest.mark.engine_free
def test_a_running_server_is_backed_up_and_brought_back_without_what_was_forgotten_since():
    with throwaway_server(workers=1) as server:
        client = server.client()
        client.post("/v1/memories", {"content": "Zebulon keeps the ledger"}, expect=201)
        doomed = client.post("/v1/memories", {"content": "Quetzal keeps the spare key"}, expect=201).json()[
            "ref"
        ]
        hushed = client.post("/v1/memories", {"content": "Narwhal keeps the seal"}, expect=201).json()["ref"]
        written: list[int] = []
        done = threading.Event()

        def write() -> None:
            own = server.client()
            while not done.is_set():
                own.post("/v1/memories", {"content": f"Page {len(written)} of the log"}, expect=201)
                written.append(len(written))
            own.close()

        writer = threading.Thread(target=write)
        writer.start()
        told = manage(server, "backup")
        done.set()
        writer.join()
        assert told.returncode == 0, told.stderr
        assert "every page in order" in told.stdout
        (backup,) = (server.folder / "backups").iterdir()
        assert backup.stat().st_mode & 0o777 == 0o600
        assert {"Zebulon keeps the ledger", "Quetzal keeps the spare key"} <= set(contents(backup))

        client.call("DELETE", f"/v1/memories/{doomed}")
        client.post(f"/v1/memories/{hushed}/redact", {})
        client.post("/v1/memories", {"content": "Said after the backup"}, expect=201)
        client.close()
        refused = manage(server, "restore", str(backup))
        assert refused.returncode == 1
        assert "stop the server first" in refused.stderr

        server.process.terminate()
        server.process.wait(20)
        told = manage(server, "restore", str(backup))
        assert told.returncode == 0, told.stderr
        assert "2 memories that were withdrawn since went again" in told.stdout
        database = server.folder / "cortex.sqlite3"
        assert "Zebulon keeps the ledger" in contents(database)
        assert not {"Quetzal keeps the spare key", "Narwhal keeps the seal", "Said after the backup"} & set(
            contents(database)
        )
        bare = b"".join(
            path.read_bytes() for path in server.folder.glob("cortex.sqlite3*") if SET_ASIDE not in path.name
        )
        assert b"Quetzal" not in bare
        assert (server.folder / f"cortex.sqlite3{SET_ASIDE}").stat().st_mode & 0o777 == 0o600


class TestFiles:
    def test_a_backup_is_one_file_and_the_newest_stay(self, small, tmp_path):
        made = [back_up(small, tmp_path / "to", now=NOW + timedelta(hours=hour)) for hour in range(5)]
        gone = prune(tmp_path / "to", keep=2)
        assert (list(gone), sorted((tmp_path / "to").iterdir())) == (made[:3], made[3:])
        assert prune(tmp_path / "to", keep=9) == []

    def test_what_is_damaged_is_no_backup_and_is_not_restored(self, small, tmp_path):
        made = back_up(small, tmp_path / "to", now=NOW)
        raw = bytearray(made.read_bytes())
        raw[4_096:4_200] = b"\xff" * 104
        made.write_bytes(raw)
        with pytest.raises(Unsound, match=r"damaged|can be read"):
            check(made)
        (tmp_path / "note.txt").write_text("no database")
        with pytest.raises(Unsound, match="no database"):
            check(tmp_path / "note.txt")

    def test_a_database_of_another_program_is_refused(self, tmp_path):
        with closing(sqlite3.connect(tmp_path / "other.sqlite3")) as file:
            file.execute("CREATE TABLE notes (text TEXT)")
        with pytest.raises(Unsound, match="no database of Cortex"):
            check(tmp_path / "other.sqlite3")

    def test_a_copy_that_fails_leaves_nothing_behind(self, tmp_path):
        with pytest.raises(sqlite3.OperationalError):
            back_up(tmp_path / "nowhere.sqlite3", tmp_path / "to", now=NOW)
        assert list((tmp_path / "to").iterdir()) == []

    def test_a_broken_database_gives_way(self, small, tmp_path):
        made = back_up(small, tmp_path / "to", now=NOW)
        small.write_bytes(b"\xff" * 10_000)
        put_in_place(made, small)
        assert contents(small) == ["Oak is hard"]

    def test_one_that_is_open_does_not(self, small, tmp_path):
        made = back_up(small, tmp_path / "to", now=NOW)
        with closing(sqlite3.connect(small)) as reader:
            reader.execute("SELECT * FROM memories_memory").fetchall()
            with pytest.raises(Unsound, match="in use"):
                put_in_place(made, small)
        assert contents(small) == ["Oak is hard"]


only_on_postgres = pytest.mark.skipif(
    "connection.vendor != 'postgresql'", reason="SQLite has commands of its own"
)


@only_on_postgres
@pytest.mark.django_db
@pytest.mark.parametrize("name", [("backup",), ("restore", "x")])
def test_on_postgres_the_commands_point_to_its_own_tools(name):
    with pytest.raises(CommandError, match=r"docs/operations\.md"):
        call_command(*name)


@only_on_postgres
@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="pg_dump is not here")
@pytest.mark.django_db(transaction=True)
def test_the_recipe_for_postgres_brings_the_memories_back(tmp_path):
    api_of().remember("Zebulon keeps the ledger")
    told = connection.settings_dict
    place = [
        "--host",
        str(told["HOST"]),
        "--port",
        str(told["PORT"] or 5432),
        "--username",
        str(told["USER"]),
    ]
    copy = f"{told['NAME']}_restored"
    dump = str(tmp_path / "cortex.dump")
    run(["pg_dump", "--format=custom", f"--file={dump}", *place, str(told["NAME"])])
    run(["createdb", *place, copy])
    try:
        run(["pg_restore", "--exit-on-error", "--no-owner", f"--dbname={copy}", *place, dump])
        said = run(["psql", "--tuples-only", "--command=SELECT content FROM memories_memory", *place, copy])
        assert "Zebulon keeps the ledger" in said
    finally:
        run(["dropdb", *place, copy])


def run(command: list[str]) -> str:
    password = str(connection.settings_dict["PASSWORD"])
    ended = subprocess.run(
        command,
        env={**os.environ, "PGPASSWORD": password},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
