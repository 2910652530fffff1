"""HTTP as it goes wrong: cut answers, late ones, connections that the other side closed."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from cortex_client import Call, HttpTransport, NoAnswer

GET = Call(method="GET", path="/v1/stats")
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
CUT = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"

Deed = Callable[[socket.socket], None]


@contextmanager
def peer(*deeds: Deed) -> Iterator[str]:
    """Listen, and do one deed for each connection, in order; the last one that is given up ends it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(5)

        def serve() -> None:
            for deed in deeds:
                connection, _ = listening.accept()
                with connection:
                    connection.settimeout(5)
                    deed(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            thread.join()


def says(*answers: bytes) -> Deed:
    """Answer that many requests on one connection, then close it."""

    def deed(connection: socket.socket) -> None:
        for answer in answers:
            assert connection.recv(65_536).startswith(b"GET")
            connection.sendall(answer)

    return deed


def silent_until(hung_up: threading.Event) -> Deed:
    """Take a request and answer it too late."""

    def deed(connection: socket.socket) -> None:
        connection.recv(65_536)
        hung_up.wait(5)
        connection.sendall(OK.replace(b"{}", b"[]"))

    return deed


@contextmanager
def transport(url: str, **options: float) -> Iterator[HttpTransport]:
    wire = HttpTransport(url, **options)
    try:
        yield wire
    finally:
        wire.close()


def test_a_connection_is_kept_for_the_next_call():
    with peer(says(OK, OK)) as url, transport(url) as wire:
        assert [wire.send(GET).body for _ in range(2)] == [b"{}"] * 2


def test_a_connection_that_was_closed_meanwhile_is_opened_again():
    with peer(says(OK), says(OK)) as url, transport(url) as wire:
        assert [wire.send(GET).body for _ in range(2)] == [b"{}"] * 2


def test_a_cut_body_is_no_answer():
    with peer(says(CUT), says(OK)) as url, transport(url) as wire:
        with pytest.raises(NoAnswer):
            wire.send(GET)
        assert wire.send(GET).body == b"{}"


def test_a_connection_closed_without_a_word_is_no_answer():
    with peer(says(b"")) as url, transport(url) as wire, pytest.raises(NoAnswer):
        wire.send(GET)


def test_what_is_no_http_is_no_answer():
    with peer(says(b"SSH-2.0-x\r\n\r\n")) as url, transport(url) as wire, pytest.raises(NoAnswer):
        wire.send(GET)


def test_an_answer_that_comes_too_late_is_never_taken_for_the_next_ones():
    hung_up = threading.Event()
    with peer(silent_until(hung_up), says(OK)) as url, transport(url, timeout=0.2) as wire:
        with pytest.raises(NoAnswer):
            wire.send(GET)
        hung_up.set()
        assert wire.send(GET).body == b"{}"


def test_nobody_listening_is_no_answer():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with transport(f"http://127.0.0.1:{port}") as wire, pytest.raises(NoAnswer):
        wire.send(GET)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8766", "ftp://host", "http://"])
def test_what_is_no_address_is_refused_at_once(url):
    with pytest.raises(ValueError, match="address"):
        HttpTransport(url)


def test_a_path_in_the_address_stands_before_every_call():
    def deed(connection: socket.socket) -> None:
        assert connection.recv(65_536).startswith(b"GET /memory/v1/stats ")
        connection.sendall(OK)

    with peer(deed) as url, transport(f"{url}/memory/") as wire:
        assert wire.send(GET).status == 200
