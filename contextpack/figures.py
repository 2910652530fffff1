"""A vault in figures for the overview: each function a bounded statement or two, whatever the vault holds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import Count, DateTimeField, Min, Q, Sum
from django.db.models.functions import Coalesce, TruncDate

from contextpack.models import Receipt
from memories.backups import newest
from memories.models import Conflict, LooseVector, Memory, SearchDocument, VectorChunk
from memories.querysets import MemoryQuerySet
from memories.search.backlog import count_waiting
from memories.search.embedding import active_embedder
from sessions.models import DeltaRecord

RECEIPTS_READ: Final = 1_000  # the newest
DELTAS_READ: Final = 5_000
AGES: Final = (
    ("1 w", timedelta(days=7)),
    ("1 mo", timedelta(days=30)),
    ("3 mo", timedelta(days=91)),
    ("6 mo", timedelta(days=182)),
    ("1 y", timedelta(days=365)),
)
OLDER: Final = "older"
BACKUP_LATE: Final = timedelta(days=7)


def current(vault_id: str, *, now: datetime) -> MemoryQuerySet:
    """The memories that packs may carry now."""
    return Memory.objects.in_vault(vault_id).servable(now).current_as_of(now, known_at=now)


# -- Growth, layers, ages --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How many memories there were at the end of each of several days: ever written, and replaced by then."""

    days: tuple[date, ...]
    written: tuple[int, ...]
    replaced: tuple[int, ...]


def growth(vault_id: str, *, until: date, places: int) -> Growth:
    """Count what was written and replaced from the first day on, at equal distances; two statements."""
    rows = Memory.objects.in_vault(vault_id)
    written = _by_day(rows, "recorded_at")
    replaced = _by_day(rows.filter(superseded_by__isnull=False), "superseded_at")
    days = _spread(min(written, default=until), until, places=places)
    return Growth(days=days, written=_summed_until(written, days), replaced=_summed_until(replaced, days))


def _by_day(rows: MemoryQuerySet, column: str) -> dict[date, int]:
    counted = rows.annotate(day=TruncDate(column)).values_list("day").annotate(Count("pk")).order_by()
    return {day: count for day, count in counted if day is not None}


def _spread(first: date, last: date, *, places: int) -> tuple[date, ...]:
    span = (last - first).days
    if span < 1:
        return (last,)
    steps = min(places - 1, span)
    return tuple(first + timedelta(days=round(span * step / steps)) for step in range(steps + 1))


def _summed_until(counts: dict[date, int], days: Sequence[date]) -> tuple[int, ...]:
    return tuple(sum(count for day, count in counts.items() if day <= until) for until in days)


def layers(rows: MemoryQuerySet) -> dict[str, int]:
    return dict(rows.values_list("layer").annotate(count=Count("pk")).order_by("layer"))


def ages(rows: MemoryQuerySet, *, now: datetime) -> dict[str, int]:
    """Count memories by how long ago they were true or observed, else captured; one statement."""
    dated = rows.annotate(moment=Coalesce("occurred_at", "captured_at", output_field=DateTimeField()))
    conditions, newer = {}, now + timedelta(days=36_500)
    for name, reach in AGES:
        conditions[name] = Q(moment__gt=now - reach, moment__lte=newer)
        newer = now - reach
    conditions[OLDER] = Q(moment__lte=newer)
    counted = dated.aggregate(
        **{
            f"age_{place}": Count("pk", filter=condition)
            for place, condition in enumerate(conditions.values())
        }
    )
    return {name: counted[f"age_{place}"] for place, name in enumerate(conditions)}


def open_conflicts(vault_id: str) -> dict[str, Any]:
    rows = Conflict.objects.filter(vault_id=vault_id, resolved_at__isnull=True)
    return rows.aggregate(count=Count("pk"), oldest=Min("detected_at"))


# -- What was served -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How often the newest packs carried each memory."""

    packs: int
    since: datetime | None
    counts: Counter[str]


def served(vault_id: str) -> Served:
    """Count what the newest packs carried, folded memories included; one statement."""
    newest = Receipt.objects.filter(vault_id=vault_id).order_by("-assembled_at", "-pk")
    counts, packs, since = Counter[str](), 0, None
    for moment, items in newest.values_list("assembled_at", "items")[:RECEIPTS_READ].iterator():
        packs, since = packs + 1, moment
        counts.update({ref for line in items for ref in (line["ref"], *line.get("folded_refs", ()))})
    return Served(packs=packs, since=since, counts=counts)


def never_served(rows: MemoryQuerySet, told: Served) -> MemoryQuerySet:
    """Narrow to what none of the counted packs carried; the oldest first."""
    return rows.exclude(ref__among=list(told.counts)).order_by("recorded_at", "pk")


def tokens_saved(vault_id: str) -> list[tuple[datetime, int]]:
    """Return what each of the newest deltas spared, oldest first, as far as sessions remember them; one statement."""
    newest = DeltaRecord.objects.filter(vault_id=vault_id).order_by("-created_at", "-pk")
    rows = newest.values_list("created_at", "payload__told__tokens_saved")[:DELTAS_READ]
    return [(moment, saved or 0) for moment, saved in reversed(rows)]


# -- Indexes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The two indexes against the rows that they are of."""

    memories: int  # that have a text
    documents: int
    embedder: str | None
    trouble: str  # why there is no embedder although one is named
    waiting: int
    vectors: dict[str, int]  # by model

    @property
    def searchable(self) -> bool:
        return self.documents == self.memories

    @property
    def others(self) -> dict[str, int]:
        """Vectors of models that are not in use; nothing is compared with them."""
        return {model: count for model, count in self.vectors.items() if model != self.embedder}


def health(vault_id: str) -> Health:
    """Compare the indexes with the rows; five statements."""
    try:
        embedder, trouble = active_embedder(), ""
    except ImproperlyConfigured as lack:
        embedder, trouble = None, str(lack)
    chunks = (
        VectorChunk.objects.filter(vault_id=vault_id).values_list("model").annotate(Sum("size")).order_by()
    )
    loose = (
        LooseVector.objects.filter(vault_id=vault_id).values_list("model").annotate(Count("pk")).order_by()
    )
    vectors = Counter(dict(chunks))
    vectors.update(dict(loose))
    return Health(
        memories=Memory.objects.in_vault(vault_id).filter(redacted_at__isnull=True).count(),
        documents=SearchDocument.objects.filter(vault_id=vault_id).count(),
        embedder=None if embedder is None else embedder.name,
        trouble=trouble,
        waiting=0 if trouble else count_waiting(vault_id),
        vectors=dict(vectors),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """When the whole database was last copied to where `manage.py backup` puts it."""

    made_at: datetime | None
    late: bool


def last_backup(*, now: datetime) -> Backup | None:
    """Look into the usual folder; None for PostgreSQL, whose own tools make its backups."""
    if connection.vendor != "sqlite":
        return None
    made_at = newest(settings.VAR_DIR / "backups")
    return Backup(made_at=made_at, late=made_at is None or now - made_at > BACKUP_LATE)
