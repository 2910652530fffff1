"""A person with a browser, and a client that says exactly what a test wants it to say."""

import base64
import hashlib
import re
import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

PASSWORD = "correct horse battery"
CALLBACK = "http://127.0.0.1:33418/callback"
DESCRIBED_HOST = "client.example"
DESCRIBED_CLIENT = f"https://{DESCRIBED_HOST}/oauth/client.json"
DESCRIBED_CALLBACK = f"https://{DESCRIBED_HOST}/callback"
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


_OPEN = ExitStack()


def closing(http: httpx2.Client) -> httpx2.Client:
    """Keep a client open until the tests are through."""
    return _OPEN.enter_context(http)


def close_all() -> None:
    _OPEN.close()


class Person:
    """Somebody who can log in, in a browser of their own."""

    def __init__(self, url: str, username: str) -> None:
        self.url = url
        self.browser = closing(httpx2.Client(base_url=url, timeout=30))
        page = self.browser.get("/admin/login/")
        form = {"username": username, "password": PASSWORD, "csrfmiddlewaretoken": _form_token(page.text)}
        assert self.browser.post("/admin/login/?next=/admin/", data=form).status_code == 302

    def look(self, address: str) -> httpx2.Response:
        """Open the address that a client sends its person to."""
        return self.browser.get(address)

    def answer(
        self, address: str, *, scopes: list[str] | None = None, vault: str | None = None, say: str = "allow"
    ) -> httpx2.Response:
        """Send the form of the page at an address, as it stands but for what is chosen here."""
        page = self.look(address)
        assert page.status_code == 200, page.text
        offered = dict(re.findall(r'<option value="([^"]+)"[^>]*>([^<]+)</option>', page.text))
        named = {name: key for key, name in offered.items()}
        form: dict[str, Any] = {
            "csrfmiddlewaretoken": _form_token(page.text),
            "vault": named[vault] if vault in named else vault or ticked(page.text, "option", "selected")[0],
            "scopes": scopes if scopes is not None else ticked(page.text, "input", "checked"),
            say: "1",
        }
        return self.browser.post(address, data=form)


def ticked(page: str, element: str, mark: str) -> list[str]:
    chosen = [tag for tag in re.findall(rf"<{element}[^>]*>", page) if re.search(rf"\b{mark}\b", tag)]
    return [unescape(value) for tag in chosen for value in re.findall(r'value="([^"]+)"', tag)]


def _form_token(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found is not None, page
    return found.group(1)


def back(response: httpx2.Response) -> dict[str, str]:
    """Read what a client is told by the address that a browser is led to."""
    assert response.status_code == 302, response.text
    return {
        name: values[0] for name, values in parse_qs(urlsplit(response.headers["Location"]).query).items()
    }


@dataclass(kw_only=True)
class RawClient:
    """A registered client, its code verifier, and its calls."""

    url: str
    client_id: str
    redirect_uri: str = CALLBACK
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    http: httpx2.Client = field(default_factory=lambda: closing(httpx2.Client(timeout=30)))

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def request(self, **changed: str | None) -> str:
        """Return the address to open; what is None is left out."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "some state",
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "resource": f"{self.url}/mcp",
            "scope": "memory:read memory:write",
            **changed,
        }
        sent = {name: value for name, value in asked.items() if value is not None}
        return f"{self.url}/oauth/authorize?{urlencode(sent)}"

    def redeem(self, code: str | None, **changed: str | None) -> httpx2.Response:
        return self.token(
            **{
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": self.redirect_uri,
                "code_verifier": self.verifier,
                **changed,
            }
        )

    def refresh(self, refresh_token: str, **changed: str | None) -> httpx2.Response:
        return self.token(**{"grant_type": "refresh_token", "refresh_token": refresh_token, **changed})

    def token(self, **told: str | None) -> httpx2.Response:
        form = {"client_id": self.client_id, **told}
        sent = {name: value for name, value in form.items() if value is not None}
        return self.http.post(f"{self.url}/oauth/token", data=sent)

    def revoke(self, token: str) -> httpx2.Response:
        return self.http.post(f"{self.url}/oauth/revoke", data={"client_id": self.client_id, "token": token})

    def connect(self, person: Person, **chosen: Any) -> dict[str, Any]:
        """Go all the way.

        Returns: what the token endpoint answered.
        """
        return self._redeemed(person.answer(self.request(), **chosen))

    def connect_as(self, person: Person, vault: str | None = None, **asked: str) -> dict[str, Any]:
        """Go all the way with another request."""
        return self._redeemed(
            person.answer(self.request(**asked), vault=vault), resource=asked.get("resource")
        )

    def _redeemed(self, led: httpx2.Response, **changed: str | None) -> dict[str, Any]:
        response = self.redeem(back(led)["code"], **changed)
        assert response.status_code == 200, response.text
        return dict(response.json())

    def call(
        self, access_token: str, message: Mapping[str, Any] = LIST_TOOLS, path: str = "/mcp"
    ) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {access_token}"}
        return self.http.post(f"{self.url}{path}", json=message, headers=headers)


def registered(url: str, **told: Any) -> RawClient:
    description = {"client_name": "Raw", "redirect_uris": [CALLBACK], **told}
    response = httpx2.post(f"{url}/oauth/register", json=description)
    assert response.status_code == 201, response.text
    return RawClient(url=url, client_id=response.json()["client_id"])
