"""A vault as lines, streamed: a bounded statement at a time, no long transaction, no write lock.

What has expired is not exported, nor what only belongs to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from cortex.api.rendering import dump_json
from memories.models import (
    Alias,
    Capture,
    Conflict,
    Entity,
    Memory,
    Mention,
    ProposedSupersession,
    Source,
    Supersession,
    Tombstone,
    Vault,
)
from memories.querysets import MemoryQuerySet
from memories.rows import CHUNK
from memories.transfer.rowforms import (
    CLASSES,
    FORMAT,
    HEADER,
    PLURALS,
    capture_row,
    conflict_row,
    entity_row,
    link_row,
    memory_row,
    source_row,
    tombstone_row,
)
from memories.writing.erasing import cut_out

M = TypeVar("M", bound=Model)


def export_lines(vault: Vault, *, now: datetime) -> Iterator[bytes]:
    """Yield a vault line by line: first how many rows of each class follow, then the rows, in a fixed order.

    Args:
        now: what has expired by then is left out.
    """
    rows = _Exported(vault_id=vault.pk, now=now)
    yield _line({HEADER: FORMAT, "counts": {PLURALS[name]: rows.of(name).count() for name in CLASSES}})
    for name in CLASSES:
        yield from map(_line, _WRITERS[name](rows))


def _line(row: dict[str, Any]) -> bytes:
    return dump_json(row) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exported:
    """The rows of a vault that an export holds, class by class."""

    vault_id: str
    now: datetime

    def of(self, name: str) -> QuerySet[Any, Any]:
        rows: QuerySet[Any, Any] = getattr(self, PLURALS[name])()
        return rows

    def memories(self) -> MemoryQuerySet:
        return Memory.objects.in_vault(self.vault_id).filter(self._unexpired(""))

    def captures(self) -> QuerySet[Capture, Capture]:
        cited = Source.objects.filter(vault_id=self.vault_id, capture_id__isnull=False).values("capture_id")
        of_others = cited.filter(memory_id__in=self.memories().values("pk"))
        only_expired = Q(pk__in=cited) & ~Q(pk__in=of_others)
        return Capture.objects.filter(~only_expired, vault_id=self.vault_id)

    def expired_texts(self, captures: Sequence[Capture]) -> dict[int, list[str]]:
        """Return by capture the texts in it that have expired and are not swept yet, in their order."""
        citing = Source.objects.filter(
            vault_id=self.vault_id,
            capture_id__in=[capture.pk for capture in captures],
            memory__vault_id=self.vault_id,
            memory__expires_at__lte=self.now,
        )
        texts: dict[int, list[str]] = {}
        for pk, text in citing.order_by("memory__content").values_list("capture_id", "memory__content"):
            texts.setdefault(pk, []).append(text)
        return texts

    def entities(self) -> QuerySet[Entity, Entity]:
        named = Mention.objects.filter(vault_id=self.vault_id, memory_id__in=self.memories().values("pk"))
        return Entity.objects.filter(vault_id=self.vault_id, pk__in=named.values("entity_id"))

    def sources(self) -> QuerySet[Source, Source]:
        return Source.objects.filter(vault_id=self.vault_id, memory_id__in=self.memories().values("pk"))

    def supersessions(self) -> QuerySet[Supersession, Supersession]:
        return Supersession.objects.filter(self._both("old", "new"), vault_id=self.vault_id)

    def proposals(self) -> QuerySet[ProposedSupersession, ProposedSupersession]:
        return ProposedSupersession.objects.filter(self._both("old", "new"), vault_id=self.vault_id)

    def conflicts(self) -> QuerySet[Conflict, Conflict]:
        return Conflict.objects.filter(self._both("left", "right"), vault_id=self.vault_id)

    def tombstones(self) -> QuerySet[Tombstone, Tombstone]:
        return Tombstone.objects.filter(vault_id=self.vault_id)

    def _unexpired(self, prefix: str) -> Q:
        return Q(**{f"{prefix}expires_at__isnull": True}) | Q(**{f"{prefix}expires_at__gt": self.now})

    def _both(self, *ends: str) -> Q:
        found = Q()
        for end in ends:
            found &= Q(**{f"{end}__vault_id": self.vault_id}) & self._unexpired(f"{end}__")
        return found


# -- The rows of each class, in order ------------------------------------------------------------


def _captures(rows: _Exported) -> Iterator[dict[str, Any]]:
    for chunk in _by_ref(rows.captures()):
        expired = rows.expired_texts(chunk)
        for capture in chunk:
            if texts := expired.get(capture.pk):  # other memories cite it too
                capture.content = cut_out(capture.content, texts)
            yield capture_row(capture)


def _entities(rows: _Exported) -> Iterator[dict[str, Any]]:
    for chunk in _by_ref(rows.entities()):
        aliases: dict[int, list[str]] = {}
        of_them = Alias.objects.filter(vault_id=rows.vault_id, entity_id__in=[entity.pk for entity in chunk])
        for pk, name in of_them.order_by("key").values_list("entity_id", "name"):
            aliases.setdefault(pk, []).append(name)
        yield from (entity_row(entity, aliases.get(entity.pk, ())) for entity in chunk)


def _memories(rows: _Exported) -> Iterator[dict[str, Any]]:
    for chunk in _by_ref(rows.memories()):
        about: dict[int, list[str]] = {}
        mentions = Mention.objects.filter(
            vault_id=rows.vault_id,
            memory_id__in=[memory.pk for memory in chunk],
            entity__vault_id=rows.vault_id,
        )
        for pk, ref in mentions.order_by("entity__ref").values_list("memory_id", "entity__ref"):
            about.setdefault(pk, []).append(ref)
        yield from (memory_row(memory, about.get(memory.pk, ())) for memory in chunk)


def _sources(rows: _Exported) -> Iterator[dict[str, Any]]:
    for refs in _memory_refs(rows):
        sources = Source.objects.filter(vault_id=rows.vault_id, memory_id__in=refs)
        found = sorted(sources, key=lambda source: (refs[source.memory_id], source.url))
        captures = Capture.objects.filter(
            vault_id=rows.vault_id, pk__in={source.capture_id for source in found if source.capture_id}
        )
        named = dict(captures.values_list("pk", "ref"))
        for source in found:
            capture = named.get(source.capture_id) if source.capture_id else None
            yield source_row(source, memory=refs[source.memory_id], capture=capture)


def _links(links: QuerySet[Any, Any], rows: _Exported) -> Iterator[dict[str, Any]]:
    for refs in _memory_refs(rows):
        of_them = links.filter(old_id__in=refs).select_related("old", "new")
        yield from map(link_row, sorted(of_them, key=lambda link: (link.old.ref, link.new.ref)))


def _supersessions(rows: _Exported) -> Iterator[dict[str, Any]]:
    return _links(rows.supersessions(), rows)


def _proposals(rows: _Exported) -> Iterator[dict[str, Any]]:
    return _links(rows.proposals(), rows)


def _conflicts(rows: _Exported) -> Iterator[dict[str, Any]]:
    for chunk in _by_ref(rows.conflicts().select_related("left", "right")):
        yield from map(conflict_row, chunk)


def _tombstones(rows: _Exported) -> Iterator[dict[str, Any]]:
    for chunk in _by_ref(rows.tombstones()):
        yield from map(tombstone_row, chunk)


_WRITERS = {
    "capture": _captures,
    "entity": _entities,
    "memory": _memories,
    "source": _sources,
    "supersession": _supersessions,
    "proposal": _proposals,
    "conflict": _conflicts,
    "tombstone": _tombstones,
}


def _by_ref(rows: QuerySet[M, M]) -> Iterator[list[M]]:
    """Yield rows in the order of their refs, some at a time."""
    last = ""
    while chunk := list(rows.filter(ref__gt=last).order_by("ref")[:CHUNK]):
        yield chunk
        last = chunk[-1].ref  # type: ignore[attr-defined] # every class that comes here has one


def _memory_refs(rows: _Exported) -> Iterable[dict[int, str]]:
    """Yield the memories as key → ref, some at a time, in the order of their refs."""
    last = ""
    while chunk := dict(
        rows.memories().filter(ref__gt=last).order_by("ref").values_list("pk", "ref")[:CHUNK]
    ):
        yield chunk
        last = list(chunk.values())[-1]  # as the database orders
