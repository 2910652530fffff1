"""From a task to candidates: the only reads of memories on the way to a pack.

Filters come first: every channel searches only what the request may serve, so nothing is crowded out by rows
that would be dropped afterwards. A superseded memory that matches lends its match to the head of its chain.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Q

from contextpack.core.ranking import absolute_relevances, fuse
from contextpack.core.strength import COSINE_FLOOR, is_noise, is_relevant, match_strength
from contextpack.core.types import Candidate, ContextRequest, PackLayer, Pool
from memories.access import Caller
from memories.core.kinds import AUTHOR_TRUST, Author, Kind, MemoryLayer, Status
from memories.core.supersession import active_heads
from memories.core.text import content_terms, hash_terms, terms, unpack_hashes
from memories.models import Memory
from memories.querysets import MemoryQuerySet
from memories.search import fulltext, naming, vectors
from memories.search.beside import Beside, stand_beside

CHANNEL_LIMIT: Final = 1_000
POOL_LIMIT: Final = 100  # twice as many add nothing to the first 3,000 tokens, and a third to the time
CONSTRAINT_LIMIT: Final = 20
STANDING_LIMIT: Final = 8  # for each layer that needs no match: identity, open loops, recency
RETRIEVERS: Final = ("fts", "vector", "entity")

_IDENTITY: Final = frozenset({MemoryLayer.PREFERENCE, MemoryLayer.STYLE})
_OPEN_KINDS: Final = frozenset({Kind.QUESTION, Kind.ACTION})
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
    retrievers: tuple[str, ...]
    words: tuple[str, ...] = ()  # of the task; on lineage those that a predecessor has


Universe = Mapping[int, tuple[str, ...]]
"""What may be matched: the key of a row → the refs that its match counts for, its own, its head's, or both."""


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


Row = tuple[int, str, str, str]
"""What retrieval needs of every row that may be answered: its key, ref, memory layer and kind."""


def newest_first(rows: MemoryQuerySet) -> list[Row]:
    """Read what may be answered; one statement."""
    return list(rows.order_by("-captured_at", "ref").values_list("pk", "ref", "layer", "kind"))


def universe_of(caller: Caller, rows: Sequence[Row], *, known_at: datetime) -> Universe:
    """Return what may be matched so that one of `rows` is the answer.

    Args:
        rows: what may be answered.
        known_at: later supersessions did not happen yet.
    Returns: those rows for themselves, and superseded ones for the head of their chain where that may be
        answered, beside themselves if they may be answered too; one statement.
    """
    answers: dict[int, tuple[str, ...]] = {pk: (ref,) for pk, ref, _, _ in rows}
    told = frozenset(ref for _, ref, _, _ in rows)
    old = Memory.objects.visible_to(caller).filter(superseded_by__isnull=False, superseded_at__lte=known_at)
    links = [(pk, ref, after) for pk, ref, after in old.values_list("pk", "ref", "superseded_by") if after]
    successor = {ref: after for _, ref, after in links}
    heads = active_heads(successor)
    standing_in = {pk: heads[ref] for pk, ref, _ in links if heads.get(ref) in told}
    return answers | {pk: (*answers.get(pk, ()), head) for pk, head in standing_in.items()}


# -- Matching ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Evidence:
    """What the channels say of one memory; what they say of those that it replaced counts for it."""

    coverage: float = 0.0
    cosine_lift: float = 0.0
    words: tuple[str, ...] = ()
    named: bool = False

    def add_words(self, coverage: float, words: tuple[str, ...]) -> None:
        if coverage > self.coverage or not self.words:
            self.coverage, self.words = coverage, words

    @property
    def strength(self) -> float:
        return match_strength(coverage=self.coverage, cosine_lift=self.cosine_lift, named=self.named)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What the channels answered: each one's scores by ref, and the evidence for every ref."""

    channels: Mapping[str, Mapping[str, float]]
    evidence: Mapping[str, _Evidence]
    stated: tuple[str, ...]


