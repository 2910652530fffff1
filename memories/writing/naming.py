"""Who and what memories are about: entities, their aliases, and the mentions that tie them to memories."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memories.core.entities import entity_key
from memories.models import Alias, Entity, Mention
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


def unlink_entities(vault_id: str, memory_ids: Sequence[int]) -> int:
    """Untie memories from what they name, and drop the entities that nothing names any more.

    Returns: how many entities went.
    """
    mentions = Mention.objects.filter(vault_id=vault_id, memory_id__in=memory_ids)
    touched = set(mentions.values_list("entity_id", flat=True))
    delete_rows(mentions)
    return _drop_unnamed(vault_id, touched)


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
