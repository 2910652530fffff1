"""Where a code may be sent: an https page, a program on the person's own machine, or an editor's own scheme."""

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from oauth2_provider.http import OAuth2ResponseRedirect

from cortex.api.middleware import CONTENT_SECURITY_POLICY
from cortex.env import LOOPBACK

_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:[0-9]+)?")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")


def is_safe(uri: str) -> bool:
    """Tell whether a client may have its codes sent there at all."""
    if not uri.isascii() or not uri.isprintable() or re.search(r"[\s\\#]", uri):
        return False
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    if parts.username is not None or parts.password is not None or port == 0 or not host:
        return False
    if parts.scheme == "http":
        return host in LOOPBACK
    return parts.scheme in settings.OAUTH2_PROVIDER["ALLOWED_REDIRECT_URI_SCHEMES"]


def is_local(uri: str) -> bool:
    """Tell whether it is a program on the person's own machine that will read the code."""
    return urlsplit(uri).scheme != "https"


def shown_target(uri: str) -> str:
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


def policy_for(uri: str) -> str:
    """Return a policy that lets a form's answer lead on to a client.

    Browsers hold every hop after a form against it, and a client's page may lead on to another of its hosts, which
    only the client knows; so of an https page the scheme alone is named.
    """
    parts = urlsplit(uri)
    source = f"{parts.scheme}:"
    if parts.scheme == "http" and _HOST.fullmatch(parts.netloc):
        source = f"http://{parts.netloc}"
    assert _SCHEME.match(source)
    return CONTENT_SECURITY_POLICY.replace("form-action 'self'", f"form-action 'self' {source}")


def redirect_to(uri: str) -> HttpResponse:
    """Lead back to a client; every answer, a refusal too, says whose it is (RFC 9207)."""
    parts = urlsplit(uri)
    told = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "iss"]
    query = urlencode([*told, ("iss", settings.CORTEX_PUBLIC_URL)])
    target, schemes = (
        urlunsplit(parts._replace(query=query)),
        settings.OAUTH2_PROVIDER["ALLOWED_REDIRECT_URI_SCHEMES"],
    )
    response: HttpResponse = OAuth2ResponseRedirect(target, schemes)
    return response


def sent_values(request: HttpRequest) -> list[str]:
    return [value for data in (request.GET, request.POST) for _, values in data.lists() for value in values]
