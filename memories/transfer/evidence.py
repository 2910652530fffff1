"""Importing captures, sources and entities."""

from collections.abc import Sequence

from cortex.errors import CortexError
from memories.core.entities import entity_key
from memories.core.secrets import mask_secrets
from memories.core.text import content_hash
from memories.models import Alias, Capture, Entity, Source
from memories.transfer.landing import HERE, OTHERWISE, Landing, Reasons, Row, is_same, sift
from memories.writing.naming import entities_of_keys
from memories.writing.preparing import check_url


def land_captures(landing: Landing, rows: Sequence[Row]) -> Reasons:
    vault_id = landing.vault.pk
    refs = [row["ref"] for row in rows]
    known = {capture.ref: capture for capture in Capture.objects.filter(vault_id=vault_id, ref__in=refs)}
    masked = [row | _masked(landing, row, "content", "title") for row in rows]

    def refuse(row: Row) -> str | None:
        if row["ref"] not in known:
            return "what cites it was forgotten here" if row["ref"] in landing.lost_captures else None
        return HERE if is_same(known[row["ref"]], row) else OTHERWISE

    def make(row: Row) -> Capture:
        known[row["ref"]] = Capture(vault_id=vault_id, content_hash=content_hash(row["content"]), **row)
        return known[row["ref"]]

    reasons, made = sift(masked, refuse, make)
    Capture.objects.bulk_create(made)
    landing.captures |= {ref: capture.pk for ref, capture in known.items()}
    return reasons


def land_sources(landing: Landing, rows: Sequence[Row]) -> Reasons:
    memories = landing.find_memories(rows, "memory")
    captures = landing.find_captures(rows, "capture")
    pks = [memories[row["memory"]] for row in rows if row["memory"] in memories]
    of_them = Source.objects.filter(vault_id=landing.vault.pk, memory_id__in=pks)
    stored = set(of_them.values_list("memory_id", "url"))

    def refuse(row: Row) -> str | None:
        if row["memory"] not in memories:
            return f"{row['memory']} is missing"
        if row["capture"] is not None and row["capture"] not in captures:
            return f"{row['capture']} is missing"
        if (memories[row["memory"]], row["url"]) in stored:
            return HERE
        return _refused_url(row["url"])

    def make(row: Row) -> Source:
        stored.add((memories[row["memory"]], row["url"]))
        return Source(
            vault_id=landing.vault.pk,
            memory_id=memories[row["memory"]],
            capture_id=captures.get(row["capture"]),
            url=row["url"],
            added_at=row["added_at"],
            **_masked(landing, row, "title", "text"),
        )

    reasons, made = sift(rows, refuse, make)
    Source.objects.bulk_create(made)
    return reasons


def land_entities(landing: Landing, rows: Sequence[Row]) -> Reasons:
    """Store entities with their aliases; a name that is taken here stays with whom it names."""
    vault_id = landing.vault.pk
    entities = landing.find_entities(row["ref"] for row in rows)
    known = entities_of_keys(vault_id, {entity_key(name) for row in rows for name in _names(row)})
    aliases: list[Alias] = []

    def refuse(row: Row) -> str | None:
        if row["ref"] in entities:
            return HERE
        key = entity_key(row["name"])
        if key in known:
            entities[row["ref"]] = known[key]
            return "known here by the same name"
        return None if key else "the name names nothing"

    def make(row: Row) -> Entity:
        entity = Entity(vault_id=vault_id, ref=row["ref"], name=row["name"], created_at=row["created_at"])
        entities[row["ref"]] = entity.pk
        for name in _names(row):
            key = entity_key(name)
            if key and key not in known:
                known[key] = entity.pk
                aliases.append(Alias(vault_id=vault_id, entity_id=entity.pk, key=key, name=name))
        return entity

    reasons, made = sift(rows, refuse, make)
    Entity.objects.bulk_create(made)
    Alias.objects.bulk_create(aliases)
    return reasons


def _names(row: Row) -> list[str]:
    return [row["name"], *row["aliases"]]


def _masked(landing: Landing, row: Row, *columns: str) -> dict[str, str]:
    """Texts as they may be stored: without secrets, and without what was forgotten here."""
    return {column: mask_secrets(landing.without_forgotten(row[column]))[0] for column in columns}


def _refused_url(url: str) -> str | None:
    try:
        check_url(url, field="url")
    except CortexError as error:
        return error.detail
    return None
