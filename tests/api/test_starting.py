"""A first start and a wrong setting: one clear line, and no half-written key."""

import os
import socket
import subprocess
import sys
import threading

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError

from contextpack.demo.server import SOURCE_DIR
from contextpack.management.commands.serve import require_free
from cortex import env


def manage(tmp_path, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=SOURCE_DIR,
        env=os.environ | {"CORTEX_VAR_DIR": str(tmp_path)} | settings,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class TestReaders:
    @pytest.mark.parametrize("raw", ["--5", "²", "5.0", "five", "", "0", "65536", "9" * 40, "- 5"])
    def test_what_is_no_number_is_refused(self, monkeypatch, raw):
        monkeypatch.setenv("CORTEX_X", raw)
        with pytest.raises(ImproperlyConfigured, match="CORTEX_X"):
            env.number("CORTEX_X", 5, least=1, most=65_535)

    @pytest.mark.parametrize(
        "raw", ["foo", "600", "0/min", "-5/min", "600/", "/min", "6/year", "1.5/s", "6/m/s"]
    )
    def test_what_is_no_rate_is_refused(self, monkeypatch, raw):
        monkeypatch.setenv("CORTEX_X", raw)
        with pytest.raises(ImproperlyConfigured, match="600/min"):
            env.rate("CORTEX_X", "")

    @pytest.mark.parametrize("raw", ["600/min", "5/s", "1/day", "90/hour", ""])
    def test_a_rate_is_taken(self, monkeypatch, raw):
        monkeypatch.setenv("CORTEX_X", raw)
        assert env.rate("CORTEX_X", "600/min") == raw

    @pytest.mark.parametrize(
        "raw", ["foo", "mysql://u:secret@h/x", "postgres://u:secret@h:port/x", "://", "sqlite", "postgres:"]
    )
    def test_what_is_no_database_is_refused_without_its_password(self, monkeypatch, raw):
        monkeypatch.setenv("CORTEX_X", raw)
        with pytest.raises(ImproperlyConfigured) as refused:
            env.database("CORTEX_X", "")
        assert "secret" not in str(refused.value)


class TestSecretKey:
    def test_of_many_first_starts_all_have_the_same_key(self, tmp_path):
        gate, keys = threading.Barrier(8), []

        def start() -> None:
            gate.wait()
            keys.append(env.secret_key("CORTEX_NONE", tmp_path / "secret_key", production=False))

        threads = [threading.Thread(target=start) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(keys) == 8
        assert len(set(keys)) == 1
        assert len(keys[0]) >= 64
        assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]
        assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600

    def test_an_empty_key_is_refused(self, tmp_path):
        (tmp_path / "secret_key").touch()
        with pytest.raises(ImproperlyConfigured, match="is empty"):
            env.secret_key("CORTEX_NONE", tmp_path / "secret_key", production=False)

    def test_a_folder_that_takes_no_key_is_named(self, tmp_path):
        with pytest.raises(ImproperlyConfigured, match="nowhere"):
            env.secret_key("CORTEX_NONE", tmp_path / "nowhere" / "secret_key", production=False)


class TestLastWords:
    def test_a_wrong_setting_is_one_line(self, tmp_path):
        ended = manage(tmp_path, "serve", CORTEX_THROTTLE="foo")
        assert ended.returncode == 1
        assert ended.stderr.splitlines() == [
            "Cortex cannot start: CORTEX_THROTTLE='foo' is no rate; write 600/min (or /s, /hour, /day), "
            "or nothing for no limit"
        ]

    def test_a_database_that_cannot_be_opened_is_one_line(self, tmp_path):
        ended = manage(tmp_path, "serve", "--port=0", CORTEX_DATABASE_URL="sqlite:////nowhere/x.sqlite3")
        assert ended.returncode == 1
        assert len(ended.stderr.splitlines()) == 1
        assert "unable to open database file" in ended.stderr

    def test_a_sweep_before_the_first_migration_is_one_line(self, tmp_path):
        ended = manage(tmp_path, "sweep", CORTEX_DATABASE_URL=f"sqlite:///{tmp_path}/new.sqlite3")
        assert ended.returncode == 1
        assert len(ended.stderr.splitlines()) == 1
        assert "manage.py migrate" in ended.stderr

    def test_a_taken_port_is_named(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with pytest.raises(CommandError, match=f"127.0.0.1:{port}: Address already in use"):
                require_free("127.0.0.1", port)

    def test_a_port_that_is_none_is_refused(self):
        with pytest.raises(CommandError, match="from 1 to 65535"):
            require_free("127.0.0.1", 99_999)
