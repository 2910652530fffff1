"""Who calls: a bearer token becomes a `Caller`, bound to one vault. Nothing reads without one."""

import hashlib
import hmac
import json
import os
import time
from array import array
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import RawIOBase
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.core.files import locks
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from cortex.api.challenges import challenge
from cortex.api.meters import Count, meters
from cortex.errors import NotAllowed, Unprocessable
from memories.models import ALL_SCOPES, AccessToken, Scope, Vault
from memories.models.vault import token_digest
from memories.patience import write_soon

if TYPE_CHECKING:  # the settings name this module, and DRF's views read the settings when imported
    from rest_framework.views import APIView

DEFAULT_VAULT = "default"
OPERATOR = "operator"
EVERY_PROJECT = "*"
SCOPE_LENGTH = 64
LAST_USE_RESOLUTION = timedelta(minutes=1)
_SLUG_LENGTH = 100
_MOMENT_BYTES = 8


def scope_digest(projects: Collection[str] | None) -> str:
    """Name a view of a vault for a key: `*` where it has every project, else a digest of those it has.

    Equal views have equal names, however many projects they have and however long these are called.
    """
    if projects is None:
        return EVERY_PROJECT
    return hashlib.sha256(json.dumps(sorted(projects)).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The asker, as far as the product cares: one vault, what may be done there, and which projects are seen."""

    vault: Vault
    scopes: frozenset[Scope]
    projects: frozenset[str] | None = None  # None: every project
    actor: str = OPERATOR  # who is written down beside a decision: "token:<id>", "operator", "user:<name>"
    token_id: int | None = None
    by_consent: bool = False  # of a person, who may be asked for a further scope

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def sees(self, project: str) -> bool:
        return self.projects is None or project == "" or project in self.projects

    def sees_all_of(self, projects: Collection[str] | None) -> bool:
        """Tell whether another view of the vault (None: every project) has nothing that this caller lacks."""
        return self.projects is None or (projects is not None and self.projects.issuperset(projects))

    def require(self, scope: Scope) -> None:
        if not self.may(scope):
            raise NotAllowed(f"this call needs the scope {scope}", scopes=[*sorted(self.scopes), scope])

    def require_project(self, project: str) -> None:
        """Refuse to write where the caller could not read."""
        if not self.sees(project):
            raise NotAllowed(
                "the token does not reach this project", errors={"project": "not one of the token's"}
            )


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`; an access token's, or the operator's key."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        header = request.headers.get("Authorization", "")
        if not header:
            return None
        word, _, secret = header.partition(" ")
        secret = secret.strip()
        if word.lower() != "bearer" or not secret:
            raise AuthenticationFailed("send the token as Authorization: Bearer <token>")
        return self.opened_by(secret, request), None

    def opened_by(self, secret: str, request: Request) -> Caller:
        """Turn a secret into a caller.

        Raises: AuthenticationFailed if it opens nothing now.
        """
        return caller_for(secret, vault_slug=request.headers.get("X-Cortex-Vault"))

    def authenticate_header(self, request: Request) -> str:
        return challenge(request.path, error="invalid_token" if "Authorization" in request.headers else "")


def caller_for(secret: str, *, vault_slug: str | None = None) -> Caller:
    """Turn a secret into a caller.

    Args:
        vault_slug: which vault the operator's key means; an access token has its own and ignores it.
    Raises: AuthenticationFailed if the secret opens nothing now.
    """
    if settings.CORTEX_API_KEY and hmac.compare_digest(secret.encode(), settings.CORTEX_API_KEY.encode()):
        return operator_of(_named_vault(vault_slug or DEFAULT_VAULT))
    token = AccessToken.objects.select_related("vault").filter(digest=token_digest(secret)).first()
    now = timezone.now()
    if token is None or not token.is_valid_at(now):
        raise AuthenticationFailed("the token is unknown, expired or revoked")
    _note_use(token, now)
    return holder_of(token)


def operator_of(vault: Vault) -> Caller:
    return Caller(vault=vault, scopes=frozenset(ALL_SCOPES))


def holder_of(token: AccessToken) -> Caller:
    """Return who calls with this token; whether it opens anything now is for others to ask."""
    return Caller(
        vault=token.vault,
        scopes=frozenset(Scope(scope) for scope in token.scopes),
        projects=frozenset(token.projects) or None,
        actor=f"token:{token.pk}",
        token_id=token.pk,
    )


def _named_vault(slug: str) -> Vault:
    if len(slug) > _SLUG_LENGTH or not slug.replace("-", "").replace("_", "").isalnum() or not slug.isascii():
        raise Unprocessable(
            "X-Cortex-Vault names no vault",
            errors={"X-Cortex-Vault": "letters, digits, - and _, at most 100"},
        )
    found = Vault.objects.filter(slug=slug).first()
    return found or Vault.objects.get_or_create(slug=slug)[0]


def _note_use(token: AccessToken, now: datetime) -> None:
    """Record the last use, at most once a minute: a read must not queue behind a writer for it."""
    if token.last_used_at and now - token.last_used_at < LAST_USE_RESOLUTION:
        return
    # Where the database is busy, the next call records it.
    write_soon(lambda: AccessToken.objects.filter(pk=token.pk).update(last_used_at=now))


class HasScope(BasePermission):
    """A view says `scopes = {"GET": Scope.READ, …}`; a method without one needs `vault:admin`.

    None stands for any token: such a view asks for scopes itself. HEAD needs what GET needs.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        caller = request.user
        if not isinstance(caller, Caller):
            return False
        scopes: Mapping[str, Scope | None] = getattr(view, "scopes", {})
        method = "GET" if request.method == "HEAD" else request.method or ""
        if method not in view.allowed_methods:
            return True  # nobody may: the view answers 405
        needed = scopes.get(method, Scope.ADMIN)
        if needed is not None:
            caller.require(needed)
        return True


def caller_of(request: Request) -> Caller:
    return cast(Caller, request.user)


class TokenThrottle(SimpleRateThrottle):
    """CORTEX_THROTTLE per access token, whichever worker of the machine answers.

    The moments of a token's latest calls stand in a file of its own, which one worker at a time may open: a cache
    of each process would let every worker grant the whole rate, and in the database a read would have to write.
    The operator's own key is not slowed down.
    """

    scope = "token"
    num_requests: int  # these two say the rate; None each where there is none
    duration: int

    def get_rate(self) -> str | None:
        return settings.CORTEX_THROTTLE or None

    def allow_request(self, request: Request, view: "APIView") -> bool:
        caller = request.user
        if self.rate is None or not isinstance(caller, Caller) or caller.token_id is None:
            return True
        let_in = self.lets_in(str(caller.token_id))
        if not let_in:
            meters.count(Count.THROTTLED)
        return let_in

    def lets_in(self, name: str) -> bool:
        """Count a call under a name that is fit for a file."""
        handle = os.open(settings.THROTTLE_DIR / name, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(handle, "r+b", buffering=0) as kept:
            locks.lock(kept, locks.LOCK_EX)
            return self._count(kept)

    def take_back(self, name: str) -> None:
        """Uncount the latest call under a name."""
        with (settings.THROTTLE_DIR / name).open("r+b", buffering=0) as kept:
            locks.lock(kept, locks.LOCK_EX)
            kept.truncate(max(0, (kept.seek(0, os.SEEK_END) - 1) // _MOMENT_BYTES * _MOMENT_BYTES))

    def _count(self, kept: RawIOBase) -> bool:
        """Add this call to those that were let in, if there is room for it."""
        self.now = time.time()
        raw = kept.read() or b""
        recent = [moment for moment in _moments(raw) if self.now - self.duration < moment <= self.now]
        self.history = recent[::-1]  # as `wait` reads it
        if len(recent) >= self.num_requests:
            return False
        before = array("d", recent).tobytes()
        # Never emptied first: some file systems bring a file that was emptied and written anew to the disk at once,
        # and the call would wait for that.
        kept.seek(len(raw) if before == raw else 0)
        kept.write(
            array("d", [self.now]).tobytes() if before == raw else before + array("d", [self.now]).tobytes()
        )
        kept.truncate(kept.tell())
        return True


def _moments(raw: bytes) -> "array[float]":
    """Read what was kept; of a write that was cut off, what is whole."""
    moments = array("d")
    moments.frombytes(raw[: len(raw) - len(raw) % moments.itemsize])
    return moments
