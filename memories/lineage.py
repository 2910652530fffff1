"""What became of memories that somebody already holds: still servable, or replaced by which head."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from memories.core.supersession import active_head
from memories.models import Memory
from memories.querysets import Reader

MAX_HOPS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A ref's present state: may it be told, and if it was superseded, what stands in its place."""

    servable: bool
    superseded: bool = False
    head: str | None = None  # the active head, only if it may be told itself


def successors_of(caller: Reader, refs: Collection[str]) -> dict[str, str]:
    """Follow supersessions forward.

    Returns: ref → direct successor, for the refs and everything on their way; one query per step of the
    longest chain, none where no ref is superseded.
    """
    found: dict[str, str] = {}
    wave = set(refs)
    for _ in range(MAX_HOPS):
        rows = Memory.objects.visible_to(caller).filter(ref__among=wave, superseded_by__isnull=False)
        step = {ref: after for ref, after in rows.values_list("ref", "superseded_by") if after is not None}
        found |= step
        wave = set(step.values()) - found.keys()
        if not wave:
            return found
    return found


def standing_of(caller: Reader, refs: Collection[str], *, at: datetime) -> Mapping[str, Standing]:
    """Tell of each ref whether it may still be served and what replaced it.

    Args:
        refs: any refs; unknown ones are answered as not servable.
        at: the moment for which expiry and supersession are judged.
    Returns: a standing for every ref given; one query, two or more where supersessions are found.
    """
    if not refs:
        return {}
    servable = set(
        Memory.objects.visible_to(caller).servable(at).filter(ref__among=refs).values_list("ref", flat=True)
    )
    successor = successors_of(caller, refs)
    heads = {ref: active_head(ref, successor) for ref in refs if ref in successor}
    told = (
        set(
            Memory.objects.visible_to(caller)
            .servable(at)
            .filter(ref__among=set(heads.values()))
            .values_list("ref", flat=True)
        )
        if heads
        else set()
    )
    return {ref: _standing(ref, servable=servable, heads=heads, told=told) for ref in refs}


def _standing(ref: str, *, servable: set[str], heads: Mapping[str, str], told: set[str]) -> Standing:
    head = heads.get(ref)
    return Standing(
        servable=ref in servable and head is None,
        superseded=head is not None,
        head=head if head in told else None,
    )
