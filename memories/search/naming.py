"""The entity arm: which memories are about somebody or something that a text names."""

import json
import re
from collections.abc import Collection
from typing import Final

from django.db import connection

from memories.core.entities import entity_key

LONGEST_NAME_WORDS: Final = 4
NAME_WORDS_LIMIT: Final = 200
_WORD: Final = re.compile(r"[\w@][\w.@&'’-]*", re.UNICODE)
_POSSESSIVE: Final = re.compile(r"['’]s?$")


def mentioned(task: str, *, vault_id: str) -> dict[str, frozenset[int]]:
    """Find what a task names, and the memories that mention it; one statement, or none for a task without words.

    Returns: the key under which something is named → memory ids. Two names of one thing are two keys.
    """
    keys = named_in(task)
    found: dict[str, set[int]] = {}
    for memory_id, key in _mentions(keys, vault_id) if keys else ():
        found.setdefault(key, set()).add(memory_id)
    return {key: frozenset(pks) for key, pks in found.items()}


def shared_with(
    memory_ids: Collection[int], *, vault_id: str, limit: int
) -> list[tuple[frozenset[str], frozenset[int]]]:
    """Find what some memories mention, and who else mentions it; one statement, or none for no memories.

    Args:
        limit: what more memories mention than this is left out.
    Returns: for each thing the keys of its names, and the memories that mention it.
    """
    if not memory_ids:
        return []
    postgres = connection.vendor == "postgresql"
    among = "= ANY(%s)" if postgres else "IN (SELECT value FROM json_each(%s))"
    asked = list(memory_ids) if postgres else json.dumps(list(memory_ids))
    with connection.cursor() as cursor:
        cursor.execute(_SHARED.format(among=among), [vault_id, asked, vault_id, limit, vault_id, vault_id])
        rows = cursor.fetchall()
    names: dict[int, set[str]] = {}
    mentions: dict[int, set[int]] = {}
    for entity_id, key, memory_id in rows:
        names.setdefault(entity_id, set()).add(key)
        mentions.setdefault(entity_id, set()).add(memory_id)
    return [(frozenset(keys), frozenset(mentions[entity_id])) for entity_id, keys in names.items()]


def named_in(task: str) -> frozenset[str]:
    """Return every run of up to four words of a text in the form in which aliases are kept."""
    words = [_POSSESSIVE.sub("", word.rstrip(".-'’")) for word in _WORD.findall(task)[:NAME_WORDS_LIMIT]]
    spans = range(1, LONGEST_NAME_WORDS + 1)
    runs = (" ".join(words[at : at + span]) for span in spans for at in range(len(words) - span + 1))
    return frozenset(key for run in runs if (key := entity_key(run)))


_SHARED: Final = """
    WITH narrow AS (
        SELECT n.entity_id FROM memories_mention n
        WHERE n.vault_id = %s AND n.entity_id IN (
            SELECT own.entity_id FROM memories_mention own WHERE own.memory_id {among} AND own.vault_id = %s)
        GROUP BY n.entity_id HAVING count(*) <= %s)
    SELECT n.entity_id, a.key, n.memory_id
    FROM memories_mention n JOIN memories_alias a ON a.vault_id = n.vault_id AND a.entity_id = n.entity_id
    WHERE n.vault_id = %s AND a.vault_id = %s AND n.entity_id IN (SELECT entity_id FROM narrow)"""
_STATEMENT: Final = """
    SELECT n.memory_id, a.key FROM memories_alias a
    JOIN memories_mention n ON n.vault_id = a.vault_id AND n.entity_id = a.entity_id
    WHERE a.vault_id = %s AND a.key {among}"""


def _mentions(keys: Collection[str], vault_id: str) -> list[tuple[int, str]]:
    """Return (memory, name) for everything that is known under one of the names."""
    postgres = connection.vendor == "postgresql"
    among = "= ANY(%s)" if postgres else "IN (SELECT value FROM json_each(%s))"
    with connection.cursor() as cursor:
        cursor.execute(
            _STATEMENT.format(among=among), [vault_id, list(keys) if postgres else json.dumps(list(keys))]
        )
        return list(cursor.fetchall())
