"""How clients become known: they register themselves (RFC 7591), or are named by the address of their description.

Either way a client is public: PKCE proves that the one who got the code redeems it, and no secret is handed out. Nothing
that a client says of itself is proven, but for the host that serves its description.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from django.db.models import Q
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from oauth2_provider.models import Application

from cortex.api.addresses import origin_of
from cortex.api.challenges import USUAL_SCOPES
from cortex.api.parsing import parse_json
from cortex.errors import Unparsable
from memories.access import TokenThrottle
from oauth.redirects import is_safe

if TYPE_CHECKING:
    from oauthlib.common import Request

AUTHORIZE_PATH: Final = "/oauth/authorize"
DESCRIPTION_BYTES: Final = 16 * 1024
UNUSED_LIMIT: Final = 1_000
UNUSED_KEPT_FOR: Final = timedelta(days=7)
_REDIRECTS_LIMIT: Final = 10
_REDIRECT_LENGTH: Final = 500
_NAME_LENGTH: Final = 100
_CODE_GRANTS: Final = ("authorization_code", "refresh_token")


class RegistrationThrottle(TokenThrottle):
    """Registrations from one address; whoever registers has no token yet."""

    def get_rate(self) -> str:
        return "20/hour"


class Refused(Exception):
    """A description that makes no client; `kind` is the error's name in RFC 7591."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


class OnlyWhereAPersonAsks:
    """A description is fetched while a signed-in person looks at the request, never because a token is asked for."""

    def has_permission(self, request: "Request", client_id: str) -> bool:
        return bool(urlsplit(request.uri).path == AUTHORIZE_PATH)


def proven_host(client: Application) -> str | None:
    """Return the host that stands for a client's description; None where nobody does."""
    if client.registration_source != Application.RegistrationSource.CIMD:
        return None
    return str(urlsplit(client.client_id).netloc)


def unused_clients() -> Any:
    """Return the clients that nobody allowed anything, or does any more."""
    own = Q(registration_source=Application.RegistrationSource.MANUAL)
    return Application.objects.exclude(own).filter(consents__isnull=True)


def drop_unused(*, before: datetime) -> int:
    return int(unused_clients().filter(updated__lt=before).delete()[0])


def register(request: HttpRequest) -> JsonResponse:
    """Answer a registration."""
    throttle = RegistrationThrottle()
    if not throttle.lets_in(f"oauth-{_file_name(origin_of(request))}") or not _has_room():
        return _refusal("temporarily_unavailable", "too many registrations; try again later", status=429)
    try:
        client = _client_of(_description(request))
    except Refused as refused:
        return _refusal(refused.kind, refused.detail, status=400)
    client.save()
    return JsonResponse(_told(client), status=201, headers={"Cache-Control": "no-store"})


def _file_name(address: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in address)[:64]


def _has_room() -> bool:
    """Bound what strangers can have stored: the oldest make room, unless all of them are fresh."""
    if unused_clients().count() < UNUSED_LIMIT:
        return True
    return drop_unused(before=timezone.now() - timedelta(hours=1)) > 0


def _description(request: HttpRequest) -> Mapping[str, Any]:
    raw = request.read(DESCRIPTION_BYTES + 1)
    if len(raw) > DESCRIPTION_BYTES:
        raise Refused("invalid_client_metadata", "the description is too long")
    try:
        told = parse_json(raw)
    except Unparsable as error:
        raise Refused("invalid_client_metadata", error.detail) from error
    if not isinstance(told, dict):
        raise Refused("invalid_client_metadata", "the description is a JSON object")
    return told


def _client_of(told: Mapping[str, Any]) -> Application:
    """Draft a client from its description; what is not known here is ignored, as the RFC wants it."""
    name = told.get("client_name", "")
    if not isinstance(name, str) or len(name) > _NAME_LENGTH or not (name.isprintable() or not name):
        raise Refused(
            "invalid_client_metadata", f"client_name is a text of at most {_NAME_LENGTH} characters"
        )
    if "authorization_code" not in _texts(told, "grant_types", ["authorization_code"]):
        raise Refused("invalid_client_metadata", "the grant here is authorization_code")
    if "code" not in _texts(told, "response_types", ["code"]):
        raise Refused("invalid_client_metadata", "the response type here is code")
    return Application(
        name=name,
        redirect_uris=" ".join(_redirects(told)),
        client_type=Application.CLIENT_PUBLIC,
        client_secret="",
        hash_client_secret=False,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        registration_source=Application.RegistrationSource.DCR,
    )


def _redirects(told: Mapping[str, Any]) -> list[str]:
    uris = _texts(told, "redirect_uris", [])
    if not 0 < len(uris) <= _REDIRECTS_LIMIT or any(len(uri) > _REDIRECT_LENGTH for uri in uris):
        raise Refused("invalid_redirect_uri", f"1 to {_REDIRECTS_LIMIT} redirect_uris are needed")
    if not all(is_safe(uri) for uri in uris):
        raise Refused(
            "invalid_redirect_uri",
            "each of redirect_uris is https, or http on the loopback, without a fragment",
        )
    return uris


def _texts(told: Mapping[str, Any], name: str, default: list[str]) -> list[str]:
    values = told.get(name, default)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise Refused("invalid_client_metadata", f"{name} is a list of texts")
    return values


def _told(client: Application) -> dict[str, Any]:
    return {
        "client_id": client.client_id,
        "client_id_issued_at": int(client.created.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris.split(),
        "grant_types": list(_CODE_GRANTS),
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": " ".join(USUAL_SCOPES),
    }


def _refusal(kind: str, detail: str, *, status: int) -> JsonResponse:
    headers = {"Retry-After": "600"} if status == 429 else {}
    return JsonResponse({"error": kind, "error_description": detail}, status=status, headers=headers)
