"""A running server for the client's tests, one for a whole run of them, with a vault for every test."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from contextpack.demo.server import Server, throwaway_server
from cortex_client import Cortex, HttpTransport, Transport

OPERATOR = "the-operators-own-key-in-these-tests"
_vaults = count(1)

Connect = Callable[..., Cortex]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    settings = {"CORTEX_THROTTLE": "", "CORTEX_API_KEY": OPERATOR}
    with throwaway_server(settings=settings) as running:
        yield running


@pytest.fixture
def connect(server: Server) -> Iterator[Connect]:
    """Return what makes a client of this test's own vault; it may wrap the transport, and set anything else."""
    vault = f"client-{next(_vaults)}"
    made: list[Transport] = []

    def build(wrap: Callable[[Transport], Transport] | None = None, **options: Any) -> Cortex:
        wire: Transport = HttpTransport(server.url)
        made.append(wire)
        options.setdefault("sleep", lambda seconds: None)
        return Cortex(token=OPERATOR, vault=vault, transport=wrap(wire) if wrap else wire, **options)

    yield build
    for wire in made:
        wire.close()


@pytest.fixture
def cortex(connect: Connect) -> Cortex:
    return connect()
