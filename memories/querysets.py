"""Every narrowing of memories, each a sentence: visible_to(caller).servable().current_as_of(moment).

A queryset starts at a vault and only ever loses rows.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from django.db import models
from django.db.models import Q

from memories.core.entities import entity_key
from memories.core.kinds import MemoryLayer, Status
from memories.ids import random_revision

if TYPE_CHECKING:
    from memories.models.memory import Memory  # noqa: F401 - a base class names it in quotes
    from memories.models.vault import Vault


class Reader(Protocol):
    """Who asks: a vault, and the projects that the asker may see (None: all of them)."""

    @property
    def vault(self) -> "Vault": ...

    @property
    def projects(self) -> frozenset[str] | None: ...


class MemoryQuerySet(models.QuerySet["Memory"]):
    """Narrowings of `Memory`; every chain begins with `visible_to` or `in_vault`."""

    def update(self, **values: Any) -> int:
        """Change the rows, and let every catalogue notice (`memories/catalogue.py`)."""
        return super().update(**{"revision": random_revision(), **values})

    def in_vault(self, vault_id: str) -> "MemoryQuerySet":
        return self.filter(vault_id=vault_id)

    def visible_to(self, caller: Reader) -> "MemoryQuerySet":
        """Rows of the caller's vault, and, for a token limited to projects, of those and of no project."""
        rows = self.in_vault(caller.vault.pk)
        if caller.projects is None:
            return rows
        return rows.filter(project__in={"", *caller.projects})

    def servable(self, now: datetime) -> "MemoryQuerySet":
        """What may be told at all: approved, unredacted, unexpired, and not withheld for a review."""
        return self.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=now),
            status=Status.APPROVED,
            redacted_at__isnull=True,
            withheld=False,
        )

    def known_at(self, moment: datetime) -> "MemoryQuerySet":
        """What the vault had learnt by then."""
        return self.filter(recorded_at__lte=moment)

    def true_as_of(self, moment: datetime) -> "MemoryQuerySet":
        """What was true then; intervals are half-open, so a memory valid until then is not."""
        return self.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=moment), true_since__lte=moment)

    def current_as_of(self, moment: datetime, *, known_at: datetime) -> "MemoryQuerySet":
        """What was true at a moment, by what the vault knew at another: no superseded claim among it."""
        unreplaced = (
            Q(superseded_by__isnull=True) | Q(superseded_at__gt=known_at) | Q(superseded_from__gt=moment)
        )
        return self.known_at(known_at).true_as_of(moment).filter(unreplaced)

    def unsuperseded(self) -> "MemoryQuerySet":
        return self.filter(superseded_by__isnull=True)

    def in_layers(self, layers: Iterable[MemoryLayer]) -> "MemoryQuerySet":
        return self.filter(layer__in=list(layers))

    def in_project(self, project: str) -> "MemoryQuerySet":
        """Rows that carry exactly this label; the unlabelled, shared ones stay."""
        return self.filter(project__in=["", project])

    def mentioning(self, vault_id: str, names: Collection[str]) -> "MemoryQuerySet":
        """Rows about any of these entities, by name or alias, whole and without regard to case."""
        about = self.model._base_manager.filter(
            vault_id=vault_id,
            mentions__vault_id=vault_id,
            mentions__entity__vault_id=vault_id,
            mentions__entity__aliases__vault_id=vault_id,
            mentions__entity__aliases__key__in={entity_key(name) for name in names},
        )
        return self.filter(pk__in=about.values("pk"))

    def tagged(self, tag: str) -> "MemoryQuerySet":
        return self.filter(tags__has_item=tag)
