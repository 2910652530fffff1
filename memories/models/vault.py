"""The two directory tables: whose memory space it is, and which secrets open it."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from django.db import models
from django.utils import timezone

from memories.ids import new_vault_id, random_key

TOKEN_PREFIX = "ctx_"
_SHOWN_CHARACTERS = 8


class Scope(StrEnum):
    READ = "memory:read"
    WRITE = "memory:write"
    REVIEW = "memory:review"
    ADMIN = "vault:admin"


ALL_SCOPES: tuple[Scope, ...] = tuple(Scope)


def token_digest(secret: str) -> str:
    """Digest of a 256-bit random secret; it needs no salt and no slow hash, there is nothing to guess."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Vault(models.Model):
    """A tenant: all that a person, or a team, has had remembered; what two of them hold never meets."""

    id = models.CharField(primary_key=True, max_length=16, default=new_vault_id, editable=False)
    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200, blank=True, default="")
    language = models.CharField(max_length=20, default="english", help_text="whose stems words are cut to")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.name or self.slug


class AccessToken(models.Model):
    """A bearer secret of one vault: stored as a digest, shown once, limited, expiring, revocable."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    vault = models.ForeignKey(Vault, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    shown = models.CharField(
        max_length=16, editable=False, help_text="the first characters, to tell tokens apart"
    )
    scopes = models.JSONField(default=list)
    projects = models.JSONField(default=list, blank=True, help_text="empty: not limited to projects")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["vault", "created_at"], name="token_of_vault")]

    def __str__(self) -> str:
        return f"{self.name} ({self.shown}…)"

    @classmethod
    def issue(
        cls,
        vault: Vault,
        *,
        name: str,
        scopes: Iterable[Scope],
        projects: Iterable[str] = (),
        expires_at: datetime | None = None,
    ) -> tuple["AccessToken", str]:
        """Create a token.

        Returns: the row and its secret, which is stored nowhere and cannot be shown again.
        """
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = cls.objects.create(
            vault=vault,
            name=name,
            digest=token_digest(secret),
            shown=secret[:_SHOWN_CHARACTERS],
            scopes=[str(scope) for scope in scopes],
            projects=list(projects),
            expires_at=expires_at,
        )
        return token, secret

    def is_valid_at(self, moment: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or moment < self.expires_at)

    def revoke(self, *, at: datetime) -> None:
        """Close the token for good; a second call changes nothing."""
        if self.revoked_at is None:
            self.revoked_at = at
            self.save(update_fields=["revoked_at"])
