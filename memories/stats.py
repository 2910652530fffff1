"""A vault in figures. A token limited to projects counts what it sees, and nothing else."""

from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import Length
from django.utils import timezone

from memories.access import Caller
from memories.core.kinds import Kind, MemoryLayer, Status
from memories.models import Capture, Memory
from memories.proposing import backlog as captures
from memories.proposing.chat import active_model
from memories.proposing.worker import worker
from memories.reading import conflicts_visible_to
from memories.search import vectors
from memories.search.embedding import Embedder, EmbedderUnavailable, active_embedder

_BREAKDOWNS = {"by_status": ("status", Status), "by_layer": ("layer", MemoryLayer), "by_kind": ("kind", Kind)}


def stats_of(caller: Caller) -> dict[str, Any]:
    """Count a vault's memories, and tell what is not searchable by meaning yet."""
    rows = Memory.objects.visible_to(caller)
    embedder = active_embedder()
    figures = rows.aggregate(
        total=Count("pk"),
        characters=Sum(Length("content")),
        superseded=Count("pk", filter=Q(superseded_by__isnull=False)),
    )
    return {
        "memories": figures["total"],
        "superseded": figures["superseded"],
        **{name: _breakdown(caller, column, words) for name, (column, words) in _BREAKDOWNS.items()},
        "pending_vectors": _pending_vectors(caller),
        "extraction": _extraction(caller),
        "embedder": None if embedder is None else _told_of(embedder),
        "sizes": _sizes(caller, characters=figures["characters"] or 0),
    }


def _told_of(embedder: Embedder) -> dict[str, Any]:
    try:
        return {"name": embedder.name, "dimension": embedder.dimension}
    except EmbedderUnavailable:  # only its first answer tells
        return {"name": embedder.name, "dimension": None}


def _pending_vectors(caller: Caller) -> int:
    rows = Memory.objects.visible_to(caller).filter(redacted_at__isnull=True)
    if caller.projects is None:
        return vectors.pending(caller.vault.pk, rows.count())
    return len(vectors.missing(caller.vault.pk, list(rows.values_list("pk", flat=True))))


def _extraction(caller: Caller) -> dict[str, Any] | None:
    """Tell how many captures wait for the language model, and why it does not answer; None where there is none."""
    if active_model() is None:
        return None
    return {
        "pending_captures": captures.waiting(caller.vault.pk, projects=caller.projects),
        "trouble": worker.trouble or None,
        "failures": worker.failures,
    }


def _breakdown(caller: Caller, column: str, words: type[Any]) -> dict[str, int]:
    rows = Memory.objects.visible_to(caller).values_list(column).annotate(count=Count("pk")).order_by()
    counts = dict(rows)
    return {word.value: counts.get(word.value, 0) for word in words}


def _sizes(caller: Caller, *, characters: int) -> dict[str, int]:
    captures = Capture.objects.filter(vault_id=caller.vault.pk)
    if caller.projects is not None:
        captures = captures.filter(project__in={"", *caller.projects})
    kept = captures.aggregate(count=Count("pk"), characters=Sum(Length("content")))
    open_ones = conflicts_visible_to(caller, at=timezone.now()).filter(resolved_at__isnull=True)
    return {
        "content_characters": characters,
        "captures": kept["count"],
        "capture_characters": kept["characters"] or 0,
        "open_conflicts": open_ones.count(),
    }
