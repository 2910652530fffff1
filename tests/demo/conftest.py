"""The demo boots a server on a database of its own, so one run of it says all, whatever database the tests use."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "engine_free: says the same on every database engine")
