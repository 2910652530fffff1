"""Bodies as they come over a real connection: stalled, in chunks, too large, cut off."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import quote

import pytest

from contextpack.demo.server import HOST, Server
from contextpack.management.commands.serve import THREADS
from cortex.worker import BODY_SECONDS, LONGEST_REQUEST_LINE, ClientSocket

MIB = 1024 * 1024


def send_to(
    server: Server, path: str, *lines: str, body: bytes = b"", token: str | None = None
) -> socket.socket:
    head = [
        f"POST /v1/{path} HTTP/1.1",
        f"Host: {HOST}",
        f"Authorization: Bearer {server.token if token is None else token}",
        "Content-Type: application/json",
        *lines,
    ]
    connection = socket.create_connection((HOST, server.port), timeout=20)
    connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
    return connection


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one answer, and close."""
    with connection, connection.makefile("rb") as stream:
        status = int(stream.readline().split()[1])
        headers = {}
        while line := stream.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        return status, headers, stream.read(int(headers["content-length"]))


def refused(connection: socket.socket) -> int:
    status, headers, body = answer_of(connection)
    assert headers["content-type"] == "application/problem+json"
    assert json.loads(body)["status"] == status
    return status


def status_of(server: Server, path: str) -> int:
    with closing(server.client()) as client:
        return client.get(path).status


def in_chunks(body: bytes, size: int) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [*parts, b""])


class TestStalled:
    def test_bodies_that_never_come_give_every_thread_back(self, server):
        waiting = [send_to(server, "memories", "Content-Length: 100") for _ in range(THREADS)]
        started = time.monotonic()
        try:
            assert status_of(server, "/v1/stats") == 200
            assert time.monotonic() - started < 2 * BODY_SECONDS
            status, headers, body = answer_of(waiting[0])
            assert (status, headers["content-type"]) == (408, "application/problem+json")
            assert headers["connection"] == "close"
            assert "in time" in json.loads(body)["detail"]
        finally:
            for connection in waiting:
                connection.close()

    def test_silent_connections_hold_no_thread(self, server):
        silent = [socket.create_connection((HOST, server.port)) for _ in range(4 * THREADS)]
        started = time.monotonic()
        try:
            assert status_of(server, "/healthz") == 200
            assert time.monotonic() - started < 3
        finally:
            for connection in silent:
                connection.close()

    def test_a_stranger_is_not_waited_for(self, server):
        started = time.monotonic()
        assert refused(send_to(server, "memories", "Content-Length: 100", token="nobody")) == 401
        assert time.monotonic() - started < BODY_SECONDS / 2

    def test_an_unfinished_head_is_given_up(self, server):
        with socket.create_connection((HOST, server.port), timeout=20) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
            assert connection.recv(100) == b""


class TestSize:
    @pytest.mark.parametrize("path", ["memories", "memories/bulk", "tools/call", "import"])
    @pytest.mark.parametrize("length", ["99999999999", "9" * 30])
    def test_a_stated_giant_is_413_at_once(self, server, path, length):
        started = time.monotonic()
        assert refused(send_to(server, path, f"Content-Length: {length}")) == 413
        assert time.monotonic() - started < BODY_SECONDS / 2

    def test_the_limit_of_a_call_is_decided_from_the_length(self, server):
        started = time.monotonic()
        assert refused(send_to(server, "memories", f"Content-Length: {2 * MIB + 1}")) == 413
        assert time.monotonic() - started < BODY_SECONDS / 2


class TestChunks:
    def test_a_body_in_chunks_is_read_like_any_other(self, server):
        body = in_chunks(json.dumps({"content": "Chunks are read"}).encode(), 7)
        status, _, told = answer_of(send_to(server, "memories", "Transfer-Encoding: chunked", body=body))
        assert status in {200, 201}
        assert json.loads(told)["content"] == "Chunks are read"

    def test_too_many_chunks_are_413(self, server):
        body = in_chunks(b'{"content": "' + b"x" * 2 * MIB + b'"}', 64 * 1024)
        assert refused(send_to(server, "memories", "Transfer-Encoding: chunked", body=body)) == 413

    def test_malformed_chunks_are_400(self, server):
        assert refused(send_to(server, "memories", "Transfer-Encoding: chunked", body=b"zz\r\n{}\r\n")) == 400

    def test_chunks_that_never_end_are_408(self, server):
        assert refused(send_to(server, "memories", "Transfer-Encoding: chunked", body=b"5\r\n{")) == 408


def test_a_body_that_is_cut_off_is_400(server):
    connection = send_to(server, "memories", "Content-Length: 100", body=b'{"content"')
    connection.shutdown(socket.SHUT_WR)
    assert refused(connection) == 400