def rank(caller: Caller, task: str, *, universe: Universe, limit: int | None) -> Ranking:
    """Search by words, meaning and names, and fuse what they find.

    Args:
        limit: how many of each channel's best are fused; None for all.
    Returns: one match for each memory, at the best of its own ranks and of those that it superseded.
    """
    found = _search(caller, task, universe=universe, limit=limit or max(1, len(universe)))
    fused = fuse(found.channels)
    strengths = {ref: evidence.strength for ref, evidence in found.evidence.items()}
    best = max(strengths.values(), default=0.0)
    heard = (ref for ref in fused if not is_noise(strengths[ref], best))
    order = sorted(heard, key=lambda ref: (-fused[ref], -strengths[ref], ref))
    relevances = absolute_relevances(order, strengths)
    matches = tuple(
        Match(
            ref=ref,
            relevance=relevances[ref],
            fused_rank=position,
            retrievers=tuple(name for name in RETRIEVERS if ref in found.channels[name]),
            words=found.evidence[ref].words,
        )
        for position, ref in enumerate(order, start=1)
    )
    return Ranking(matches=matches, relevant=is_relevant(best), stated=found.stated)


def _search(caller: Caller, task: str, *, universe: Universe, limit: int) -> _Found:
    vault, allowed = caller.vault, universe.keys()
    lexical = fulltext.lookup(task, vault_id=vault.pk, language=vault.language, allowed=allowed, limit=limit)
    semantic = vectors.lookup(task, vault_id=vault.pk, allowed=allowed, limit=limit, least_lift=COSINE_FLOOR)
    about = naming.lookup(task, vault_id=vault.pk, allowed=allowed, limit=limit)
    close = [(hit.memory_id, hit.similarity - semantic.baseline) for hit in semantic.hits]
    channels = {
        "fts": _by_ref(((hit.memory_id, hit.score) for hit in lexical), universe),
        "vector": _by_ref(close, universe),
        "entity": _by_ref(about.items(), universe),
    }
    evidence = {ref: _Evidence() for scores in channels.values() for ref in scores}
    for hit in lexical:
        for ref in universe[hit.memory_id]:
            evidence[ref].add_words(hit.strength, hit.matched)
    for pk, lift in close:
        for ref in universe[pk]:
            evidence[ref].cosine_lift = max(evidence[ref].cosine_lift, lift)
    for ref in channels["entity"]:
        evidence[ref].named = True
    return _Found(channels=channels, evidence=evidence, stated=semantic.stated)


def _by_ref(scored: Iterable[tuple[int, float]], universe: Universe) -> dict[str, float]:
    """Credit each row's score to the refs that it counts for; the better of two stands."""
    scores: dict[str, float] = {}
    for pk, score in scored:
        for ref in universe[pk]:
            scores[ref] = max(score, scores.get(ref, score))
    return scores


# -- Candidates ----------------------------------------------------------------------------------


def gather_candidates(caller: Caller, request: ContextRequest) -> Pool:
    """Find everything that may compete for the budget.

    Returns: up to 100 matched candidates and those of the layers that need no match, without what earlier pages
        carried; a fixed number of statements.
    """
    rows = newest_first(eligible(caller, request))
    universe = universe_of(caller, rows, known_at=request.known_at)
    sent = request.already_sent
    ranking = rank(caller, request.task, universe=universe, limit=CHANNEL_LIMIT + len(sent))
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
    rules = [ref for _, ref, layer, _ in newest if layer == MemoryLayer.NEGATIVE][:CONSTRAINT_LIMIT]
    floor = dict.fromkeys(rules, PackLayer.CONSTRAINTS)
    if floor_only:
        return floor
    personal = [row for row in newest if row[2] in _IDENTITY][:STANDING_LIMIT]
    open_loops = [row for row in newest if row[3] in _OPEN_KINDS][:STANDING_LIMIT]
    placed = {ref: pack_layer(layer, kind) for _, ref, layer, kind in (*personal, *open_loops)}
    recent = {ref: PackLayer.RECENCY for _, ref, _, _ in newest[:STANDING_LIMIT]}
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
    )


def _basis(match: Match | None) -> str | None:
    if match is None:
        return None
    return "cosine" if match.retrievers == ("vector",) else "rrf"


def _hashes_of(matches: Iterable[Match], language: str) -> dict[str, frozenset[int]]:
    """Return the hashed terms of every word by which something matched."""
    words = {word for match in matches for word in match.words}
    return {word: hash_terms(terms(word, language), language) for word in words}
