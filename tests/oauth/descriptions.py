"""A client that is named by the address of its description, without a network."""

from typing import Any
from urllib.parse import urlsplit

from oauth2_provider.cimd import SafeMetadataFetcher

from tests.oauth.speaking import DESCRIBED_CALLBACK, DESCRIBED_HOST


class MadeUp(SafeMetadataFetcher):  # type: ignore[misc] # the library has no types
    """Answers for one host; what is elsewhere goes through the library's own walls."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        if urlsplit(client_id).hostname != DESCRIBED_HOST:
            told: tuple[dict[str, Any], int] = super().fetch(client_id)
            return told
        redirects = [DESCRIBED_CALLBACK, "http://127.0.0.1/callback"]
        return {"client_id": client_id, "client_name": "Example Chat", "redirect_uris": redirects}, 600
