"""What a token is for (RFC 8707): this server's `/mcp`, or all of this server. No other resource is ours to give."""

from collections.abc import Iterable

from django.conf import settings

from cortex.api.challenges import MCP_PATH


def server_resource() -> str:
    public: str = settings.CORTEX_PUBLIC_URL
    return public


def mcp_resource() -> str:
    return server_resource() + MCP_PATH


def resource_of(indicators: Iterable[str]) -> str | None:
    """Read the resource indicators of a request; without any, `/mcp` is meant.

    Returns: the resource that all of them are within; None where one of them is not ours.
    """
    named = {indicator.rstrip("/") for indicator in indicators} or {mcp_resource()}
    if not named <= {server_resource(), mcp_resource()}:
        return None
    return server_resource() if server_resource() in named else mcp_resource()


def reaches(resource: str, path: str) -> bool:
    """Tell whether a token for a resource opens a path of this server."""
    return resource == server_resource() or (resource == mcp_resource() and path == MCP_PATH)
