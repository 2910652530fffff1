"""What stands beside a pool of memories: what each cites, whom it names, what it openly contradicts.

One statement for all three. A pool has a hundred memories and is read for every pack; through the ORM these
are three statements, whose making takes longer than their running.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import connection

from memories.querysets import Reader

_ASKED: Final = {
    "sqlite": "SELECT value AS id FROM json_each(%s)",
    "postgresql": "SELECT unnest(%s::bigint[]) AS id",
}
_STATEMENT: Final = """
    WITH asked AS ({asked})
    SELECT 1, s.memory_id, s.url, ''
    FROM memories_source s WHERE s.vault_id = %s AND s.memory_id IN (SELECT id FROM asked)
    UNION ALL
    SELECT 2, n.memory_id, e.name, ''
    FROM memories_mention n JOIN memories_entity e ON e.vault_id = n.vault_id AND e.id = n.entity_id
    WHERE n.vault_id = %s AND n.memory_id IN (SELECT id FROM asked)
    UNION ALL
    SELECT 3, c.left_id, m.ref, m.project
    FROM memories_conflict c JOIN memories_memory m ON m.vault_id = c.vault_id AND m.id = c.right_id
    WHERE c.vault_id = %s AND c.resolved_at IS NULL AND c.left_id IN (SELECT id FROM asked) AND {counts}
    UNION ALL
    SELECT 3, c.right_id, m.ref, m.project
    FROM memories_conflict c JOIN memories_memory m ON m.vault_id = c.vault_id AND m.id = c.left_id
    WHERE c.vault_id = %s AND c.resolved_at IS NULL AND c.right_id IN (SELECT id FROM asked) AND {counts}
"""
# An other side that may not be told, or was replaced, puts nothing in doubt.
_COUNTS: Final = (
    "m.status = 'approved' AND m.superseded_by IS NULL AND m.redacted_at IS NULL AND NOT m.withheld"
)
_SOURCE, _ENTITY, _CONFLICT = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """By memory id. Addresses and names are sorted, so that nothing depends on how rows are stored."""

    sources: dict[int, tuple[str, ...]] = field(default_factory=dict)
    entities: dict[int, tuple[str, ...]] = field(default_factory=dict)
    conflicts: dict[int, frozenset[str]] = field(default_factory=dict)  # refs of the other sides


def stand_beside(caller: Reader, memory_ids: Collection[int]) -> Beside:
    """Read what belongs to memories that a caller sees; one statement, or none for no memories.

    A side of a conflict that is out of the caller's sight is not told, nor that there is one.
    """
    if not memory_ids:
        return Beside()
    found: dict[int, dict[int, list[str]]] = {_SOURCE: {}, _ENTITY: {}, _CONFLICT: {}}
    seen = None if caller.projects is None else {"", *caller.projects}
    for what, memory_id, text, project in _rows(caller.vault.pk, memory_ids):
        if seen is not None and project not in seen:
            continue
        found[what].setdefault(memory_id, []).append(text)
    return Beside(
        sources={memory_id: tuple(sorted(urls)) for memory_id, urls in found[_SOURCE].items()},
        entities={memory_id: tuple(sorted(names)) for memory_id, names in found[_ENTITY].items()},
        conflicts={memory_id: frozenset(refs) for memory_id, refs in found[_CONFLICT].items()},
    )


def _rows(vault_id: str, memory_ids: Collection[int]) -> list[tuple[int, int, str, str]]:
    keys: Any = list(memory_ids) if connection.vendor == "postgresql" else json.dumps(list(memory_ids))
    statement = _STATEMENT.format(asked=_ASKED[connection.vendor], counts=_COUNTS)
    with connection.cursor() as cursor:
        cursor.execute(statement, [keys, *[vault_id] * 4])
        return list(cursor.fetchall())
