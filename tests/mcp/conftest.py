"""A running server for clients that need a socket."""

from collections.abc import Iterator

import pytest

from contextpack.demo.server import Server, throwaway_server


@pytest.fixture(scope="session")  # modules come in random order
def server() -> Iterator[Server]:
    with throwaway_server() as running:
        yield running
