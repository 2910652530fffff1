"""People who call: a client that speaks as one access token, or as nobody."""

import json
from collections.abc import Iterable
from typing import Any

from django.test import Client

from memories.models import ALL_SCOPES, Scope, Vault
from tests.factories import make_token, make_vault


class Api:
    """A JSON client of one token. `api.post("memories", {...})` answers Django's response."""

    def __init__(self, secret: str | None, vault: Vault | None = None) -> None:
        self.client = Client(raise_request_exception=True)
        self._vault = vault
        self.headers = {"Authorization": f"Bearer {secret}"} if secret else {}

    @property
    def vault(self) -> Vault:
        assert self._vault is not None, "this client was given no vault"
        return self._vault

    def call(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str
    ) -> Any:
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content_type = named.pop("Content-Type", "application/json")
        return self.client.generic(
            method, f"/v1/{path}", data, content_type=content_type, headers={**self.headers, **named}
        )

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, raw=None, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, body, raw=None, **headers)

    def patch(self, path: str, body: Any) -> Any:
        return self.call("PATCH", path, body)

    def delete(self, path: str, **headers: str) -> Any:
        return self.call("DELETE", path, raw=None, **headers)

    def remember(self, content: str, **fields: Any) -> dict[str, Any]:
        """Write a memory and return it as it is told."""
        response = self.post("memories", {"content": content, **fields})
        assert response.status_code in {200, 201}, response.content
        return dict(response.json())


def api_of(
    vault: Vault | None = None, *, scopes: Iterable[Scope] = ALL_SCOPES, projects: Iterable[str] = ()
) -> Api:
    """Return a client that speaks for a vault, a new one if none is given."""
    vault = vault or make_vault()
    return Api(make_token(vault, scopes=scopes, projects=projects)[1], vault)
