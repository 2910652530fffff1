"""What `WWW-Authenticate` says to whoever lacks a token, or a scope: where to get one, if OAuth is on (RFC 9728)."""

from collections.abc import Iterable
from typing import Final

from django.conf import settings

MCP_PATH: Final = "/mcp"
RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource"
USUAL_SCOPES: Final = ("memory:read", "memory:write")  # what a client is told to ask for

_PLAIN: Final = 'Bearer realm="cortex"'


def challenge(path: str, *, error: str = "", scopes: Iterable[str] = USUAL_SCOPES) -> str:
    """Build the header's value for the address that was called.

    Args:
        error: `invalid_token` or `insufficient_scope` (RFC 6750); nothing where no token was sent.
        scopes: what a client should ask for.
    """
    if not settings.CORTEX_OAUTH:
        return _PLAIN
    document = f"{settings.CORTEX_PUBLIC_URL}{RESOURCE_METADATA}{MCP_PATH if path == MCP_PATH else ''}"
    told = {"error": error, "resource_metadata": document, "scope": " ".join(scopes)}
    return ", ".join([_PLAIN, *(f'{name}="{value}"' for name, value in told.items() if value)])
