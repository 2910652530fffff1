"""From a task to candidates: the only reads of memories on the way to a pack.

Filters come first: every channel searches only what the request may serve, so nothing is crowded out by rows
that would be dropped afterwards. A superseded memory that matches lends its match to the head of its chain.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Final

import numpy as np
from django.db.models import Q
from numpy.typing import NDArray

from contextpack.core.matching import (
    Matching,
    Signals,
    first_hits,
    lift_over_baseline,
    match_rows,
    with_hop,
)
from contextpack.core.questions import READ_OF_A_TASK, Question, bare_name, read_question
from contextpack.core.ranking import absolute_relevances
from contextpack.core.threads import Floats, Layout, laid_out
from contextpack.core.types import Candidate, ContextRequest, PackLayer, Pool
from contextpack.core.weights import NOISE_BELOW, POOL_SHARE, RELEVANT_FROM
from memories.access import Caller
from memories.catalogue import NO_DAY, Catalogue, catalogue_of, ids_in
from memories.core.entities import entity_key
from memories.core.kinds import AUTHOR_TRUST, Author, Kind, MemoryLayer, Status
from memories.core.supersession import active_heads
from memories.core.text import content_terms, hash_terms, opening, terms, unpack_hashes
from memories.core.traits import Trait
from memories.models import Memory
from memories.querysets import MemoryQuerySet
from memories.search import fulltext, naming, vectors
from memories.search.beside import Beside, stand_beside
from memories.search.embedding import active_embedder

POOL_LIMIT: Final = 100  # twice as many add nothing to the first 3,000 tokens, and a third to the time
CONSTRAINT_LIMIT: Final = 20
STANDING_LIMIT: Final = 8  # for each layer that needs no match: identity, open loops, recency
BROAD_FROM: Final = 20  # memories; below it no name is too frequent to tell memories apart
BROAD_SHARE: Final = 0.15
CHANNEL_DIGITS: Final = 4
# What each retriever that an envelope may name found: by words, by meaning, by name, by time.
RETRIEVER_CHANNELS: Final[Mapping[str, tuple[str, ...]]] = {
    "fts": ("pair", "window", "thread"),
    "vector": ("meaning", "thread_meaning"),
    "entity": ("person", "named", "hop"),
    "recency": ("date",),
}

_IDENTITY: Final = frozenset({MemoryLayer.PREFERENCE, MemoryLayer.STYLE})
_OPEN_KINDS: Final = frozenset({Kind.QUESTION, Kind.ACTION})
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()
_ROW_FIELDS: Final = (
    "pk", "ref", "content", "summary", "kind", "layer", "occurred_at", "captured_at", "confidence", "author",
    "occurrences", "thread", "position", "speaker", "term_hashes",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How one memory answers a task."""

    ref: str
    relevance: float
    fused_rank: int
    standing: float  # 0..1: its score next to the best one's
    retrievers: tuple[str, ...]
    words: tuple[str, ...] = ()  # of the task; on lineage those that a predecessor has
    channels: Mapping[str, float] = field(default_factory=dict)  # what its score is made of, 0..1 each


