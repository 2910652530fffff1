"""Claim folding: restatements of one claim become one candidate, and nothing is lost on the way (CMP §5).

Two texts fold when they share most of their terms, which is cheap to see, and one of them restates the other,
which is not (`restating`). No two speakers fold, and nothing that stands in an open conflict.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from contextpack.core.restating import Statement, read_statement, restates
from contextpack.core.types import Candidate

FOLD_SIMILARITY: Final = 0.5  # Jaccard over terms; a lead-in and a filler or two are half of a short text


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A candidate that stands for all that restate it."""

    candidate: Candidate
    folded_refs: tuple[str, ...] = ()
    source_urls: tuple[str, ...] = ()  # the survivor's own first
    occurrences: int = 1

    @property
    def ref(self) -> str:
        return self.candidate.ref


def as_claim(candidate: Candidate) -> Claim:
    """Return the claim of a candidate that nothing was folded into."""
    return Claim(candidate=candidate, source_urls=candidate.source_urls, occurrences=candidate.occurrences)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What a candidate states, and who said it, where that is known."""

    statement: Statement
    speaker: str | None


@dataclass(slots=True)
class _Cluster:
    """A claim in the making: places in the pool, the survivor's first."""

    places: list[int]
    statements: set[_Said]


def fold_claims(candidates: Iterable[Candidate]) -> tuple[Claim, ...]:
    """Fold restatements of one claim into one.

    Args:
        candidates: cited and current, in any order.
    Returns: one claim for each group. The survivor is the one on the floor, else of the best relevance, else the
        newest, else of the smaller ref; it takes on the sources of the others and the sum of occurrences. In
        order of the survivors. Each candidate is in exactly one claim.
    Source: CMP §5; what never folds: docs/wire.md, Asking.
    """
    pool = sorted(candidates, key=_survival_order)
    clusters = [_Cluster(places=[place], statements=set()) for place in range(len(pool))]
    for one, other in _similar_pairs(pool, clusters):
        _merge_if_agreed(pool, clusters, one, other)
    return tuple(
        _claim(pool, cluster) for place, cluster in enumerate(clusters) if cluster.places[0] == place
    )


def _survival_order(candidate: Candidate) -> tuple[bool, float, float, str]:
    return (
        not candidate.protected,
        -(candidate.relevance or 0.0),
        -candidate.moment.timestamp(),
        candidate.ref,
    )


def _similar_pairs(pool: Sequence[Candidate], clusters: Sequence[_Cluster]) -> Iterator[tuple[int, int]]:
    """Yield the places of each two candidates that say nearly the same and are not joined yet.

    Two sets that are similar enough share one of their rarest terms, so only those are indexed.
    """
    order = _rarity_order(pool)
    having: defaultdict[int, list[int]] = defaultdict(list)  # rare term → places
    saying: defaultdict[str, list[int]] = defaultdict(list)  # whole text → places
    for place, candidate in enumerate(pool):
        if candidate.conflicted:
            continue
        rare = _rarest(candidate.term_ids, order)
        same = saying[" ".join(candidate.content.casefold().split())]
        met = sorted({earlier for term in rare for earlier in having[term]})
        yield from ((earlier, place) for earlier in same)
        yield from (
            (earlier, place)
            for earlier in met
            if clusters[earlier] is not clusters[place]
            and _is_similar(pool[earlier].term_ids, candidate.term_ids)
        )
        same.append(place)
        for term in rare:
            having[term].append(place)


def _rarity_order(pool: Sequence[Candidate]) -> Mapping[int, int]:
    """Return, for each term that more than one candidate has, its place when the rarest come first."""
    counts = Counter(chain.from_iterable(candidate.term_ids for candidate in pool))
    shared = [term for term, count in counts.items() if count > 1]
    return {term: place for place, term in enumerate(sorted(shared, key=lambda term: (counts[term], term)))}


def _rarest(term_ids: frozenset[int], order: Mapping[int, int]) -> list[int]:
    """Return so many of the rarest terms that a similar text has at least one of them.

    Terms that nothing else has are the rarest of all; a text with too many of them is like no other.
    """
    shared = term_ids & order.keys()
    count = len(shared) - math.ceil(len(term_ids) * FOLD_SIMILARITY) + 1
    return sorted(shared, key=order.__getitem__)[:count] if count > 0 else []


def _is_similar(one: frozenset[int], other: frozenset[int]) -> bool:
    fewer, more = len(one), len(other)
    if fewer > more:
        fewer, more = more, fewer
    if fewer < FOLD_SIMILARITY * more:
        return False
    shared = len(one & other)
    return shared >= FOLD_SIMILARITY * (fewer + more - shared)


def _merge_if_agreed(pool: Sequence[Candidate], clusters: list[_Cluster], one: int, other: int) -> None:
    """Join two clusters, unless any two of their members disagree."""
    kept, joined = clusters[one], clusters[other]
    if kept is joined or not _agreed(_statements(pool, kept), _statements(pool, joined)):
        return
    kept.places = sorted(kept.places + joined.places)
    kept.statements |= joined.statements
    for place in joined.places:
        clusters[place] = kept


def _statements(pool: Sequence[Candidate], cluster: _Cluster) -> set[_Said]:
    """Return what a cluster's members state, read when first compared."""
    if not cluster.statements:
        cluster.statements = {_read(pool[place]) for place in cluster.places}
    return cluster.statements


def _read(candidate: Candidate) -> _Said:
    speaker = candidate.speaker.casefold() if candidate.speaker else None
    return _Said(statement=read_statement(candidate.content), speaker=speaker)


def _agreed(these: set[_Said], those: set[_Said]) -> bool:
    return all(_agree(one, other) for one in these for other in those)


def _agree(one: _Said, other: _Said) -> bool:
    if one.speaker is not None and other.speaker is not None and one.speaker != other.speaker:
        return False
    return restates(one.statement, other.statement)


def _claim(pool: Sequence[Candidate], cluster: _Cluster) -> Claim:
    members = [pool[place] for place in cluster.places]
    return Claim(
        candidate=members[0],
        folded_refs=tuple(member.ref for member in members[1:]),
        source_urls=tuple(dict.fromkeys(url for member in members for url in member.source_urls)),
        occurrences=sum(member.occurrences for member in members),
    )
