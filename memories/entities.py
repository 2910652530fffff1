"""Entities as a caller may see them: only what some memory in sight is about. Reads only."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, QuerySet

from cortex.errors import NotHere
from memories.access import Caller
from memories.core.entities import entity_key
from memories.models import Alias, Entity, Mention
from memories.reading import readable_by

NEIGHBOURS_LIMIT: Final = 50


def entities_visible_to(caller: Caller, *, name: str | None = None, at: datetime) -> QuerySet[Entity, Entity]:
    """Entities that a memory in sight mentions; with a name, those that are called so, whole."""
    vault_id = caller.vault.pk
    named = _mentions(caller, at=at).values("entity_id")
    rows = Entity.objects.filter(vault_id=vault_id, pk__in=named)
    if name is None:
        return rows
    aliases = Alias.objects.filter(vault_id=vault_id, key=entity_key(name))
    return rows.filter(pk__in=aliases.values("entity_id"))


def find_entity(caller: Caller, ref: str, *, at: datetime) -> Entity:
    """Raises: NotHere."""
    found = entities_visible_to(caller, at=at).filter(ref=ref).first()
    if found is None:
        raise NotHere
    return found


def shown_entities(caller: Caller, entities: Sequence[Entity], *, at: datetime) -> list[dict[str, Any]]:
    """Show entities with their other names and how many memories in sight are about each; two statements."""
    pks = [entity.pk for entity in entities]
    if not pks:
        return []
    aliases = _aliases_of(caller.vault.pk, pks)
    counts = dict(
        _mentions(caller, at=at)
        .filter(entity_id__in=pks)
        .values_list("entity_id")
        .annotate(memories=Count("memory_id"))
        .order_by()
    )
    return [
        {
            "id": entity.ref,
            "name": entity.name,
            "aliases": [name for name in aliases.get(entity.pk, ()) if name != entity.name],
            "memories": counts.get(entity.pk, 0),
        }
        for entity in entities
    ]


def entity_document(caller: Caller, entity: Entity, *, at: datetime) -> dict[str, Any]:
    """Show one entity with its neighbours: what the memories about it are about as well, most shared first."""
    about = _mentions(caller, at=at).filter(entity_id=entity.pk).values("memory_id")
    shared = (
        Mention.objects.filter(
            vault_id=caller.vault.pk, memory_id__in=about, entity__vault_id=caller.vault.pk
        )
        .exclude(entity_id=entity.pk)
        .values("entity__ref", "entity__name")
        .annotate(together=Count("memory_id"))
        .order_by("-together", "entity__name", "entity__ref")
    )
    neighbours = [
        {"id": row["entity__ref"], "name": row["entity__name"], "shared": row["together"]}
        for row in shared[:NEIGHBOURS_LIMIT]
    ]
    return {**shown_entities(caller, [entity], at=at)[0], "neighbours": neighbours}


def _mentions(caller: Caller, *, at: datetime) -> QuerySet[Mention, Mention]:
    memories = readable_by(caller, at=at).filter(redacted_at__isnull=True)
    return Mention.objects.filter(vault_id=caller.vault.pk, memory_id__in=memories.values("pk"))


def _aliases_of(vault_id: str, pks: Sequence[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    rows = Alias.objects.filter(vault_id=vault_id, entity_id__in=pks).order_by("name", "pk")
    for pk, name in rows.values_list("entity_id", "name"):
        found.setdefault(pk, []).append(name)
    return found
