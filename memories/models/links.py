"""How memories stand to one another, and what is left of a forgotten one."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from memories.ids import new_conflict_ref, random_key
from memories.models.memory import Memory
from memories.models.tenancy import TenantModel


class Supersession(TenantModel):
    """One memory replaced by another: who said so, when, and why. A memory has one successor at most."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    old = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="successions", db_constraint=False)
    new = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="precessions", db_constraint=False)
    reason = models.CharField(max_length=2000, blank=True, default="")
    actor = models.CharField(max_length=200)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "old"], name="one_successor_each"),
            models.CheckConstraint(
                condition=~models.Q(old=models.F("new")), name="nothing_supersedes_itself"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["vault", "new"], name="supersession_by_new")]

    def __str__(self) -> str:
        return f"{self.old_id} → {self.new_id}"


class ProposedSupersession(TenantModel):
    """That a memory would replace another once it is approved: until then the old one stays current."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    old = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="proposed_successions", db_constraint=False
    )
    new = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="proposed_precessions", db_constraint=False
    )
    reason = models.CharField(max_length=2000, blank=True, default="")
    actor = models.CharField(max_length=200)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "old", "new"], name="proposal_once_per_pair"),
        ]
        indexes: ClassVar = [models.Index(fields=["vault", "new"], name="proposal_by_new")]

    def __str__(self) -> str:
        return f"{self.old_id} ⇢ {self.new_id}"


class Conflict(TenantModel):
    """Two memories that cannot both be true; open until a person or a write resolves it."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=40, default=new_conflict_ref, editable=False)
    left = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="conflicts_left", db_constraint=False
    )
    right = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="conflicts_right", db_constraint=False
    )
    reason = models.CharField(max_length=200)
    detected_at = models.DateTimeField(default=timezone.now)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolution = models.CharField(
        max_length=40, blank=True, default="", help_text="the ref that was kept, or both"
    )
    resolved_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "ref"], name="conflict_ref_once"),
            models.UniqueConstraint(fields=["vault", "left", "right"], name="conflict_once_per_pair"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["vault", "resolved_at"], name="conflict_open"),
            models.Index(fields=["vault", "right"], name="conflict_by_right"),
        ]

    def __str__(self) -> str:
        return self.ref


class Tombstone(TenantModel):
    """That a memory was here and was forgotten; nothing of what it said."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=40)
    forgotten_at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=200)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["vault", "ref"], name="tombstone_once")]

    def __str__(self) -> str:
        return self.ref


class IdempotencyRecord(TenantModel):
    """The first answer to a POST that carried an Idempotency-Key, for its repetitions."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    actor = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    request_digest = models.CharField(max_length=80)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "actor", "key"], name="idempotency_key_once")
        ]
        indexes: ClassVar = [models.Index(fields=["vault", "created_at"], name="idempotency_by_age")]

    def __str__(self) -> str:
        return self.key
