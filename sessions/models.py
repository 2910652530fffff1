"""What is kept of a conversation: its state in one row, and a bounded log of its deltas.

A session keeps refs and the words of its tasks, never the text of a memory. When one is forgotten, those words go
(`stepping.forget_refs`); its ref stays in the known-set and the log until the client was told, and whoever shows
a session leaves out what may not be named.
"""

import hashlib
from typing import ClassVar, Final

from django.db import models
from django.utils import timezone

from memories.access import SCOPE_LENGTH, scope_digest
from memories.ids import random_key
from memories.models.tenancy import TenantModel
from memories.querysets import Reader

SESSION_ID_MAX_LENGTH = 200
_PLACE_BYTES: Final = 4


class WorkingSessionQuerySet(models.QuerySet["WorkingSession"]):
    """Every chain begins with `visible_to`."""

    def visible_to(self, reader: Reader) -> "WorkingSessionQuerySet":
        """The sessions of this vault that were held under exactly this reader's view of it."""
        return self.filter(vault_id=reader.vault.pk, scope=scope_digest(reader.projects))


class WorkingSession(TenantModel):
    """One conversation as one row.

    It belongs to a vault and to a scope, the projects that its callers see: tokens with the same view share their
    sessions, and the same name under another view is another session. So no token meets refs that it may not see.
    """

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    session_id = models.CharField(max_length=SESSION_ID_MAX_LENGTH, help_text="the client's own name for it")
    scope = models.CharField(
        max_length=SCOPE_LENGTH, help_text="digest of the projects that its callers see; * is all"
    )
    projects = models.JSONField(null=True, blank=True, help_text="these projects by name; empty: all of them")
    state = models.JSONField(default=dict)
    turn = models.PositiveIntegerField(default=0)
    delta_cursor = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = WorkingSessionQuerySet.as_manager()

    class Meta:
        db_table = "session_working_set"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "scope", "session_id"], name="session_once_per_scope")
        ]
        indexes: ClassVar = [
            models.Index(fields=["vault", "created_at", "id"], name="session_by_time"),
            models.Index(fields=["vault", "updated_at"], name="session_by_last_use"),
        ]

    def __str__(self) -> str:
        return self.session_id


class EndedSession(TenantModel):
    """How far the cursors of a conversation came that is gone; one of the same name goes on from there.

    Else a client that still names a cursor of the old one would be taken to hold what the new one sent. A name is a
    client's own text and is gone for good: its place is so short a digest that names share one now and then. All that
    costs is that a conversation begins with a higher cursor.
    """

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    place = models.PositiveBigIntegerField()
    last_cursor = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "place"], name="session_ended_once")
        ]

    def __str__(self) -> str:
        return f"{self.place:x}:{self.last_cursor}"


def place_of(scope: str, session_id: str) -> int:
    """Return where a vault remembers how far a conversation came."""
    name = hashlib.sha256(f"{scope} {session_id}".encode()).digest()
    return int.from_bytes(name[:_PLACE_BYTES])


class DeltaRecord(TenantModel):
    """One delta of a session: what it said, for people, and how to walk over it, for replay."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    # Deleting a session names its vault for both tables; a cascade would name the session alone.
    session = models.ForeignKey(
        WorkingSession,
        on_delete=models.DO_NOTHING,
        related_name="deltas",
        db_constraint=False,
        db_index=False,
    )
    cursor = models.PositiveIntegerField()
    turn = models.PositiveIntegerField()
    request_digest = models.CharField(max_length=80, blank=True, default="")
    payload = models.JSONField(help_text="step: base, before, after; told: new, evicted, superseded, …")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "session", "cursor"], name="delta_cursor_once")
        ]

    def __str__(self) -> str:
        return f"{self.session_id}:{self.cursor}"
