"""What is kept of an answer, the receipt that explains it and the pin that replays it; and what answers must hold."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from memories.access import EVERY_PROJECT, SCOPE_LENGTH
from memories.ids import new_ref, random_key
from memories.models.tenancy import TenantModel


def new_receipt_ref() -> str:
    return new_ref("rcp")


def new_probe_ref() -> str:
    return new_ref("prb")


class Receipt(TenantModel):
    """The audit record of one pack: what was served to whom and why; no memory text."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=40, default=new_receipt_ref, editable=False)
    actor = models.CharField(max_length=200)
    projects = models.JSONField(
        null=True, blank=True, help_text="the projects that the asker saw; empty: all of them"
    )
    session_id = models.CharField(max_length=200, blank=True, default="")
    assembled_at = models.DateTimeField(default=timezone.now)
    task = models.TextField()
    request = models.JSONField(default=dict)
    profile = models.CharField(max_length=40)
    budget_tokens = models.PositiveIntegerField()
    budget_used = models.PositiveIntegerField()
    coverage = models.JSONField(default=dict)
    items = models.JSONField(default=list)
    fates = models.JSONField(default=list)
    pool = models.JSONField(
        default=dict, help_text="how every candidate matched, so that they can be packed again"
    )
    pack_digest = models.CharField(max_length=80)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["vault", "ref"], name="receipt_ref_once")]
        indexes: ClassVar = [
            models.Index(fields=["vault", "assembled_at", "id"], name="receipt_by_time"),
            models.Index(fields=["vault", "session_id"], name="receipt_by_session"),
        ]

    def __str__(self) -> str:
        return self.ref


class Pin(TenantModel):
    """A pack kept under its content address, byte for byte, until something in it is withdrawn."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=80)
    scope = models.CharField(
        max_length=SCOPE_LENGTH,
        default=EVERY_PROJECT,
        help_text="digest of the projects that its callers see; * is all",
    )
    projects = models.JSONField(null=True, blank=True, help_text="these projects by name; empty: all of them")
    digest = models.CharField(max_length=80)
    content_type = models.CharField(max_length=100)
    body = models.BinaryField()
    refs = models.JSONField(default=list, help_text="every memory whose text stands in the body")
    created_at = models.DateTimeField(default=timezone.now)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "ref", "scope"], name="pin_once_per_scope")
        ]

    def __str__(self) -> str:
        return self.ref


class Probe(TenantModel):
    """A question whose answer is known: which memories its pack must carry, and which it must not."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=40, default=new_probe_ref, editable=False)
    name = models.CharField(max_length=100)
    task = models.TextField()
    model = models.CharField(max_length=200, blank=True, default="")
    token_budget = models.PositiveIntegerField(
        null=True, blank=True, help_text="empty: what is usual for the model"
    )
    project = models.CharField(max_length=100, blank=True, default="", help_text="empty: every project")
    must = models.JSONField(default=list, blank=True, help_text="refs that have to be in the pack")
    must_not = models.JSONField(default=list, blank=True, help_text="refs that may not be in it")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["vault", "ref"], name="probe_ref_once")]

    def __str__(self) -> str:
        return self.ref
