"""Importing captures, sources and entities."""

from collections.abc import Sequence

from cortex.errors import CortexError
from memories.core.entities import entity_key
from memories.core.hostility import is_instruction_like
from memories.core.kinds import Flag
from memories.core.text import content_hash
from memories.models import Alias, Capture, Entity, Memory, Source
from memories.transfer.landing import HERE, OTHERWISE, Landing, Reasons, Row, is_same, sift
from memories.writing.naming import entities_of_keys
from memories.writing.preparing import NAME_LENGTH, TITLE_LENGTH, URL_LENGTH, Masking, check_url


def land_captures(landing: Landing, rows: Sequence[Row]) -> Reasons:
    vault_id = landing.vault.pk
    refs = [row["ref"] for row in rows]
    known = {capture.ref: capture for capture in Capture.objects.filter(vault_id=vault_id, ref__in=refs)}
    masked = [
        row | _masked(landing, row, content=None, title=TITLE_LENGTH, url=URL_LENGTH, source=NAME_LENGTH)
        for row in rows
    ]

    def refuse(row: Row) -> str | None:
        if row["ref"] not in known:
            return "what cites it was withdrawn here" if row["ref"] in landing.lost_captures else None
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
    rows = [row | _masked(landing, row, url=URL_LENGTH, title=TITLE_LENGTH, text=None) for row in rows]
    pks = [memories[row["memory"]] for row in rows if row["memory"] in memories]
    of_them = Source.objects.filter(vault_id=landing.vault.pk, memory_id__in=pks)
    stored = set(of_them.values_list("memory_id", "url"))

    def refuse(row: Row) -> str | None:
        if row["memory"] not in memories:
            return f"{row['memory']} is missing"
        if row["memory"] in landing.redacted:
            return f"{row['memory']} was redacted here"
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
            title=row["title"],
            text=row["text"],
        )

    reasons, made = sift(rows, refuse, make)
    Source.objects.bulk_create(made)
    _withhold_citing(landing.vault.pk, made)
    return reasons


def land_entities(landing: Landing, rows: Sequence[Row]) -> Reasons:
    """Store entities with their aliases; a name that is taken here stays with whom it names."""
    vault_id = landing.vault.pk
    entities = landing.find_entities(row["ref"] for row in rows)
    rows = [row | _masked_names(row) for row in rows]
    known = entities_of_keys(vault_id, {entity_key(name) for row in rows for name in _names(row)})
    aliases: list[Alias] = []

    def refuse(row: Row) -> str | None:
        if row["ref"] in entities:
            return HERE
        key = entity_key(row["name"])
        if key in known:
            entities[row["ref"]] = known[key]
            return "known here by the same name"
        if any(map(is_instruction_like, _names(row))):
            return "a name of it reads as an instruction"
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


def _masked_names(row: Row) -> Row:
    masking = Masking()
    aliases = list(masking.names(row["aliases"], limit=NAME_LENGTH))
    return {"name": masking.text(row["name"], limit=NAME_LENGTH), "aliases": aliases}


def _names(row: Row) -> list[str]:
    return [row["name"], *row["aliases"]]


def _masked(landing: Landing, row: Row, **columns: int | None) -> dict[str, str]:
    """Texts as they may be stored: without secrets, without what was forgotten here, no longer than they may be."""
    masking = Masking()
    return {
        column: masking.text(landing.without_forgotten(row[column]), limit=limit)[:limit]
        for column, limit in columns.items()
    }


def _withhold_citing(vault_id: str, sources: Sequence[Source]) -> None:
    """Let memories wait for a person if what they cite reads as an instruction, and nobody has looked at them yet."""
    hostile = {s.memory_id for s in sources if any(map(is_instruction_like, (s.title, s.text, s.url)))}
    for memory in Memory.objects.in_vault(vault_id).filter(pk__in=hostile):
        if Flag.INSTRUCTION_LIKE not in memory.flags:
            flags = [*memory.flags, str(Flag.INSTRUCTION_LIKE)]
            Memory.objects.in_vault(vault_id).filter(pk=memory.pk).update(flags=flags, withheld=True)


def _refused_url(url: str) -> str | None:
    try:
        check_url(url, field="url")
    except CortexError as error:
        return error.detail
    return None
