"""What became of memories that somebody already holds: still servable, or replaced by which head."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

from memories.core.supersession import active_heads
from memories.models import Memory
from memories.querysets import Reader

_FOLLOWING: Final = """
    WITH RECURSIVE line (ref, after) AS (
        SELECT ref, superseded_by FROM memories_memory
        WHERE vault_id = %s AND superseded_by IS NOT NULL AND ref {among}
        UNION
        SELECT m.ref, m.superseded_by FROM line
        JOIN memories_memory m ON m.vault_id = %s AND m.ref = line.after
        WHERE m.superseded_by IS NOT NULL
    )
    SELECT ref, after FROM line
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A ref's present state: may it be told, and if it was superseded, what stands in its place."""

    servable: bool
    superseded: bool = False
    head: str | None = None  # the active head, only if it may be told itself


def successors_of(vault_id: str, refs: Collection[str]) -> dict[str, str]:
    """Follow supersessions forward.

    Returns: ref → direct successor, for those of the refs that were superseded and everything on their way; one
        statement, however long the chains.
    """
    postgres = connection.vendor == "postgresql"
    among = "= ANY(%s)" if postgres else "IN (SELECT value FROM json_each(%s))"
    keys = list(refs) if postgres else json.dumps(list(refs))
    with connection.cursor() as cursor:
        cursor.execute(_FOLLOWING.format(among=among), [vault_id, keys, vault_id])
        return dict(cursor.fetchall())


def standing_of(caller: Reader, refs: Collection[str], *, at: datetime) -> Mapping[str, Standing]:
    """Tell of each ref whether it may still be served and what replaced it.

    Args:
        refs: any refs; unknown ones are answered as not servable.
        at: the moment for which expiry and supersession are judged.
    Returns: a standing for every ref given; two statements, three where supersessions are found.
    """
    if not refs:
        return {}
    servable = _servable(caller, refs, at=at)
    heads = active_heads(successors_of(caller.vault.pk, refs))
    heads = {ref: heads[ref] for ref in refs if ref in heads}
    told = _servable(caller, set(heads.values()), at=at) if heads else frozenset()
    return {ref: _standing(ref, servable=servable, heads=heads, told=told) for ref in refs}


def _servable(caller: Reader, refs: Collection[str], *, at: datetime) -> frozenset[str]:
    rows = Memory.objects.visible_to(caller).servable(at).filter(ref__among=refs)
    return frozenset(rows.values_list("ref", flat=True))


def _standing(
    ref: str, *, servable: frozenset[str], heads: Mapping[str, str], told: frozenset[str]
) -> Standing:
    head = heads.get(ref)
    return Standing(
        servable=ref in servable and head is None,
        superseded=head is not None,
        head=head if head in told else None,
    )
