"""From a task to candidates: the only reads of memories on the way to a pack.

Filters come first: every channel searches only what the request may serve, so nothing is crowded out by rows
that would be dropped afterwards. A superseded memory that matches lends its match to the head of its chain.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
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
from contextpack.core.questions import Question, bare_name, read_question
from contextpack.core.ranking import absolute_relevances
from contextpack.core.threads import Floats, Layout, lay_out
from contextpack.core.types import Candidate, ContextRequest, PackLayer, Pool
from contextpack.core.weights import NOISE_BELOW, POOL_SHARE, RELEVANT_FROM
from memories.access import Caller
from memories.core.entities import entity_key
from memories.core.kinds import AUTHOR_TRUST, Author, Kind, MemoryLayer, Status
from memories.core.supersession import active_heads
from memories.core.text import content_terms, hash_terms, terms, unpack_hashes
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
_PLACE_FIELDS: Final = ("thread", "position", "speaker", "traits")
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
    """What may be matched, in thread order, and the refs that each row's match counts for: its own, its head's, or
    both."""

    layout: Layout
    answers: Sequence[tuple[str, ...]]
    speakers: Sequence[str | None]
    traits: NDArray[np.int64]

    @property
    def named_speakers(self) -> frozenset[str]:
        return frozenset(speaker for speaker in self.speakers if speaker)


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


Row = tuple[int, str, str, str, str | None, int | None, str | None, int]
"""What retrieval needs of every row that may be answered: its key, ref, memory layer and kind, then its thread, its
position there, who said it, and its traits."""


def newest_first(rows: MemoryQuerySet) -> list[Row]:
    """Read what may be answered; one statement."""
    fields = ("pk", "ref", "layer", "kind", *_PLACE_FIELDS)
    return list(rows.order_by("-captured_at", "ref").values_list(*fields))


def universe_of(caller: Caller, rows: Sequence[Row], *, known_at: datetime) -> Universe:
    """Return what may be matched so that one of `rows` is the answer.

    Args:
        rows: what may be answered.
        known_at: later supersessions did not happen yet.
    Returns: those rows for themselves, and superseded ones for the head of their chain where that may be
        answered, beside themselves if they may be answered too; one statement.
    """
    told = frozenset(row[1] for row in rows)
    old = Memory.objects.visible_to(caller).filter(superseded_by__isnull=False, superseded_at__lte=known_at)
    links = list(old.values_list("pk", "ref", "superseded_by", *_PLACE_FIELDS))
    heads = active_heads({ref: after for _, ref, after, *_ in links if after})
    members: dict[int, tuple[Any, ...]] = {row[0]: ((row[1],), *row[4:]) for row in rows}
    for pk, ref, _, *place in links:
        if (head := heads.get(ref)) in told:
            own = members[pk][0] if pk in members else ()
            members[pk] = ((*own, head), *place)
    layout = lay_out([(pk, thread, position) for pk, (_, thread, position, _, _) in members.items()])
    values = list(members.values())
    ordered = [values[place] for place in layout.order.tolist()]
    return Universe(
        layout=layout,
        answers=[answers for answers, *_ in ordered],
        speakers=[speaker for _, _, _, speaker, _ in ordered],
        traits=np.fromiter((traits for *_, traits in ordered), dtype=np.int64, count=len(ordered)),
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
    """Search by words, by meaning, by names and by dates; five statements, up to two more for long or dated tasks."""
    vault, layout, embedder = caller.vault, universe.layout, active_embedder()
    question = read_question(task, speakers=universe.named_speakers, today=today, language=vault.language)
    lexical = fulltext.score_terms(question.text, vault_id=vault.pk, language=vault.language)
    similar = vectors.compare(question.text, vault_id=vault.pk, expected=layout.ids.tolist())
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
        date=_dates(caller, question, layout),
        time=(universe.traits & Trait.TELLS_TIME > 0).astype(np.float64) * float(question.asks_when),
        question=(universe.traits & Trait.ASKS > 0).astype(np.float64),
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
        said = [speaker is not None and entity_key(speaker) == key for speaker in universe.speakers]
        person = np.maximum(np.array(said, dtype=np.float64), _rows_among(layout, mentions.get(key, ())))
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


def _dates(caller: Caller, question: Question, layout: Layout) -> Floats:
    """Say how close each row's day is to those that the task names; one statement where it names any."""
    if not question.spans:
        return np.zeros(len(layout))
    dated = Memory.objects.visible_to(caller).filter(occurred_at__isnull=False)
    days = [
        (pk, moment.astimezone(UTC).date()) for pk, moment in dated.values_list("pk", "occurred_at") if moment
    ]
    closeness = {day: max(span.closeness(day) for span in question.spans) for _, day in days}
    ids = np.fromiter((pk for pk, _ in days), dtype=np.int64, count=len(days))
    return layout.spread(ids, np.array([closeness[day] for _, day in days], dtype=np.float64))


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
        for ref in universe.answers[row]:
            leading.setdefault(ref, row)
            strengths[ref] = max(strength, strengths.get(ref, 0.0))
    order = sorted(leading, key=lambda ref: (-scores[leading[ref]], -strengths[ref], ref))
    relevances = absolute_relevances(order, strengths)
    best = max(scores)
    told = order[:most]
    words = _words_of(universe.layout, lexical, list(dict.fromkeys(leading[ref] for ref in told)))
    return tuple(
        Match(
            ref=ref,
            relevance=relevances[ref],
            fused_rank=position,
            standing=round(scores[leading[ref]] / best, CHANNEL_DIGITS),
            retrievers=_retrievers(matching, leading[ref]),
            words=words.get(leading[ref], ()),
            channels={
                name: round(value, CHANNEL_DIGITS)
                for name, values in matching.channels.items()
                if (value := float(values[leading[ref]]))
            },
        )
        for position, ref in enumerate(told, start=1)
    )


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


