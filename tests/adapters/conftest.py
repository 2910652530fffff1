"""These run where the frameworks are: `make adapters`. Elsewhere each says so and skips."""

from tests.client.conftest import connect, cortex, server

__all__ = ["connect", "cortex", "server"]
