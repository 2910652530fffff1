"""The authorization server: codes with PKCE, refresh tokens that rotate, and nothing else of what OAuth 2.0 had.

django-oauth-toolkit keeps and rotates the tokens; here they are tied to a consent, and so to one vault.
"""

import secrets
from typing import TYPE_CHECKING, Any, Final

from django.utils import timezone
from oauth2_provider.models import AccessToken, RefreshToken
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2 import WebApplicationServer
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error, InvalidGrantError
from oauthlib.oauth2.rfc6749.grant_types.authorization_code import code_challenge_method_s256

from memories.models import ALL_SCOPES
from oauth.models import Consent, scopes_to_give, secret_digest
from oauth.redirects import is_safe
from oauth.resources import resource_of

if TYPE_CHECKING:
    from oauthlib.common import Request

ACCESS_PREFIX: Final = "cta_"
REFRESH_PREFIX: Final = "ctr_"


def new_access_token(request: "Request", **_: object) -> str:
    return ACCESS_PREFIX + secrets.token_urlsafe(32)


def new_refresh_token(request: "Request", **_: object) -> str:
    return REFRESH_PREFIX + secrets.token_urlsafe(32)


class CodeServer(WebApplicationServer):  # type: ignore[misc] # the library has no types
    """Knows the authorization code and its refresh tokens; a challenge is S256, or it is refused at once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.auth_grant._code_challenge_methods = {"S256": code_challenge_method_s256}


class Validator(OAuth2Validator):  # type: ignore[misc] # the library has no types
    """What a request may have: judged anew at each step, against the consent behind it."""

    # -- Asking a person -------------------------------------------------------------------------

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: "Request", *_: Any, **__: Any
    ) -> bool:
        return is_safe(redirect_uri) and bool(super().validate_redirect_uri(client_id, redirect_uri, request))

    def validate_scopes(
        self, client_id: str, scopes: list[str], client: Any, request: "Request", *_: Any, **__: Any
    ) -> bool:
        """Leave out what is no scope of ours (`offline_access`, `openid`); something must remain."""
        request.scopes = [scope for scope in dict.fromkeys(scopes) if scope in set(ALL_SCOPES)]
        return bool(request.scopes)

    def save_authorization_code(
        self, client_id: str, code: dict[str, str], request: "Request", *_: Any, **__: Any
    ) -> None:
        """Keep the code, and beside it what the person allowed (set on the request as `chosen`)."""
        super().save_authorization_code(client_id, code, request)
        Consent.objects.create(
            vault=request.chosen.vault,
            person=request.user,
            client=request.client,
            scopes=list(request.scopes),
            resource=request.chosen.resource,
            code_digest=secret_digest(code["code"]),
        )

    # -- Code and refresh token ------------------------------------------------------------------

    def validate_code(
        self, client_id: str, code: str, client: Any, request: "Request", *_: Any, **__: Any
    ) -> bool:
        """Accept a code once. Used twice, it is in two hands: what the first use got ends as well."""
        consent = _consents().filter(code_digest=secret_digest(code), client=client).first()
        if consent is None:
            return False
        if consent.family is not None:
            consent.revoke(at=timezone.now())
            return False
        if not super().validate_code(client_id, code, client, request):
            return False
        return self._goes_by(consent, request)

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: "Request", *_: Any, **__: Any
    ) -> bool:
        if not super().validate_refresh_token(refresh_token, client, request):
            return False
        family = request.refresh_token_instance.token_family
        consent = _consents().filter(family=family).first()
        return consent is not None and self._goes_by(consent, request)

    def _goes_by(self, consent: Consent, request: "Request") -> bool:
        """Judge a consent as it stands now.

        Raises: CustomOAuth2Error (invalid_target) if tokens for something else are asked for.
        """
        named = [value for name, value in request.decoded_body or () if name == "resource"]
        if resource_of(named or [consent.resource]) != consent.resource:
            raise CustomOAuth2Error(
                error="invalid_target", description="the consent is for another resource", request=request
            )
        request.consent = consent
        return consent.stands() and set(consent.scopes) <= set(scopes_to_give(consent.person))

    def _check_and_set_request_resource(self, request: "Request") -> None:
        request.resource = [request.consent.resource]

    def _save_bearer_token(self, token: dict[str, Any], request: "Request", *_: Any, **__: Any) -> None:
        """Store a pair of tokens under the consent's lock, so that of two who bring the same code or refresh token
        at once, the second gets nothing."""
        mine = Consent.objects.filter(vault_id=request.consent.vault_id, pk=request.consent.pk)
        consent = mine.select_for_update().get()
        before = getattr(request, "refresh_token_instance", None)
        if consent.revoked_at is not None or _is_spent(consent, before):
            raise InvalidGrantError(request=request)
        super()._save_bearer_token(token, request)
        if consent.family is None:
            stored = AccessToken.objects.select_related("refresh_token").get(
                token_checksum=secret_digest(token["access_token"])
            )
            mine.update(family=stored.refresh_token.token_family)


def _consents() -> Any:
    return Consent.objects.select_related("person", "client", "vault")


def _is_spent(consent: Consent, before: RefreshToken | None) -> bool:
    if before is None:
        return consent.family is not None
    return bool(RefreshToken.objects.filter(pk=before.pk, revoked__isnull=False).exists())
