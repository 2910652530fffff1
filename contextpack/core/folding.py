"""Claim folding: restatements of one claim become one candidate, and nothing is lost on the way (CMP §5).

Only texts with the same terms are compared, fillers aside, which is cheap to see; they fold where one restates
the other, which is not (`restating`). No two speakers fold, and nothing that stands in an open conflict.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from contextpack.core.restating import (
    NUMBER_WORDS,
    SYNONYMS,
    Statement,
    idle_words,
    read_statement,
    restates,
)
from contextpack.core.types import Candidate
from memories.core.text import hash_terms, terms


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
    """A claim in the making: its candidates, the survivor first, and what they say."""

    members: list[Candidate]
    said: set[_Said]


def fold_claims(candidates: Iterable[Candidate]) -> tuple[Claim, ...]:
    """Fold restatements of one claim into one.

    Args:
        candidates: cited and current, in any order.
    Returns: one claim for each group. The survivor is the one on the floor, else of the best relevance, else the
        newest, else of the smaller ref; it takes on the sources of the others and the sum of occurrences. In
        order of the survivors. Each candidate is in exactly one claim.
    Source: CMP §5; what never folds: docs/wire.md, Asking.
    """
    clusters: list[_Cluster] = []
    meeting: defaultdict[str | frozenset[int], list[_Cluster]] = defaultdict(list)
    read: dict[str, Statement] = {}
    for candidate in sorted(candidates, key=_survival_order):
        cluster = _Cluster(members=[candidate], said=set())
        if not candidate.conflicted:
            cluster = _join(cluster, [meeting[key] for key in _keys(candidate)], read)
        if cluster.members[0] is candidate:
            clusters.append(cluster)
    return tuple(map(_claim, clusters))


def _survival_order(candidate: Candidate) -> tuple[bool, float, float, str]:
    return (
        not candidate.protected,
        -(candidate.relevance or 0.0),
        -candidate.moment.timestamp(),
        candidate.ref,
    )


def _join(one: _Cluster, met: Sequence[list[_Cluster]], read: dict[str, Statement]) -> _Cluster:
    """Put a single candidate's cluster into the first of those it meets whose every member it restates."""
    for other in chain.from_iterable(met):
        one.said = one.said or _said(one, read)
        other.said = other.said or _said(other, read)
        if _agreed(one.said, other.said):
            other.members += one.members
            other.said |= one.said
            return other
    for clusters in met:
        clusters.append(one)
    return one


def _said(cluster: _Cluster, read: dict[str, Statement]) -> set[_Said]:
    """Return what the only candidate of a cluster says; equal texts are read once."""
    (candidate,) = cluster.members
    if candidate.content not in read:
        read[candidate.content] = read_statement(candidate.content)
    speaker = candidate.speaker.casefold() if candidate.speaker else None
    return {_Said(statement=read[candidate.content], speaker=speaker)}


def _agreed(these: set[_Said], those: set[_Said]) -> bool:
    return these <= those or all(_agree(one, other) for one in these for other in those)


def _agree(one: _Said, other: _Said) -> bool:
    if one.speaker is not None and other.speaker is not None and one.speaker != other.speaker:
        return False
    return restates(one.statement, other.statement)


def _claim(cluster: _Cluster) -> Claim:
    members = cluster.members
    return Claim(
        candidate=members[0],
        folded_refs=tuple(member.ref for member in members[1:]),
        source_urls=tuple(dict.fromkeys(url for member in members for url in member.source_urls)),
        occurrences=sum(member.occurrences for member in members),
    )


# -- What may meet -------------------------------------------------------------------------------


def _keys(candidate: Candidate) -> Iterator[str | frozenset[int]]:
    """Yield what a restatement shares with a text: its spelling, or its terms without what may differ."""
    yield " ".join(candidate.content.casefold().split())
    found = candidate.term_ids - _IDLE_TERMS
    yield found if found.isdisjoint(_SAME_TERMS) else frozenset(_SAME_TERMS.get(term, term) for term in found)


def _term_ids(words: str) -> frozenset[int]:
    return hash_terms(terms(words))


def _same_terms() -> Mapping[int, int]:
    """Map the term of each synonym to that of the other, and of each number word to its figure."""
    pairs = chain(map(sorted, SYNONYMS), NUMBER_WORDS.items())
    return {
        term: next(iter(_term_ids(other)))
        for word, other in pairs
        for term in _term_ids(word)
        if len(_term_ids(other)) == 1
    }


_SAME_TERMS: Final = _same_terms()
_IDLE_TERMS: Final = _term_ids(" ".join(idle_words()))
