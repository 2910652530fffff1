"""Migrations of large tables, on an SQLite file of their own: columns are added, no table is written anew."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from contextpack.demo.server import SOURCE_DIR

ROW = (
    "INSERT INTO memories_capture (id, ref, content, content_hash, title, url, source, project, author, captured_at,"
    " vault_id) VALUES (1, 'cap_1', 'kept', '', '', '', '', '', 'user', '2026-01-01', 'v')"
)


def manage(directory: Path, *arguments: str) -> str:
    places = {
        "CORTEX_VAR_DIR": str(directory),
        "CORTEX_DATABASE_URL": f"sqlite:///{directory / 'file.sqlite3'}",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=SOURCE_DIR,
        env=os.environ | places,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_captures_get_their_columns_without_being_copied_and_lose_them_again(tmp_path):
    manage(tmp_path, "migrate", "memories", "0006", "--skip-checks", "-v0")
    with sqlite3.connect(tmp_path / "file.sqlite3") as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute(
            "INSERT INTO memories_vault (id, slug, name, language, created_at) VALUES ('v', 'v', '', 'english', '2026-01-01')"
        )
        database.execute(ROW)
    statements = manage(tmp_path, "sqlmigrate", "memories", "0007")
    assert statements.count("ADD COLUMN") == 2
    assert "CREATE TABLE" not in statements
    manage(tmp_path, "migrate", "memories", "0007", "--skip-checks", "-v0")
    with sqlite3.connect(tmp_path / "file.sqlite3") as database:
        rows = database.execute("SELECT content, awaits_extraction, extraction_tries FROM memories_capture")
        assert rows.fetchall() == [("kept", 0, 0)]
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            database.execute("UPDATE memories_capture SET extraction_tries = -1")
    manage(tmp_path, "migrate", "memories", "0006", "--skip-checks", "-v0")
    with sqlite3.connect(tmp_path / "file.sqlite3") as database:
        assert database.execute("SELECT content FROM memories_capture").fetchall() == [("kept",)]