@dataclass(frozen=True, slots=True, kw_only=True)
class Universe:
    """What may be matched, in thread order; a row's match counts for itself, for the head of its chain, or for both."""

    catalogue: Catalogue
    layout: Layout  # its `order` is each row's place in the catalogue
    told: NDArray[np.bool_]  # which rows may be answered themselves
    heads: Mapping[int, str]  # of rows that were superseded: the ref that answers for them

    def answers(self, row: int) -> tuple[str, ...]:
        """Return the refs that a row's match counts for."""
        own = (self.catalogue.refs[self.layout.order[row]],) if self.told[row] else ()
        return (*own, self.heads[row]) if row in self.heads else own

    @property
    def speaker(self) -> NDArray[np.int64]:
        """For each row who said it: a place among the catalogue's speakers."""
        return self.catalogue.speaker[self.layout.order]

    @property
    def named_speakers(self) -> frozenset[str]:
        among = np.unique(self.speaker).tolist()
        return frozenset(speaker for place in among if (speaker := self.catalogue.speakers[place]))

    def said_by(self, key: str) -> NDArray[np.bool_]:
        """Say which rows were said by the speaker whose name has this key."""
        places = [
            place
            for place, speaker in enumerate(self.catalogue.speakers)
            if speaker is not None and entity_key(speaker) == key
        ]
        return np.isin(self.speaker, places)

    def have(self, trait: Trait) -> Floats:
        return self.catalogue.have(self.layout.order, trait).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Matches in fused order, best first, and what a reader must know of how they were found."""

    matches: tuple[Match, ...]
    relevant: bool  # whether any of them answers the task at all
    stated: tuple[str, ...] = ()


# -- What may be served --------------------------------------------------------------------------


def narrowed(caller: Caller, request: ContextRequest) -> MemoryQuerySet:
    """Return what the request's own narrowing leaves of what the caller sees, of whatever status."""
    rows = Memory.objects.visible_to(caller)
    if request.project is not None:
        rows = rows.in_project(request.project)
    if request.layers:
        rows = rows.in_layers(request.layers)
    if request.entities:
        rows = rows.mentioning(caller.vault.pk, request.entities)
    return rows


def eligible(caller: Caller, request: ContextRequest) -> MemoryQuerySet:
    """Return what the request may be served: approved, unredacted, unexpired, true and known at its moments."""
    served = narrowed(caller, request).servable(request.now)
    return served.current_as_of(request.as_of, known_at=request.known_at)


def newest_first(catalogue: Catalogue, served: MemoryQuerySet) -> NDArray[np.int64]:
    """Return the catalogue's rows of what may be answered, the newest first; one statement."""
    rows = catalogue.rows_of(ids_in(served))
    return rows[np.argsort(catalogue.ages[rows])]


def universe_of(
    caller: Caller, catalogue: Catalogue, rows: NDArray[np.int64], *, known_at: datetime
) -> Universe:
    """Return what may be matched so that one of `rows` is the answer.

    Args:
        rows: of the catalogue: what may be answered.
        known_at: later supersessions did not happen yet.
    Returns: those rows for themselves, and superseded ones for the head of their chain where that may be
        answered, beside themselves if they may be answered too; no statement.
    """
    told = np.zeros(len(catalogue), dtype=bool)
    told[rows] = True
    links = list(catalogue.replaced(known_at=known_at, projects=caller.projects))
    heads_of = active_heads({link.ref: link.successor for link in links})
    answering = set(catalogue.refs[rows].tolist()) if links else set()
    lending = {
        link.memory_id: heads_of[link.ref]
        for link in links
        if link.ref in heads_of and heads_of[link.ref] in answering
    }
    among = catalogue.rows_of(np.array(list(lending), dtype=np.int64))
    lent = {row: lending[pk] for row, pk in zip(among.tolist(), catalogue.ids[among].tolist(), strict=True)}
    member = told.copy()
    member[list(lent)] = True
    order = catalogue.in_threads[member[catalogue.in_threads]]
    layout = laid_out(catalogue.ids[order], catalogue.threads[order], order=order)
    place_of = dict(zip(order.tolist(), range(len(order)), strict=True)) if lent else {}
    return Universe(
        catalogue=catalogue,
        layout=layout,
        told=told[order],
        heads={place_of[row]: head for row, head in lent.items()},
    )


# -- Matching ------------------------------------------------------------------------------------


