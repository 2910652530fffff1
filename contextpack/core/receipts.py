"""What a receipt remembers of a pack: each item's why, what became of every candidate that is not in it, and how all
of them matched, so that the same candidates can be packed again."""

import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from contextpack.core.envelope import Why, project_memory_object, rounded
from contextpack.core.packing import rounded_density
from contextpack.core.types import Candidate, Fate, Item, Pack, PackLayer


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
            "density": rounded_density(fate.density),
            "tokens": fate.tokens,
            "short_by": fate.short_by,
        }
        for fate in fates
    ]


def fates_from_wire(rows: Iterable[dict[str, Any]]) -> tuple[Fate, ...]:
    """Return the fates that a receipt kept."""
    return tuple(Fate(**row) for row in rows)


# -- Candidates, for a replay ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """How one candidate answered a task, and a mark by which a later change of its memory is seen."""

    ref: str
    layer: PackLayer
    relevance: float | None
    basis: str | None
    retrievers: tuple[str, ...]
    words: tuple[str, ...]
    rank: int | None
    standing: float | None
    mark: int

    def again(self, candidate: Candidate, *, layer: PackLayer) -> Candidate:
        """Return the candidate of today's memory, matched as it was then."""
        return replace(
            candidate,
            layer=layer,
            relevance=self.relevance,
            relevance_basis=self.basis,
            retrievers=self.retrievers,
            matched_terms=self.words,
            fused_rank=self.rank,
            standing=self.standing,
        )


def pool_as_wire(candidates: Iterable[Candidate]) -> dict[str, Any]:
    """Return how candidates matched, in a form that is kept as JSON; `pool_from_wire` reads it.

    A hundred of them go into every receipt, so the rows are bare lists, and words are kept once.
    """
    found = tuple(candidates)
    words = {
        word: place for place, word in enumerate(dict.fromkeys(w for c in found for w in c.matched_terms))
    }
    return {
        "words": list(words),
        "rows": [
            [
                candidate.ref,
                candidate.layer.value,
                candidate.relevance,
                candidate.relevance_basis,
                list(candidate.retrievers),
                [words[word] for word in candidate.matched_terms],
                candidate.fused_rank,
                candidate.standing,
                mark_of(candidate),
            ]
            for candidate in found
        ],
    }


def pool_from_wire(kept: Mapping[str, Any]) -> tuple[Matched, ...]:
    """Return how the candidates of a receipt matched."""
    words = kept["words"]
    return tuple(
        Matched(
            ref=ref,
            layer=PackLayer(layer),
            relevance=relevance,
            basis=basis,
            retrievers=tuple(retrievers),
            words=tuple(words[place] for place in places),
            rank=rank,
            standing=standing,
            mark=mark,
        )
        for ref, layer, relevance, basis, retrievers, places, rank, standing, mark in kept["rows"]
    )


def pool_without_words(kept: Mapping[str, Any], refs: Collection[str]) -> dict[str, Any]:
    """Return what was kept of candidates without the words of these, and without those that nobody else had."""
    rows = [[*row[:5], [] if row[0] in refs else row[5], *row[6:]] for row in kept.get("rows", ())]
    used = sorted({place for row in rows for place in row[5]})
    moved = {place: position for position, place in enumerate(used)}
    return {
        "words": [kept["words"][place] for place in used],
        "rows": [[*row[:5], [moved[place] for place in row[5]], *row[6:]] for row in rows],
    }


def mark_of(candidate: Candidate) -> int:
    """Return a number that changes when something is said of a memory that packing or a reader sees.

    Its content never changes in place and has no part in it. Equal on every machine; no protection against intent.
    """
    said = (
        candidate.summary,
        candidate.kind.value,
        candidate.occurred_at and candidate.occurred_at.timestamp(),
        candidate.confidence,
        candidate.trust,
        candidate.occurrences,
        candidate.source_urls,
        candidate.entities,
        sorted(candidate.conflicts_with),
        candidate.thread,
        candidate.position,
        candidate.speaker,
        candidate.protected,
    )
    return zlib.crc32(repr(said).encode("utf-8", "surrogatepass"))


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
        "density": rounded_density(item.density),
        "why": why,
        "channels": dict(item.candidate.channels),
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
            "density": rounded_density(fate.density),
        }
    return {}
