"""A server booted from source, on a free port, over a database that is thrown away afterwards."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from contextpack.demo.client import Client, ServerTrouble

HOST: Final = "127.0.0.1"
SOURCE_DIR: Final = Path(__file__).resolve().parents[2]
START_LIMIT_SECONDS: Final = 60.0
STOP_LIMIT_SECONDS: Final = 10.0
POLL_SECONDS: Final = 0.02

_TOKEN: Final = re.compile(r"\bctx_[\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server, and the token that it printed on its first start."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    port: int
    token: str
    seconds_to_ready: float

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def client(self) -> Client:
        return Client(host=HOST, port=self.port, token=self.token)

    def last_words(self) -> str:
        """Return the last line that the server wrote about itself, or nothing while it runs."""
        return "" if self.process.poll() is None else _last_line(self.folder)


@contextmanager
def throwaway_server(
    *, port: int | None = None, workers: int = 1, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Start a server, and end it and remove all that it wrote when the block is left.

    Args:
        port: None takes a free one.
        workers: processes; each has several threads.
        settings: CORTEX_* variables; those of the surrounding environment are not passed on.
    Raises: ServerTrouble where the port is taken, or the server does not become ready.
    """
    port = _free_port() if port is None else _unless_busy(port)
    folder = Path(tempfile.mkdtemp(prefix="cortex-"))
    try:
        process = _spawn(folder, port, workers, settings or {})
        try:
            yield _once_ready(process, folder, port)
        finally:
            _stop(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def end_on_terminate() -> None:
    """Let SIGTERM end this process as Ctrl-C does, so that what it started ends as well."""
    signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def throwaway_settings(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that works on the throw-away database in a folder."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CORTEX_")}
    own = {
        "CORTEX_VAR_DIR": str(folder),
        "CORTEX_DATABASE_URL": f"sqlite:///{folder}/cortex.sqlite3",
        "CORTEX_EMBEDDER": "hash",
        "CORTEX_LOG_LEVEL": "WARNING",
    }
    return {**inherited, **own, **settings}


def _spawn(folder: Path, port: int, workers: int, settings: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable,
        "manage.py",
        "serve",
        f"--host={HOST}",
        f"--port={port}",
        f"--workers={workers}",
    ]
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        return subprocess.Popen(
            command, cwd=SOURCE_DIR, env=throwaway_settings(folder, settings), stdout=out, stderr=err
        )


def _once_ready(process: "subprocess.Popen[bytes]", folder: Path, port: int) -> Server:
    started = time.monotonic()
    while not _answers(port):
        if process.poll() is not None:
            raise ServerTrouble(f"the server ended while it started: {_last_line(folder)}")
        if time.monotonic() - started > START_LIMIT_SECONDS:
            raise ServerTrouble(f"the server was not ready after {START_LIMIT_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)
    token = _TOKEN.search((folder / "stdout").read_text())
    if token is None:
        raise ServerTrouble("the server printed no token on its first start")
    return Server(
        process=process,
        folder=folder,
        port=port,
        token=token.group(),
        seconds_to_ready=time.monotonic() - started,
    )


def _answers(port: int) -> bool:
    client = Client(host=HOST, port=port)
    try:
        return client.get("/readyz", expect=None).status == 200
    except ServerTrouble:
        return False
    finally:
        client.close()


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _unless_busy(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ServerTrouble(f"port {port} is taken") from error
    return port


def _last_line(folder: Path) -> str:
    lines = (folder / "stderr").read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
