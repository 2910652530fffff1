"""What became of the memories that a session holds, and which of them may still be named to it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memories.lineage import standing_of
from memories.models import Memory
from memories.querysets import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallen:
    """Held refs that no pack may serve any more."""

    superseded: Mapping[str, str | None] = field(
        default_factory=dict
    )  # ref → active head, if it may be shown
    unservable: frozenset[str] = frozenset()  # archived, expired, withheld: not to be told, but may be named
    unnameable: frozenset[str] = frozenset()  # redacted, forgotten, out of sight


def nameable(reader: Reader, refs: Collection[str]) -> frozenset[str]:
    """Those refs that may appear in an answer: memories of the reader's, not redacted. One query."""
    if not refs:
        return frozenset()
    rows = Memory.objects.visible_to(reader).filter(ref__among=refs, redacted_at__isnull=True)
    return frozenset(rows.values_list("ref", flat=True))


def fallen_of(reader: Reader, refs: Collection[str], *, at: datetime) -> Fallen:
    """Sort out the held refs that are not served any more.

    Args:
        at: the present, whatever moment the pack was asked about.
    Returns: every fallen ref in exactly one of the three parts.
    """
    standing = standing_of(reader, refs, at=at)
    fallen = frozenset(ref for ref, now in standing.items() if now.superseded or not now.servable)
    named = nameable(reader, fallen)
    superseded = {ref: standing[ref].head for ref in named if standing[ref].superseded}
    return Fallen(superseded=superseded, unservable=named - superseded.keys(), unnameable=fallen - named)
