"""The evidence: raw captures, the typed memories made from them, and what each memory cites."""

from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from memories.core.kinds import Author, Kind, MemoryLayer, Status
from memories.ids import new_capture_ref, new_memory_ref, random_key, random_revision
from memories.models.tenancy import TenantModel
from memories.querysets import MemoryQuerySet


class Capture(TenantModel):
    """Raw text as it came in, kept as cited evidence."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=40, default=new_capture_ref, editable=False)
    content = models.TextField()
    content_hash = models.CharField(max_length=64, blank=True, default="", editable=False)
    title = models.CharField(max_length=500, blank=True, default="")
    url = models.CharField(max_length=2000, blank=True, default="")
    source = models.CharField(max_length=200, blank=True, default="")
    project = models.CharField(max_length=100, blank=True, default="")
    author = models.CharField(
        max_length=10, choices=[(a.value, a.value) for a in Author], default=Author.AGENT
    )
    occurred_at = models.DateTimeField(null=True, blank=True)
    captured_at = models.DateTimeField(default=timezone.now)
    awaits_extraction = models.BooleanField(
        default=False, editable=False, help_text="a language model has yet to read it"
    )
    extraction_tries = models.PositiveSmallIntegerField(default=0, editable=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["vault", "ref"], name="capture_ref_once")]
        indexes: ClassVar = [
            models.Index(fields=["vault", "content_hash"], name="capture_by_content"),
            models.Index(
                fields=["vault", "id"],
                condition=models.Q(awaits_extraction=True),
                name="capture_to_extract",
            ),
        ]

    def __str__(self) -> str:
        return self.ref


class Memory(TenantModel):
    """One typed, cited claim. The text is final; a correction is another memory, in its place."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=40, default=new_memory_ref, editable=False)
    content = models.TextField()
    content_hash = models.CharField(max_length=64, editable=False)
    summary = models.TextField(null=True, blank=True)  # noqa: DJ001 - null is "none", "" would be a summary
    kind = models.CharField(max_length=20, choices=[(k.value, k.value) for k in Kind], default=Kind.CLAIM)
    layer = models.CharField(max_length=20, choices=[(m.value, m.value) for m in MemoryLayer])
    project = models.CharField(max_length=100, blank=True, default="")
    status = models.CharField(max_length=10, choices=[(s.value, s.value) for s in Status])
    author = models.CharField(
        max_length=10, choices=[(a.value, a.value) for a in Author], default=Author.AGENT
    )
    confidence = models.FloatField(null=True, blank=True)

    occurred_at = models.DateTimeField(null=True, blank=True)
    captured_at = models.DateTimeField(default=timezone.now)
    recorded_at = models.DateTimeField(default=timezone.now)
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    true_since = models.DateTimeField(
        editable=False, help_text="derived: valid_from, else the earlier of seen and captured"
    )

    tags = models.JSONField(default=list, blank=True)
    thread = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - null: belongs to no thread
    position = models.IntegerField(null=True, blank=True)
    speaker = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    occurrences = models.PositiveIntegerField(default=1)

    flags = models.JSONField(default=list, blank=True)
    withheld = models.BooleanField(default=False, help_text="flagged, and no person has looked at it yet")
    reviewed_at = models.DateTimeField(null=True, blank=True, editable=False)
    reviewed_by = models.CharField(max_length=200, blank=True, default="", editable=False)
    redacted_at = models.DateTimeField(null=True, blank=True, editable=False)

    superseded_by = models.CharField(max_length=40, null=True, blank=True, editable=False)  # noqa: DJ001
    superseded_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="when the vault learnt it"
    )
    superseded_from = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="since when it is untrue"
    )

    term_hashes = models.BinaryField(default=b"", editable=False)
    traits = models.PositiveSmallIntegerField(default=0, editable=False, help_text="derived: core/traits.py")
    revision = models.BigIntegerField(
        default=random_revision, editable=False, help_text="another one with every change"
    )

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memories"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "ref"], name="memory_ref_once"),
            models.UniqueConstraint(
                fields=["vault", "project", "content_hash"],
                condition=models.Q(superseded_by__isnull=True, redacted_at__isnull=True),
                name="memory_content_once",
            ),
            models.CheckConstraint(
                condition=models.Q(confidence__isnull=True) | models.Q(confidence__gte=0, confidence__lte=1),
                name="memory_confidence_is_a_share",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["vault", "captured_at", "id"], name="memory_by_time"),
            models.Index(fields=["vault", "status", "layer"], name="memory_by_layer"),
            models.Index(fields=["vault", "status", "withheld"], name="memory_waiting"),
            models.Index(fields=["vault", "thread", "position"], name="memory_by_thread"),
            models.Index(fields=["vault", "superseded_by"], name="memory_by_successor"),
            models.Index(fields=["vault", "revision", "id"], name="memory_by_revision"),
            models.Index(
                fields=["vault", "content_hash"],
                condition=models.Q(superseded_by__isnull=False),
                name="memory_corrected",
            ),
        ]

    def __str__(self) -> str:
        return self.ref

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.revision = random_revision()
        if kwargs.get("update_fields") is not None:
            kwargs["update_fields"] = {*kwargs["update_fields"], "revision"}
        super().save(*args, **kwargs)


class Source(TenantModel):
    """Where a memory comes from; what an answer cites."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="sources", db_constraint=False)
    capture = models.ForeignKey(
        Capture, on_delete=models.SET_NULL, null=True, blank=True, related_name="sources", db_constraint=False
    )
    url = models.CharField(max_length=2000)
    title = models.CharField(max_length=500, blank=True, default="")
    text = models.TextField(blank=True, default="")
    added_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "memory", "url"], name="source_once_per_memory")
        ]

    def __str__(self) -> str:
        return self.url