def rank(
    caller: Caller,
    task: str,
    *,
    universe: Universe,
    today: date,
    least_share: float,
    hops: bool,
    most: int | None = None,
) -> Ranking:
    """Search by words, meaning, names and dates, each memory in its thread, and rank what is found.

    Args:
        today: what "yesterday" means.
        least_share: matches whose score is a smaller share of the best one's are left out.
        hops: whether what the best matches mention brings more. Where it starts depends on which memories there are,
            so that an order which must hold from page to page does without.
        most: so many matches are told; None for all.
    Returns: one match for each memory, at the best of its own scores and of those that it superseded; as many
        statements as `listen` makes, and one for the hop.
    """
    if not len(universe.layout):
        return Ranking(matches=(), relevant=False)
    task = opening(task, limit=READ_OF_A_TASK)
    heard = listen(caller, task, universe=universe, today=today)
    matching = match_rows(universe.layout, heard.signals)
    if hops:
        matching = with_hop(matching, _hop(caller, universe.layout, first_hits(matching), task))
    best = float(matching.scores.max())
    audible = (
        matching.found
        & (matching.scores > 0)
        & (matching.scores >= least_share * best)
        & (matching.strengths >= NOISE_BELOW)
    )
    rows = np.flatnonzero(audible)
    rows = rows[np.argsort(-matching.scores[rows], kind="stable")]
    matches = _matches(universe, heard.lexical, matching, rows, most=most)
    strongest = max((match.relevance for match in matches), default=0.0)
    return Ranking(matches=matches, relevant=strongest >= RELEVANT_FROM, stated=heard.stated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the searches say of a task."""

    signals: Signals
    lexical: fulltext.TermScores
    stated: tuple[str, ...]  # what a reader must know of their gaps


def listen(caller: Caller, task: str, *, universe: Universe, today: date) -> Heard:
    """Search by words, by meaning, by names and by dates; five statements, one more for long tasks."""
    vault, layout, embedder = caller.vault, universe.layout, active_embedder()
    question = read_question(task, speakers=universe.named_speakers, today=today, language=vault.language)
    lexical = fulltext.score_terms(question.text, vault_id=vault.pk, language=vault.language)
    similar = vectors.compare(question.text, vault_id=vault.pk, expected=layout.ids)
    gains = layout.spread(lexical.ids, lexical.gains)
    occurring = (gains > 0).any(axis=0)
    names = [bare_name(word) for word in lexical.words]
    is_name = np.array([name in question.names for name in names], dtype=bool)
    is_sure = np.array([name in question.sure_names for name in names], dtype=bool)
    person, named = _about(caller, task, question, universe)
    signals = Signals(
        gains=gains,
        weights=lexical.weights,
        date_terms=np.array([word in question.date_words for word in lexical.words], dtype=bool),
        lift=_lift(layout, similar) if len(similar.ids) else None,
        person=person,
        named=named,
        date=_dates(question, universe),
        time=universe.have(Trait.TELLS_TIME) * float(question.asks_when),
        question=universe.have(Trait.ASKS),
        model=embedder.name if embedder else "",
        known_name=bool(question.speakers) or bool((is_name & occurring).any()),
        unknown_name=bool((is_sure & ~occurring).any()),
    )
    return Heard(signals=signals, lexical=lexical, stated=similar.stated)


def _lift(layout: Layout, similar: vectors.Similarities) -> Floats:
    _, present = layout.rows_of(similar.ids)
    lift = lift_over_baseline(similar.cosines[present])
    return layout.spread(similar.ids[present], lift)


def _about(caller: Caller, task: str, question: Question, universe: Universe) -> tuple[Floats, Floats]:
    """Say which rows are by or about the one person whom the task names, and which about what else it names.

    A name that a large part of the memories mention tells none apart, unless it is a person's who speaks.
    """
    layout = universe.layout
    mentions = naming.mentioned(task, vault_id=caller.vault.pk)
    person, named = np.zeros(len(layout)), np.zeros(len(layout))
    if len(question.speakers) == 1:
        (key,) = question.speakers
        said = universe.said_by(key).astype(np.float64)
        person = np.maximum(said, _rows_among(layout, mentions.get(key, ())))
    others = [_rows_among(layout, pks) for key, pks in mentions.items() if key not in question.speakers]
    narrow = [rows for rows in others if 0 < rows.sum() <= _most_mentions(layout)]
    if narrow:
        named = sum(narrow, named) / len(narrow)
    return person, named


def _hop(caller: Caller, layout: Layout, hits: NDArray[np.int64], task: str) -> Floats:
    """Count for each row what it mentions of what the first hits mention and the task does not name.

    What many memories mention leads nowhere in particular and is left out; one statement, none without hits.
    """
    limit = _most_mentions(layout)
    shared = naming.shared_with(layout.ids[hits].tolist(), vault_id=caller.vault.pk, limit=limit)
    named = naming.named_in(task)
    hop = np.zeros(len(layout))
    for keys, memory_ids in shared:
        if named.isdisjoint(keys):
            hop += _rows_among(layout, memory_ids)
    hop[hits] = hop.max(initial=0.0)  # nothing is lifted above what it was found by
    return hop


def _most_mentions(layout: Layout) -> int:
    return int(max(BROAD_FROM, BROAD_SHARE * len(layout)))


def _rows_among(layout: Layout, memory_ids: Collection[int]) -> Floats:
    ids = np.fromiter(memory_ids, dtype=np.int64, count=len(memory_ids))
    return layout.spread(ids, np.ones(len(ids)))


def _dates(question: Question, universe: Universe) -> Floats:
    """Say how close each row's day is to those that the task names."""
    closeness = np.zeros(len(universe.layout))
    if question.spans:
        days, places = np.unique(universe.catalogue.days[universe.layout.order], return_inverse=True)
        near = [0.0 if day == NO_DAY else _closeness(question, day) for day in days.tolist()]
        closeness = np.array(near)[places]
    return closeness


def _closeness(question: Question, day: int) -> float:
    date_of = date.fromordinal(_FIRST_DAY + day)
    return max(span.closeness(date_of) for span in question.spans)


def _matches(
    universe: Universe,
    lexical: fulltext.TermScores,
    matching: Matching,
    rows: NDArray[np.int64],
    *,
    most: int | None,
) -> tuple[Match, ...]:
    """Return a match for each memory that the rows, best first, answer for; the best of them where there are more."""
    scores: list[float] = matching.scores.tolist()
    leading: dict[str, int] = {}
    strengths: dict[str, float] = {}
    for row, strength in zip(rows.tolist(), matching.strengths[rows].tolist(), strict=True):
        for ref in universe.answers(row):
            leading.setdefault(ref, row)
            strengths[ref] = max(strength, strengths.get(ref, 0.0))
    order = sorted(leading, key=lambda ref: (-scores[leading[ref]], -strengths[ref], ref))
    relevances = absolute_relevances(order, strengths)
    best = max(scores)
    told = order[:most]
    lead = [leading[ref] for ref in told]
    words = _words_of(universe.layout, lexical, list(dict.fromkeys(lead)))
    channels = _told_channels(matching, lead)
    return tuple(
        Match(
            ref=ref,
            relevance=relevances[ref],
            fused_rank=position,
            standing=round(scores[row] / best, CHANNEL_DIGITS),
            retrievers=_retrievers(heard),
            words=words.get(row, ()),
            channels={name: round(value, CHANNEL_DIGITS) for name, value in heard.items()},
        )
        for position, (ref, row, heard) in enumerate(zip(told, lead, channels, strict=True), start=1)
    )


def _told_channels(matching: Matching, rows: list[int]) -> list[dict[str, float]]:
    """Return for each row the channels that say anything of it, and what they say."""
    told: list[dict[str, float]] = [{} for _ in rows]
    for name, values in matching.channels.items():
        heard = values[rows]
        for place in np.flatnonzero(heard).tolist():
            told[place][name] = float(heard[place])
    return told


def _words_of(layout: Layout, lexical: fulltext.TermScores, rows: list[int]) -> dict[int, tuple[str, ...]]:
    """Return the task's words that each row has itself; rows without any are left out."""
    ids = layout.ids[rows]
    places = np.searchsorted(lexical.ids, ids).clip(max=max(0, len(lexical.ids) - 1))
    having = [
        (row, place)
        for row, pk, place in zip(rows, ids.tolist(), places.tolist(), strict=True)
        if len(lexical.ids) and lexical.ids[place] == pk
    ]
    found = lexical.matched_words(np.array([place for _, place in having], dtype=np.int64))
    return {row: words for (row, _), words in zip(having, found, strict=True)}


def _retrievers(channels: Mapping[str, float]) -> tuple[str, ...]:
    """Name the searches that speak for a row: by words and meaning also where they found it in its thread."""
    return tuple(
        retriever
        for retriever, names in RETRIEVER_CHANNELS.items()
        if any(channels.get(name, 0.0) > 0 for name in names)
    )


# -- Candidates ----------------------------------------------------------------------------------


def gather_candidates(caller: Caller, request: ContextRequest) -> Pool:
    """Find everything that may compete for the budget.

    Returns: up to 100 matched candidates and those of the layers that need no match, without what earlier pages
        carried; a fixed number of statements.
    """
    catalogue = catalogue_of(caller.vault.pk)
    rows = newest_first(catalogue, eligible(caller, request))
    universe = universe_of(caller, catalogue, rows, known_at=request.known_at)
    sent = request.already_sent
    today = request.as_of.astimezone(UTC).date()
    ranking = rank(
        caller,
        request.task,
        universe=universe,
        today=today,
        least_share=POOL_SHARE,
        hops=True,
        most=POOL_LIMIT + len(sent) + 1,  # one more tells that there are more
    )
    unsent = [match for match in ranking.matches if match.ref not in sent] if ranking.relevant else []
    matches = {match.ref: match for match in unsent[:POOL_LIMIT]}
    asked = opening(request.task, limit=READ_OF_A_TASK)
    says_nothing = not content_terms(asked, caller.vault.language)  # then the newest are the answer
    standing = _standing(catalogue, rows, floor_only=not (ranking.relevant or says_nothing))
    found = load_candidates(
        caller,
        matches=matches,
        standing={ref: layer for ref, layer in standing.items() if ref not in sent},
    )
    cited = tuple(candidate for candidate in found if candidate.source_urls)
    return Pool(
        candidates=cited,
        excluded_uncited=len(found) - len(cited),
        pending_excluded=_waiting(caller, request),
        relevant=ranking.relevant,
        stocked=bool(len(rows)),
        stated=ranking.stated,
        more=len(unsent) > POOL_LIMIT,
    )


def _standing(catalogue: Catalogue, newest: NDArray[np.int64], *, floor_only: bool) -> dict[str, PackLayer]:
    """Return the refs that need no match, and the layer in which each stands: the newest of every kind."""
    refs = catalogue.refs[newest]
    rules = refs[catalogue.in_layers(newest, {MemoryLayer.NEGATIVE})][:CONSTRAINT_LIMIT].tolist()
    floor = dict.fromkeys(rules, PackLayer.CONSTRAINTS)
    if floor_only:
        return floor
    personal = newest[catalogue.in_layers(newest, _IDENTITY)][:STANDING_LIMIT].tolist()
    open_loops = newest[catalogue.of_kinds(newest, _OPEN_KINDS)][:STANDING_LIMIT].tolist()
    placed = {
        str(catalogue.refs[row]): pack_layer(*catalogue.layer_and_kind(row))
        for row in (*personal, *open_loops)
    }
    recent = dict.fromkeys(refs[:STANDING_LIMIT].tolist(), PackLayer.RECENCY)
    return recent | placed | floor


def _waiting(caller: Caller, request: ContextRequest) -> int:
    waits = Q(status=Status.PENDING) | Q(status=Status.APPROVED, withheld=True)
    return (
        narrowed(caller, request).known_at(request.known_at).filter(waits, redacted_at__isnull=True).count()
    )


def pack_layer(layer: str, kind: str) -> PackLayer:
    """Return the layer of a pack in which a memory stands, by what it is."""
    if layer == MemoryLayer.NEGATIVE:
        return PackLayer.CONSTRAINTS
    if layer == MemoryLayer.DECISION:
        return PackLayer.DECISIONS
    if layer == MemoryLayer.PROCEDURAL:
        return PackLayer.PROCEDURES
    if layer in _IDENTITY:
        return PackLayer.IDENTITY
    return PackLayer.OPEN_LOOPS if kind in _OPEN_KINDS else PackLayer.FACTS


def load_candidates(
    caller: Caller, *, matches: Mapping[str, Match], standing: Mapping[str, PackLayer]
) -> list[Candidate]:
    """Read the memories behind refs, with what they cite, whom they name and what they contradict.

    Args:
        matches: how matched memories answer the task.
        standing: the layers of those that need no match.
    Returns: one candidate for each ref, the matched ones first and in their order; two statements.
    """
    refs = list(dict.fromkeys((*matches, *standing)))
    found = Memory.objects.visible_to(caller).filter(ref__among=refs).values_list(*_ROW_FIELDS)
    rows = {row[1]: row for row in found}
    beside = stand_beside(caller, [row[0] for row in rows.values()])
    spoken = _hashes_of(matches.values(), caller.vault.language)
    return [
        _candidate(rows[ref], beside, match=matches.get(ref), standing=standing.get(ref), spoken=spoken)
        for ref in refs
        if ref in rows
    ]


def _candidate(
    row: tuple[Any, ...],
    beside: Beside,
    *,
    match: Match | None,
    standing: PackLayer | None,
    spoken: Mapping[str, frozenset[int]],
) -> Candidate:
    (pk, ref, content, summary, kind, layer, occurred_at, captured_at, confidence, author,
     occurrences, thread, position, speaker, hashes) = row  # fmt: skip
    own = pack_layer(layer, kind)
    placed = own if match or standing is None else standing
    by_name_only = match is not None and match.retrievers == ("entity",) and own is PackLayer.FACTS
    term_ids = unpack_hashes(bytes(hashes))
    # On lineage the words are a predecessor's; told are those that this memory has itself.
    words = tuple(word for word in match.words if spoken[word] <= term_ids) if match else ()
    return Candidate(
        ref=ref,
        content=content,
        summary=summary,
        kind=Kind(kind),
        layer=PackLayer.ENTITY if by_name_only else placed,
        occurred_at=occurred_at,
        captured_at=captured_at,
        confidence=confidence,
        trust=AUTHOR_TRUST[Author(author)],
        occurrences=occurrences,
        thread=thread,
        position=position,
        speaker=speaker,
        term_ids=term_ids,
        source_urls=beside.sources.get(pk, ()),
        entities=beside.entities.get(pk, ()),
        conflicts_with=beside.conflicts.get(pk, frozenset()),
        protected=own is PackLayer.CONSTRAINTS,
        relevance=match.relevance if match else None,
        relevance_basis=_basis(match),
        retrievers=match.retrievers if match else ("recency" if standing is PackLayer.RECENCY else "layer",),
        matched_terms=words,
        fused_rank=match.fused_rank if match else None,
        standing=match.standing if match else None,
        channels=match.channels if match else {},
    )


def _basis(match: Match | None) -> str | None:
    if match is None:
        return None
    return "cosine" if match.retrievers == ("vector",) else "rank"


def _hashes_of(matches: Iterable[Match], language: str) -> dict[str, frozenset[int]]:
    """Return the hashed terms of every word by which something matched."""
    words = {word for match in matches for word in match.words}
    return {word: hash_terms(terms(word, language), language) for word in words}
