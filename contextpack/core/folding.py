"""Claim folding: restatements of one claim become one candidate, and nothing is lost on the way (CMP §5).

Two texts fold when they share most of their terms and nothing sets them apart: no number, date or name, no
negation, no question, no opposite word, no other speaker. Names must also come in the same order ("Ana reports
to Bob" is not "Bob reports to Ana"). What stands in an open conflict never folds. Where a script has no capitals
a name cannot be told from a word, so there only texts with the same words fold.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from contextpack.core.types import Candidate
from memories.core.contradiction import Marks, distinguishing_marks

FOLD_SIMILARITY: Final = 0.6  # Jaccard over content terms; a text of 5 to 10 terms may differ in two or three
_SHORT_TEXT_TERMS: Final = 5  # below this many terms a single other word says something else
_SHORT_TEXT_SIMILARITY: Final = 0.75

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# What announces a claim and is no part of it, though it looks like a name or a speaker.
_LEAD_IN: Final = re.compile(
    r"^\W*(?:reminder|remember|note(?: that)?|fyi|nb|ps|update|recap|info|again|also|heads[- ]up|tl;dr)\s*[:,]\s*",
    re.I,
)
# Scripts with capitals: Latin, Greek, Cyrillic, Armenian. A letter of any other may be part of a name.
_CASELESS: Final = re.compile(
    r"[^\W\d_A-Za-z\u00aa-\u058f\u1d00-\u1fff\u2c60-\u2c7f\ua640-\ua7ff\uff21-\uff5a]"
)

# Of each group a claim states one; two texts that state different ones are different claims.
_ALTERNATIVES: Final[Mapping[str, int]] = {
    word: group
    for group, words in enumerate(
        (
            "morning noon afternoon evening night midnight am pm",
            "spring summer autumn winter",
            "weekday weekdays weekend weekends",
            "seconds minute minutes hour hours hourly day days daily week weeks weekly month months monthly "
            "quarter quarterly year years yearly nightly",
            "first second third fourth fifth last",
            "half twice double triple hundred thousand million billion dozen",
            "before after during until",
            "sometimes rarely seldom often",
            "all some most few",
            "enable enables enabled disable disables disabled",
            "allow allows allowed deny denies denied forbid forbids forbidden block blocks blocked",
            "increase increases increased decrease decreases decreased reduce reduced",
            "start starts started stop stops stopped pause paused resume resumed",
            "add adds added remove removes removed delete deletes deleted",
            "accept accepts accepted reject rejects rejected approve approved decline declined",
            "pass passed fail failed succeeded",
            "buy buys bought sell sells sold",
            "open opens opened close closes closed",
            "minimum min maximum max",
            "more less fewer",
            "above below over under",
            "left right",
            "up down",
            "north south east west",
            "true false",
            "on off",
            "internal external",
            "public private",
            "required mandatory optional",
            "likes like love loves hate hates dislike dislikes",
            "red blue green yellow black white orange purple brown pink grey gray",
            "primary secondary",
            "staging production development",
        )
    )
    for word in words.split()
}

# -- What sets texts apart -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """What a text states that a restatement of it states too."""

    marks: Marks
    asks: bool
    words: frozenset[str]  # each also without its plural s
    alternatives: frozenset[tuple[int, str]]
    caseless: tuple[str, ...]  # every word, where names cannot be told from words
    speaker: str | None


def _read(candidate: Candidate) -> _Statement:
    text = _LEAD_IN.sub("", candidate.content)
    words = tuple(map(_bare, _WORD.findall(text)))
    return _Statement(
        marks=distinguishing_marks(text),
        asks=text.rstrip().endswith(("?", "？", "؟")),
        words=frozenset(words) | {word.removesuffix("s") for word in words},
        alternatives=frozenset((_ALTERNATIVES[word], word) for word in words if word in _ALTERNATIVES),
        caseless=words if _CASELESS.search(text) else (),
        speaker=candidate.speaker.casefold() if candidate.speaker else None,
    )


def _bare(word: str) -> str:
    """Return a word as it is compared: case and the possessive aside."""
    return word.casefold().replace("’", "'").removesuffix("'s")


def _agree(one: _Statement, other: _Statement) -> bool:
    """Tell whether nothing but the choice of words sets two texts apart."""
    return (
        (one.marks.numbers, one.marks.dates, one.marks.negations)
        == (other.marks.numbers, other.marks.dates, other.marks.negations)
        and (one.asks, one.caseless) == (other.asks, other.caseless)
        and (one.speaker is None or other.speaker is None or one.speaker == other.speaker)
        and not _alternate(one, other)
        and _same_names(one, other)
    )


def _alternate(one: _Statement, other: _Statement) -> bool:
    mine, theirs = one.alternatives - other.alternatives, other.alternatives - one.alternatives
    return not {group for group, _ in mine}.isdisjoint(group for group, _ in theirs)


def _same_names(one: _Statement, other: _Statement) -> bool:
    """Tell whether each text says the other's names, and in the same order."""
    mine, theirs = one.marks.names, other.marks.names
    if not all(_says(other, name) for name in mine) or not all(_says(one, name) for name in theirs):
        return False
    shared = set(mine) & set(theirs)
    return [name for name in mine if name in shared] == [name for name in theirs if name in shared]


def _says(statement: _Statement, name: str) -> bool:
    words = map(_bare, _WORD.findall(name))
    return all(word in statement.words or word.removesuffix("s") in statement.words for word in words)


# -- Folding -------------------------------------------------------------------------------------


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


@dataclass(slots=True)
class _Cluster:
    """A claim in the making: places in the pool, the survivor's first."""

    places: list[int]
    statements: set[_Statement]


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
    threshold = _SHORT_TEXT_SIMILARITY if fewer < _SHORT_TEXT_TERMS else FOLD_SIMILARITY
    if fewer < threshold * more:
        return False
    shared = len(one & other)
    return shared >= threshold * (fewer + more - shared)


def _merge_if_agreed(pool: Sequence[Candidate], clusters: list[_Cluster], one: int, other: int) -> None:
    """Join two clusters, unless any two of their members disagree."""
    kept, joined = clusters[one], clusters[other]
    if kept is joined or not _agreed(_statements(pool, kept), _statements(pool, joined)):
        return
    kept.places = sorted(kept.places + joined.places)
    kept.statements |= joined.statements
    for place in joined.places:
        clusters[place] = kept


def _statements(pool: Sequence[Candidate], cluster: _Cluster) -> set[_Statement]:
    """Return what a cluster's members state, read when first compared."""
    if not cluster.statements:
        cluster.statements = {_read(pool[place]) for place in cluster.places}
    return cluster.statements


def _agreed(these: set[_Statement], those: set[_Statement]) -> bool:
    return all(_agree(one, other) for one in these for other in those)


def _claim(pool: Sequence[Candidate], cluster: _Cluster) -> Claim:
    members = [pool[place] for place in cluster.places]
    return Claim(
        candidate=members[0],
        folded_refs=tuple(member.ref for member in members[1:]),
        source_urls=tuple(dict.fromkeys(url for member in members for url in member.source_urls)),
        occurrences=sum(member.occurrences for member in members),
    )
