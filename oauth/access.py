"""Who calls, where people grant access: a token of a consent becomes a `Caller`; every other token as ever."""

from django.utils import timezone
from oauth2_provider.models import RefreshToken
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from memories.access import LAST_USE_RESOLUTION, BearerAuthentication, Caller
from memories.models import Scope
from memories.patience import write_soon
from oauth.models import Consent, secret_digest
from oauth.resources import reaches
from oauth.server import ACCESS_PREFIX


class GrantAuthentication(BearerAuthentication):
    """The one authenticator where CORTEX_OAUTH=1. What it makes meets the same walls and throttles as any caller."""

    def opened_by(self, secret: str, request: Request) -> Caller:
        if secret.startswith(ACCESS_PREFIX):
            return _caller_by_consent(secret, request.path)
        return super().opened_by(secret, request)


def _caller_by_consent(secret: str, path: str) -> Caller:
    """Raises: AuthenticationFailed if it opens nothing now, or something else than this path."""
    now = timezone.now()
    pair = (
        RefreshToken.objects.select_related("access_token")
        .filter(access_token__token_checksum=secret_digest(secret), access_token__expires__gt=now)
        .filter(revoked__isnull=True)
        .first()
    )
    consent = None if pair is None else _consent_behind(pair)
    if pair is None or consent is None:
        raise AuthenticationFailed("the token is unknown, expired or revoked")
    if not reaches(consent.resource, path):
        raise AuthenticationFailed("the token is for another resource")
    _note_use(consent)
    granted = set(pair.access_token.scope.split()) & set(consent.scopes)
    return Caller(
        vault=consent.vault,
        scopes=frozenset(Scope(scope) for scope in granted),
        actor=consent.actor,
        token_id=consent.pk,
        by_consent=True,
    )


def _consent_behind(pair: RefreshToken) -> Consent | None:
    rows = Consent.objects.select_related("vault", "person", "client")
    consent = rows.filter(family=pair.token_family).first()
    return consent if consent is not None and consent.stands() else None


def _note_use(consent: Consent) -> None:
    """Record the last use, at most once a minute, and never by waiting for a writer."""
    now = timezone.now()
    if consent.last_used_at and now - consent.last_used_at < LAST_USE_RESOLUTION:
        return
    mine = Consent.objects.filter(vault_id=consent.vault_id, pk=consent.pk)
    write_soon(lambda: mine.update(last_used_at=now))
