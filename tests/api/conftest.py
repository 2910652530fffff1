"""A server as it runs: its own process, a free port, a database that is thrown away."""

from collections.abc import Iterator

import pytest

from contextpack.demo.server import Server, throwaway_server


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    with throwaway_server(workers=1, settings={"CORTEX_THROTTLE": ""}) as running:
        yield running