def _retrievers(matching: Matching, row: int) -> tuple[str, ...]:
    """Name the searches that speak for a row: by words and meaning also where they found it in its thread."""
    speaking = {name for name, values in matching.channels.items() if values[row] > 0}
    return tuple(
        retriever for retriever, channels in RETRIEVER_CHANNELS.items() if not speaking.isdisjoint(channels)
    )


# -- Candidates ----------------------------------------------------------------------------------


def gather_candidates(caller: Caller, request: ContextRequest) -> Pool:
    """Find everything that may compete for the budget.

    Returns: up to 100 matched candidates and those of the layers that need no match, without what earlier pages
        carried; a fixed number of statements.
    """
    rows = newest_first(eligible(caller, request))
    universe = universe_of(caller, rows, known_at=request.known_at)
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
    says_nothing = not content_terms(request.task, caller.vault.language)  # then the newest are the answer
    standing = _standing(rows, floor_only=not (ranking.relevant or says_nothing))
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
        stocked=bool(rows),
        stated=ranking.stated,
        more=len(unsent) > POOL_LIMIT,
    )


def _standing(newest: Sequence[Row], *, floor_only: bool) -> dict[str, PackLayer]:
    """Return the refs that need no match, and the layer in which each stands: the newest of every kind."""
    rules = [row[1] for row in newest if row[2] == MemoryLayer.NEGATIVE][:CONSTRAINT_LIMIT]
    floor = dict.fromkeys(rules, PackLayer.CONSTRAINTS)
    if floor_only:
        return floor
    personal = [row for row in newest if row[2] in _IDENTITY][:STANDING_LIMIT]
    open_loops = [row for row in newest if row[3] in _OPEN_KINDS][:STANDING_LIMIT]
    placed = {row[1]: pack_layer(row[2], row[3]) for row in (*personal, *open_loops)}
    recent = {row[1]: PackLayer.RECENCY for row in newest[:STANDING_LIMIT]}
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
    beside = stand_beside(caller.vault.pk, [row[0] for row in rows.values()])
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