def test_many_callers_are_served_at_once(server):
    def ask(number):
        with closing(server.client()) as client:
            return client.post("/v1/context", {"task": f"chunks {number}"}).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(16))) == {200}


class TestClientSocket:
    @pytest.fixture
    def pair(self) -> Iterator[tuple[ClientSocket, socket.socket]]:
        ours, theirs = socket.socketpair()
        taken = ClientSocket.taking(ours)
        with taken, theirs:
            yield taken, theirs

    def test_it_receives_what_comes(self, pair):
        ours, theirs = pair
        ours.allow(1)
        theirs.sendall(b"here")
        assert ours.recv(10) == b"here"
        assert ours.gettimeout() is None

    def test_it_gives_up_in_silence(self, pair):
        ours, _ = pair
        ours.allow(0.01)
        with pytest.raises(TimeoutError):
            ours.recv(10)
        assert ours.gettimeout() is None

    def test_what_came_buys_time_but_no_pause(self, pair):
        ours, theirs = pair
        ours.allow(0.05)
        theirs.sendall(b"x" * 64 * 1024)
        before = ours.ends_at
        received = 0
        while received < 64 * 1024:
            received += len(ours.recv(1024 * 1024))
        assert ours.ends_at == pytest.approx(before + received / (32 * 1024))
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            ours.recv(1)
        assert time.monotonic() - started < 0.5

    def test_it_does_not_wait_where_nobody_waits(self, pair):
        ours, _ = pair
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            ours.recv(10)

    def test_it_gives_up_where_nobody_receives(self, pair, monkeypatch):
        monkeypatch.setattr("cortex.worker.SEND_SECONDS", 0.05)
        ours, _ = pair
        with pytest.raises(TimeoutError):
            ours.sendall(b"x" * 16 * MIB)
        assert ours.gettimeout() is None


def raw(server: Server, head: bytes) -> socket.socket:
    connection = socket.create_connection((HOST, server.port), timeout=20)
    connection.sendall(head)
    return connection


def address_of(server: Server, task: str) -> bytes:
    line = f"GET /v1/context?task={quote(task, safe='')} HTTP/1.1"
    return f"{line}\r\nHost: {HOST}\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode()


class TestHeads:
    @pytest.mark.parametrize("letter", ["a", "ä", "木", "🪵"])
    def test_the_longest_task_of_any_script_fits_an_address(self, server, letter):
        status, headers, _ = answer_of(raw(server, address_of(server, letter * 8_000)))
        assert (status, headers["content-type"]) == (200, "application/json")

    def test_a_task_beyond_its_limit_is_refused_by_its_rule(self, server):
        assert refused(raw(server, address_of(server, "木" * 8_001))) == 422

    def test_a_second_long_address_fits_on_the_same_connection(self, server):
        connection = raw(server, address_of(server, "a" * 8_000))
        with connection.makefile("rb") as stream:
            assert b" 200 " in stream.readline()
            length = next(
                int(line.split()[1]) for line in stream if line.lower().startswith(b"content-length")
            )
            while stream.readline().strip():
                pass
            stream.read(length)
        connection.sendall(address_of(server, "b" * 8_000))
        assert answer_of(connection)[0] == 200

    @pytest.mark.parametrize(
        ("head", "status"),
        [
            (b"GET /" + b"a" * LONGEST_REQUEST_LINE + b" HTTP/1.1\r\n", 414),
            (b"GET / HTTP/1.1\r\nHost: x\r\nCookie: " + b"a" * 9_000 + b"\r\n\r\n", 431),
            (b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n", 431),
            (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 101 + b"\r\n", 431),
            (b"POST /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n", 400),
            (b"POST /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: x\r\nno header\r\n\r\n", 400),
            (b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", 400),
            (b"get / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            (b"hello\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: rot13\r\n\r\n", 501),
            (b"POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n", 417),
        ],
        ids=lambda value: str(value)[:24],
    )
    def test_what_is_no_request_is_refused_as_a_problem(self, server, head, status):
        assert refused(raw(server, head)) == status

    def test_what_was_sent_is_in_no_log(self, server):
        assert refused(raw(server, b"GET / HTTP/1.1\r\nAuthorization ctx_secret\r\n\r\n")) == 400
        assert refused(raw(server, b"GET /AKIAIOSFODNN7EXAMPLE\x7f HTTP/1.1\r\n\r\n")) == 400
        log = (server.folder / "stderr").read_text()
        assert "ctx_secret" not in log
        assert "AKIAIOSFODNN7EXAMPLE" not in log
