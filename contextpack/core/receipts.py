"""What a receipt remembers of a pack: each item's why, and what became of every candidate that is not in it."""

from collections.abc import Iterable
from typing import Any

from contextpack.core.envelope import Why, project_memory_object, rounded
from contextpack.core.types import Fate, Item, Pack


def receipt_items(pack: Pack) -> list[dict[str, Any]]:
    """Return one line for each packed item, in pack order: what was served and why, without its text."""
    return [_served(item) for item in pack.items]


def fate_of(ref: str, fates: Iterable[Fate]) -> dict[str, Any] | None:
    """Return why a candidate is not in a pack, with the figures that decided it.

    Returns: the reason under `reason`; None where packing never saw the memory, or packed it.
    """
    fate = next((fate for fate in fates if fate.ref == ref and fate.outcome != "packed"), None)
    return None if fate is None else {"reason": fate.outcome, **_figures(fate)}


def fates_as_wire(fates: Iterable[Fate]) -> list[dict[str, Any]]:
    """Return the fates in a form that is kept as JSON; `fates_from_wire` reads it."""
    return [
        {
            "ref": fate.ref,
            "outcome": fate.outcome,
            "into": fate.into,
            "utility": rounded(fate.utility),
            "density": round(fate.density, 6),
            "tokens": fate.tokens,
            "short_by": fate.short_by,
        }
        for fate in fates
    ]


def fates_from_wire(rows: Iterable[dict[str, Any]]) -> tuple[Fate, ...]:
    """Return the fates that a receipt kept."""
    return tuple(Fate(**row) for row in rows)


def _served(item: Item) -> dict[str, Any]:
    shown = project_memory_object(item)
    why: Why = shown["why"]
    return {
        "ref": item.ref,
        "layer": shown["layer"],
        "rung": item.rung.value,
        "tokens": item.tokens,
        "relevance": shown["relevance"],
        "relevance_basis": shown["relevance_basis"],
        "utility": rounded(item.utility),
        "density": round(item.density, 6),
        "why": why,
        "folded_refs": list(item.folded_refs),
    }


def _figures(fate: Fate) -> dict[str, Any]:
    if fate.outcome == "folded_into":
        return {"into": fate.into}
    if fate.outcome == "outbid":
        return {
            "short_by": fate.short_by,
            "tokens": fate.tokens,
            "utility": rounded(fate.utility),
            "density": round(fate.density, 6),
        }
    return {}
