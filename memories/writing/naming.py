"""Who and what memories are about: entities, their aliases, and the mentions that tie them to memories."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from memories.core.entities import entity_key
from memories.models import Alias, Entity, Memory, Mention
from memories.rows import delete_rows, in_chunks


def link_entities(vault_id: str, names: Mapping[int, Sequence[str]], *, now: datetime) -> None:
    """Tie memories to what they name, making entities where a name is new.

    Args:
        names: memory id → names as written; equal keys (`entity_key`) mean one entity.
    """
    by_key: dict[str, str] = {}
    for listed in names.values():
        for name in listed:
            if key := entity_key(name):
                by_key.setdefault(key, name)
    if not by_key:
        return
    entities = _entities_named(vault_id, by_key, now=now)
    pairs = {
        (pk, entities[key]) for pk, listed in names.items() for name in listed if (key := entity_key(name))
    }
    Mention.objects.bulk_create(
        [Mention(vault_id=vault_id, memory_id=pk, entity_id=entity) for pk, entity in sorted(pairs)],
        ignore_conflicts=True,
    )


def _entities_named(vault_id: str, by_key: Mapping[str, str], *, now: datetime) -> dict[str, int]:
    """Return key → entity id for every name."""
    known = entities_of_keys(vault_id, by_key)
    missing = sorted(key for key in by_key if key not in known)
    if not missing:
        return known
    made = {key: Entity(vault_id=vault_id, name=by_key[key], created_at=now) for key in missing}
    aliases = [Alias(vault_id=vault_id, entity_id=e.pk, name=e.name, key=key) for key, e in made.items()]
    Alias.objects.bulk_create(aliases, ignore_conflicts=True)
    # A parallel write may have named it first: the alias that is stored decides which entity it is.
    known |= entities_of_keys(vault_id, missing)
    Entity.objects.bulk_create([entity for key, entity in made.items() if known[key] == entity.pk])
    return known


def entities_of_keys(vault_id: str, keys: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for chunk in in_chunks(set(keys)):
        rows = Alias.objects.filter(vault_id=vault_id, key__in=chunk)
        found.update(rows.values_list("key", "entity_id"))
    return found


def unlink_entities(
    vault_id: str, memory_ids: Sequence[int], *, projects: Collection[str] | None = None
) -> int:
    """Untie memories from what they name, and drop the entities that nothing names any more.

    Args:
        projects: what whoever is told the count sees, beside the memories without a project; None for all.
    Returns: how many entities are gone for them: also those that stay because of memories out of their sight.
    """
    mentions = Mention.objects.filter(vault_id=vault_id, memory_id__in=memory_ids)
    touched = set(mentions.values_list("entity_id", flat=True))
    delete_rows(mentions)
    dropped = _drop_unnamed(vault_id, touched)
    return dropped if projects is None else _unseen(vault_id, touched, projects)


def _unseen(vault_id: str, entity_ids: set[int], projects: Collection[str]) -> int:
    seen = Memory.objects.in_vault(vault_id).filter(project__in=sorted({"", *projects}))
    left = set[int]()
    for chunk in in_chunks(entity_ids):
        rows = Mention.objects.filter(vault_id=vault_id, entity_id__in=chunk, memory_id__in=seen.values("pk"))
        left |= set(rows.values_list("entity_id", flat=True))
    return len(entity_ids - left)


def _drop_unnamed(vault_id: str, entity_ids: set[int]) -> int:
    dropped = 0
    for chunk in in_chunks(entity_ids):
        named = Mention.objects.filter(vault_id=vault_id, entity_id__in=chunk).values_list(
            "entity_id", flat=True
        )
        orphans = set(chunk) - set(named)
        delete_rows(Alias.objects.filter(vault_id=vault_id, entity_id__in=orphans))
        dropped += delete_rows(Entity.objects.filter(vault_id=vault_id, pk__in=orphans))
    return dropped
