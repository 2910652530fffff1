"""The values that travel from a request to a pack.

Everything here is frozen and knows no framework: a stage receives values, answers values, and never edits
what an earlier stage made. Lengths are counted in tokens, times are aware, unknown is None.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memories.core.kinds import Kind, MemoryLayer


class PackLayer(StrEnum):
    """The eight layers of a pack, in the order in which a reader wants them."""

    CONSTRAINTS = "constraints"
    DECISIONS = "decisions"
    FACTS = "facts"
    ENTITY = "entity"
    PROCEDURES = "procedures"
    IDENTITY = "identity"
    OPEN_LOOPS = "open_loops"
    RECENCY = "recency"


class PackFormat(StrEnum):
    JSON = "json"
    SMP = "smp"
    MARKDOWN = "markdown"


class DeltaMode(StrEnum):
    """What a session's later turns send: every item and a delta of ids, or only new content."""

    IDS = "ids"
    CONTENT = "content"


class Rung(StrEnum):
    """How much of a memory an item carries, thinnest first in `RUNG_ORDER`."""

    FULL = "full"
    SUMMARY = "summary"
    HEAD = "head"


RUNG_ORDER: Mapping[Rung, int] = {Rung.HEAD: 0, Rung.SUMMARY: 1, Rung.FULL: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """A consuming language model's calibration (CMP §3)."""

    name: str
    context_window: int
    pack_token_budget: int
    chars_per_token: float
    weights: tuple[float, float, float]  # relevance, recency, authority
    knapsack: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """One question for a pack, fully resolved: profile chosen, budget clamped, clock read once."""

    task: str
    format: PackFormat
    model: str | None
    profile: ModelProfile
    budget: int
    now: datetime
    as_of: datetime
    known_at: datetime
    project: str | None = None
    layers: tuple[MemoryLayer, ...] = ()
    entities: tuple[str, ...] = ()
    session_id: str | None = None
    since: int | None = None
    dropped: tuple[str, ...] = ()
    delta: DeltaMode = DeltaMode.IDS
    pin: bool = False
    legend: bool = True
    already_sent: frozenset[str] = frozenset()  # refs that earlier pages of this request carried


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One cited, servable memory that competes for the budget."""

    ref: str
    content: str
    layer: PackLayer
    kind: Kind
    captured_at: datetime
    summary: str | None = None
    occurred_at: datetime | None = None
    relevance: float | None = None  # 0..1 absolute match strength; None where no retrieval score applies
    relevance_basis: str | None = None  # "cosine" | "rrf" | "rank" | None
    retrievers: tuple[str, ...] = ()  # subset of fts, vector, entity, recency, layer
    matched_terms: tuple[str, ...] = ()  # the task's words, in lower case, found in the memory
    fused_rank: int | None = None  # from 1
    standing: float | None = None  # 0..1: its score next to the best match's; None where nothing matched it
    channels: Mapping[str, float] = field(default_factory=dict)  # what its score is made of, 0..1 each
    source_urls: tuple[str, ...] = ()  # never empty: nothing uncited is packed
    confidence: float | None = None
    trust: float = 0.5  # 0..1, what authority weighs when no confidence was stated
    entities: tuple[str, ...] = ()
    occurrences: int = 1
    conflicts_with: frozenset[str] = frozenset()  # refs of open conflicts, in this pool or not
    term_ids: frozenset[int] = frozenset()  # hashed content terms, for Jaccard similarity
    thread: str | None = None
    position: int | None = None
    speaker: str | None = None
    protected: bool = False  # may stand on the floor: a hard rule that every pack carries

    @property
    def conflicted(self) -> bool:
        return bool(self.conflicts_with)

    @property
    def moment(self) -> datetime:
        """What recency is measured from: when it was true or observed, else when it was captured."""
        return self.occurred_at or self.captured_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """Under what an item stands in a body; sent, and paid for, once for all items that share its path."""

    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A candidate that found a place, at one rung of the ladder."""

    candidate: Candidate
    rung: Rung
    text: str  # what is sent: the content, the summary, or the head sentence
    tokens: int  # what this item costs as sent in the request's format, keys and citation included
    utility: float
    density: float
    folded_refs: tuple[str, ...] = ()
    source_urls: tuple[str, ...] = ()  # the survivor's own first, then the folded ones'
    occurrences: int = 1

    @property
    def ref(self) -> str:
        return self.candidate.ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    tokens: int
    used: int
    content_tokens: int = 0  # the part of `used` that is memory text


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How complete a pack is; the counts that explain what is missing."""

    status: str  # "empty" | "weak" | "usable" | "complete"
    layers_with_evidence: tuple[PackLayer, ...] = ()
    excluded_uncited: int = 0
    deduped: int = 0
    pending_excluded: int = 0
    sections_omitted: tuple[PackLayer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of one candidate, for the receipt and for why-not."""

    ref: str
    outcome: str  # "packed" | "folded_into" | "outbid" | "already_sent"
    into: str | None = None  # the survivor of a fold
    utility: float = 0.0
    density: float = 0.0
    tokens: int = 0  # what its cheapest rung would have cost
    short_by: int = 0  # tokens missing when it was its turn (outbid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What retrieval found: the candidates and the counts that retrieval alone knows."""

    candidates: tuple[Candidate, ...]
    excluded_uncited: int = 0
    pending_excluded: int = 0
    relevant: bool = True  # False where nothing in the vault answers the task
    stocked: bool = True  # False where the request may be served nothing at all
    stated: tuple[str, ...] = ()  # degradations a reader must know, in words ("vector index is rebuilding")
    more: bool = False  # whether other memories match beyond these; a later page offers them


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The finished selection; nothing after assembly changes it."""

    items: tuple[Item, ...]  # in the order in which they are sent
    budget: Budget
    coverage: Coverage
    fates: tuple[Fate, ...] = ()
    left_out: tuple[str, ...] = ()  # refs the budget left out, best first: what a next page offers
    distinct_facts_per_1k_tokens: float = 0.0
    stated: tuple[str, ...] = ()

    @property
    def refs(self) -> tuple[str, ...]:
        return tuple(item.ref for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptStub:
    """What an envelope tells of its audit record."""

    id: str
    assembled_at: datetime
    pack_digest: str
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PinStub:
    id: str
    digest: str
