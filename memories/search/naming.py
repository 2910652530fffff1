"""The entity arm: which memories are about somebody or something that a text names."""

import json
import re
from collections import Counter
from collections.abc import Collection
from typing import Final

from django.db import connection

from memories.core.entities import entity_key

LONGEST_NAME_WORDS: Final = 4
NAME_WORDS_LIMIT: Final = 200
BROAD_FROM: Final = 20  # memories; below it no name is too frequent to tell memories apart
BROAD_SHARE: Final = 0.15
_WORD: Final = re.compile(r"[\w@][\w.@&'’-]*", re.UNICODE)
_POSSESSIVE: Final = re.compile(r"['’]s?$")


def lookup(task: str, *, vault_id: str, allowed: Collection[int], limit: int) -> dict[int, int]:
    """Find memories that mention what the task names, by name or alias, whole and without regard to case.

    Args:
        allowed: the memories that may be answered; they are chosen before the limit.
    Returns: memory id → how many of the named it mentions, most first, ties by id; one statement, or none
        where the task has no word. A name that a large part of the memories mention tells none apart and is
        left out.
    """
    keys = named_in(task)
    if not keys:
        return {}
    rows = _mentions(keys, vault_id)
    mentions: dict[int, set[int]] = {}
    for memory_id, entity_id in rows:
        if memory_id in allowed:
            mentions.setdefault(entity_id, set()).add(memory_id)
    broad = max(BROAD_FROM, BROAD_SHARE * len(allowed))
    named = Counter(pk for pks in mentions.values() if len(pks) <= broad for pk in pks)
    return dict(sorted(named.items(), key=lambda entry: (-entry[1], entry[0]))[:limit])


def named_in(task: str) -> frozenset[str]:
    """Return every run of up to four words of a text in the form in which aliases are kept."""
    words = [_POSSESSIVE.sub("", word.rstrip(".-'’")) for word in _WORD.findall(task)[:NAME_WORDS_LIMIT]]
    spans = range(1, LONGEST_NAME_WORDS + 1)
    runs = (" ".join(words[at : at + span]) for span in spans for at in range(len(words) - span + 1))
    return frozenset(key for run in runs if (key := entity_key(run)))


_STATEMENT: Final = """
    SELECT n.memory_id, n.entity_id FROM memories_alias a
    JOIN memories_mention n ON n.vault_id = a.vault_id AND n.entity_id = a.entity_id
    WHERE a.vault_id = %s AND a.key {among}"""


def _mentions(keys: Collection[str], vault_id: str) -> list[tuple[int, int]]:
    """Return (memory, entity) for everything that is known under one of the names."""
    postgres = connection.vendor == "postgresql"
    among = "= ANY(%s)" if postgres else "IN (SELECT value FROM json_each(%s))"
    with connection.cursor() as cursor:
        cursor.execute(
            _STATEMENT.format(among=among), [vault_id, list(keys) if postgres else json.dumps(list(keys))]
        )
        return list(cursor.fetchall())
