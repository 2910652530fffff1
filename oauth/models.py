"""What a person allowed a client. Tokens themselves are kept by django-oauth-toolkit, as digests, in families: each
refresh replaces the pair before, and all pairs that go back to one consent are its family."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, PermissionsMixin
from django.db import models, transaction
from django.utils import timezone
from oauth2_provider.models import Application, RefreshToken

from memories.ids import random_key
from memories.models import Scope, Vault

_NAME_LENGTH = 60
_USERNAME_LENGTH = 100


def secret_digest(secret: str) -> str:
    """Digest a code or a token, as django-oauth-toolkit digests tokens: both are random, there is nothing to guess."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Consent(models.Model):
    """One "yes": of whom, to which client, to which vault, with which scopes.

    Like an access token it is looked up by what a client holds, before any vault is known; every other statement
    names the vault.
    """

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    vault = models.ForeignKey(Vault, on_delete=models.CASCADE, related_name="+", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    client = models.ForeignKey(Application, on_delete=models.CASCADE, related_name="consents")
    scopes = models.JSONField(default=list)
    resource = models.CharField(max_length=300, help_text="the address that its tokens are for")
    code_digest = models.CharField(max_length=64, unique=True, editable=False)
    family = models.UUIDField(null=True, unique=True, editable=False)  # of its tokens, once it has some
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["vault", "created_at"], name="consent_of_vault")]
        verbose_name = "connected client"

    def __str__(self) -> str:
        return f"{client_name(self.client)} for {self.person.get_username()}"

    @property
    def actor(self) -> str:
        """Who is written down beside a decision: the person, and the client that acted in their name."""
        username = self.person.get_username()[:_USERNAME_LENGTH]
        return f"oauth:{username}:{client_name(self.client)[:_NAME_LENGTH]}:{self.pk}"

    def stands(self) -> bool:
        """Tell whether it may be used now: not revoked, and the person may still log in."""
        return self.revoked_at is None and is_staff(self.person)

    def revoke(self, *, at: datetime) -> None:
        """End it and all its tokens for good; a second call changes nothing."""
        with transaction.atomic():
            mine = Consent.objects.select_for_update().filter(vault_id=self.vault_id, pk=self.pk)
            family = mine.values_list("family", flat=True).first()
            mine.filter(revoked_at__isnull=True).update(revoked_at=at)
            if family is not None:
                RefreshToken.revoke_family(family)


def is_staff(person: AbstractBaseUser) -> bool:
    return person.is_active and bool(getattr(person, "is_staff", False))


def client_name(client: Any) -> str:
    """Return what a client calls itself, without what could turn the text around it; nothing proves it."""
    told = "".join(character for character in client.name if character.isprintable()).strip()
    return told or client.client_id


def scopes_to_give(person: PermissionsMixin) -> list[Scope]:
    """Return what a person may let a client do: never more than the admin lets them do themselves."""
    if not person.has_perms(["memories.view_vault", "memories.view_memory"]):
        return []
    given = [Scope.READ]
    if person.has_perm("memories.change_memory"):
        given += [Scope.WRITE, Scope.REVIEW]
    return [*given, Scope.ADMIN] if person.is_superuser else given


def live_families(families: Iterable[Any]) -> set[Any]:
    """Return those of the families that still have a token which can be refreshed."""
    return set(
        RefreshToken.objects.filter(token_family__in=list(families), revoked__isnull=True).values_list(
            "token_family", flat=True
        )
    )
