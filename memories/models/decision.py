"""What was decided about memories: who, when, what, and whatever taking it back needs."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from memories.core.kinds import Verb
from memories.ids import new_decision_ref, random_key
from memories.models.tenancy import TenantModel


class Decision(TenantModel):
    """One decision of a review. Memories are named by their refs, so that the row outlives what it was about.

    Whatever may hold words of a memory (`reason`, `before`, `after`, `kept`) goes when that memory is redacted or
    forgotten: `memories/writing/erasing.py`.
    """

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=40, default=new_decision_ref, editable=False)
    memory = models.CharField(max_length=40, help_text="the ref of the memory that it is about")
    other = models.CharField(
        max_length=40, blank=True, default="", help_text="of a conflict: the ref of its right side"
    )
    verb = models.CharField(max_length=10, choices=[(v.value, v.value) for v in Verb])
    actor = models.CharField(max_length=200)
    at = models.DateTimeField(
        default=timezone.now, help_text="of one memory's decisions none has another's moment"
    )
    reason = models.CharField(max_length=2000, blank=True, default="")
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    kept = models.JSONField(null=True, blank=True, editable=False, help_text="what taking it back needs")
    undoes = models.CharField(
        max_length=40, blank=True, default="", help_text="the ref of the decision that it took back"
    )
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["vault", "ref"], name="decision_ref_once")]
        indexes: ClassVar = [
            models.Index(fields=["vault", "at"], name="decision_by_time"),
            models.Index(fields=["vault", "memory", "at"], name="decision_by_memory"),
            models.Index(fields=["vault", "other"], name="decision_by_other"),
        ]

    def __str__(self) -> str:
        return self.ref


class KeptRef(TenantModel):
    """That what a decision keeps for being taken back names a memory which the decision is not about."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    decision = models.ForeignKey(
        Decision, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    ref = models.CharField(max_length=40)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "decision", "ref"], name="kept_ref_once")
        ]
        indexes: ClassVar = [models.Index(fields=["vault", "ref"], name="kept_ref_by_ref")]

    def __str__(self) -> str:
        return self.ref
