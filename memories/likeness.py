"""Claims that say nearly what a superseded one said, and may want the same successor."""

from datetime import datetime
from typing import Final

from memories.access import Caller
from memories.core.kinds import Status
from memories.core.likeness import LONGEST_COMPARED, are_twins, likeness
from memories.models import Memory
from memories.reading import readable_by
from memories.search import fulltext

OFFERED: Final = 10
COMPARED: Final = 40


def also_similar(caller: Caller, old: Memory, new: Memory, *, now: datetime) -> list[str]:
    """Name the near-identical twins of a superseded claim that the same successor could replace.

    Returns: at most ten refs that the caller may read, the most alike first; only current memories that the
        successor reaches.
    """
    if new.superseded_by is not None or len(old.content) > LONGEST_COMPARED:
        return []
    language = caller.vault.language
    found = [
        row for row in _candidates(caller, old, new, now=now) if are_twins(old.content, row.content, language)
    ]
    found.sort(key=lambda row: (-likeness(old.content, row.content, language), row.ref))
    return [row.ref for row in found[:OFFERED]]


def _candidates(caller: Caller, old: Memory, new: Memory, *, now: datetime) -> list[Memory]:
    hits = fulltext.lookup(
        old.content, vault_id=caller.vault.pk, language=caller.vault.language, limit=COMPARED
    )
    rows = readable_by(caller, at=now).unsuperseded().exclude(status=Status.ARCHIVED)
    rows = rows.filter(pk__in=[hit.memory_id for hit in hits], redacted_at__isnull=True)
    rows = rows.exclude(pk__in=[old.pk, new.pk])
    return list(rows.filter(project=new.project) if new.project else rows)
