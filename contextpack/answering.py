"""A function per question, each read from top to bottom: context, query, expand.

Data goes one way: gather, assemble, step the session, write down, render. Once a pack is assembled nothing
changes it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from contextpack.core.assembly import assemble
from contextpack.core.envelope import build_envelope
from contextpack.core.mql import pack_follow_ups
from contextpack.core.questions import READ_OF_A_TASK
from contextpack.core.rendering import as_json, as_markdown
from contextpack.core.types import (
    RUNG_ORDER,
    ContextRequest,
    DeltaMode,
    Item,
    Pack,
    PackFormat,
    PackLayer,
    PinStub,
    Pool,
)
from contextpack.items import whole_item
from contextpack.models import Receipt
from contextpack.paging import next_page
from contextpack.pricing import Prices, account_for
from contextpack.recording import (
    JSON_TYPE,
    MARKDOWN_TYPE,
    draft_receipt,
    is_still_served,
    keep_pin,
    save_patiently,
    stub_of,
    wanted_receipt,
)
from contextpack.retrieval import gather_candidates, load_candidates
from cortex.api.meters import Count, meters
from cortex.api.pagination import query_digest
from cortex.api.rendering import dump_json
from cortex.errors import Unavailable
from memories.access import Caller
from memories.core.text import content_terms, opening
from sessions.core.delta import Delta, Served
from sessions.stepping import Turn, advance

ATTEMPTS: Final = 4
CONTENT_SHARE: Final = "Cortex-Content-Share"
DELTA_HEADER: Final = "Cortex-Delta"
# What an envelope says of itself, for a body that has no place for it.
CURSOR_HEADER: Final = "Cortex-Cursor"
DELTA_CURSOR_HEADER: Final = "Cortex-Delta-Cursor"
RECEIPT_HEADER: Final = "Cortex-Receipt"
PIN_HEADER: Final = "Cortex-Pin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, ready to be sent."""

    body: Mapping[str, Any] | str
    content_type: str
    headers: Mapping[str, str]

    @property
    def content(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else dump_json(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the session and the books add to a pack."""

    delta: Delta | None
    attached: tuple[Item, ...]
    receipt: Receipt | None
    pin: PinStub | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a task would be answered with; nothing of it was written down."""

    request: ContextRequest
    pack: Pack
    answer: Answer
    receipt: Receipt  # as it would be kept; not saved


def try_context(caller: Caller, request: ContextRequest) -> Trial:
    """Answer a task as `answer_context` does, outside of any conversation, and leave no trace of it."""
    alone = replace(request, session_id=None, since=None, dropped=(), delta=DeltaMode.IDS, pin=False)
    pool, pack = _packed(caller, alone)
    untold = Told(delta=None, attached=(), receipt=None, pin=None)
    return Trial(
        request=alone,
        pack=pack,
        answer=render(caller, alone, pack, untold),
        receipt=draft_receipt(caller, alone, pool, pack),
    )


def answer_context(caller: Caller, request: ContextRequest) -> Answer:
    """Answer a task with the pack that fits the asking model's budget.

    Where something in the pack was withdrawn before the pack could be written down, the task is answered anew.

    Raises: NotHere, Unprocessable and the like only before anything was written; Unavailable where memories are
        withdrawn faster than they can be packed.
    """
    for _ in range(ATTEMPTS):
        pool, pack = _packed(caller, request)
        told = _record(caller, request, pool, pack)
        if told is not None:
            _count(request, pack, told)
            return render(caller, request, pack, told)
    raise Unavailable("what this pack would hold is being withdrawn; try again")


def _packed(caller: Caller, request: ContextRequest) -> tuple[Pool, Pack]:
    """Return what competed and what won; only reads."""
    pool = gather_candidates(caller, request)
    return pool, assemble(pool, request)


def _record(caller: Caller, request: ContextRequest, pool: Pool, pack: Pack) -> Told | None:
    """Step the session and write receipt and pin, all of it or none.

    Returns: None, and nothing is written, where not all of the pack may be served any more. An answer that
        changes nothing is as good as one that was given a moment before.
    """
    receipt = wanted_receipt(caller, request, pool, pack)
    if request.session_id is None and not request.pin:
        if receipt:
            save_patiently(receipt)
        return Told(delta=None, attached=(), receipt=receipt, pin=None)
    with transaction.atomic():
        if not is_still_served(caller, pack, at=request.now, hold=request.pin):
            return None
        delta, attached = _step(caller, request, pack)
        pin = keep_pin(caller, request, pack) if request.pin else None
        if receipt:
            receipt.save(force_insert=True)
    return Told(delta=delta, attached=attached, receipt=receipt, pin=pin)


def _step(caller: Caller, request: ContextRequest, pack: Pack) -> tuple[Delta | None, tuple[Item, ...]]:
    """Advance the session by this pack.

    Returns: the delta, and the heads of superseded memories that travel beside the pack.
    """
    if request.session_id is None:
        return None, ()
    on_offer: dict[str, Item] = {}

    def offer(heads: Collection[str]) -> Sequence[Served]:
        on_offer.update(_heads_that_fit(caller, request, pack, heads))
        return [_served(item) for item in on_offer.values()]

    turn = Turn(
        session_id=request.session_id,
        since=request.since,
        dropped=request.dropped,
        content_travels_once=request.delta is DeltaMode.CONTENT,
        request_digest=_request_digest(request),
        continues=bool(request.already_sent),
        task_terms=tuple(content_terms(opening(request.task, limit=READ_OF_A_TASK), caller.vault.language)),
        tokens=pack.budget.used,
        now=request.now,
    )
    delta = advance(caller, turn, served=[_served(item) for item in pack.items], offer=offer)
    return delta, tuple(on_offer[ref] for ref in delta.attached)


def _served(item: Item) -> Served:
    return Served(
        ref=item.ref, rung=RUNG_ORDER[item.rung], relevance=item.candidate.relevance, item_tokens=item.tokens
    )


def _heads_that_fit(
    caller: Caller, request: ContextRequest, pack: Pack, heads: Collection[str]
) -> dict[str, Item]:
    """Make items of memories that replaced held ones, as long as they fit into what the pack left of its budget."""
    found = load_candidates(caller, matches={}, standing=dict.fromkeys(sorted(heads), PackLayer.FACTS))
    prices = Prices(request)
    room = pack.budget.tokens - pack.budget.used
    opened = {path for item in pack.items for path in prices.of_headings(item.candidate)}
    fitting: dict[str, Item] = {}
    for candidate in found:
        item = whole_item(candidate)
        item = replace(item, tokens=prices.of_item(item))
        headings = prices.of_headings(candidate)
        cost = item.tokens + sum(tokens for path, tokens in headings.items() if path not in opened)
        if cost <= room:
            fitting[item.ref] = item
            opened |= headings.keys()
            room -= cost
    return fitting


def _request_digest(request: ContextRequest) -> str:
    """Name the question, whatever its client says of the session."""
    return query_digest(
        [
            request.task,
            request.format,
            request.profile.name,
            request.budget,
            request.project,
            request.layers,
            request.entities,
            request.delta,
            _stated(request.as_of, request),
            _stated(request.known_at, request),
        ]
    )


def _stated(moment: datetime, request: ContextRequest) -> datetime | None:
    """Return a moment that the request named; one that follows the clock is the same question every time."""
    return None if moment == request.now else moment


# -- Rendering -----------------------------------------------------------------------------------


def render(caller: Caller, request: ContextRequest, pack: Pack, told: Told) -> Answer:
    """Return a recorded pack as its request wants it: what is sent, byte for byte."""
    send_refs, sent = _travelling(request, pack, told)
    cursor = next_page(caller, request, pack)
    headers = {CONTENT_SHARE: _content_share(sent)}
    if told.delta and told.delta.reset:
        headers[DELTA_HEADER] = "reset"
    memory = working_memory(told.delta, request) if told.delta else None
    if request.format is PackFormat.MARKDOWN:
        headers |= _beside_text(told, cursor)
        text = as_markdown(sent, request, working_memory=memory, send_refs=send_refs)
        return Answer(body=text, content_type=MARKDOWN_TYPE, headers=headers)
    build = build_envelope if request.format is PackFormat.SMP else as_json
    body = build(
        sent,
        request,
        working_memory=memory,
        receipt=stub_of(told.receipt),
        pin=told.pin,
        cursor=cursor,
        follow_ups=pack_follow_ups(pack),
        send_refs=send_refs,
    )
    return Answer(body=body, content_type=JSON_TYPE, headers=headers)


def _count(request: ContextRequest, pack: Pack, told: Told) -> None:
    meters.count(Count.PACKS, format=request.format.value, coverage=pack.coverage.status)
    meters.count(Count.PACK_TOKENS, pack.budget.used)
    if told.delta and request.delta is DeltaMode.CONTENT:
        meters.count(Count.TOKENS_SAVED, told.delta.tokens_saved)
    if pack.stated:
        meters.count(Count.DEGRADED)


def _beside_text(told: Told, cursor: str | None) -> dict[str, str]:
    handles = {
        CURSOR_HEADER: cursor,
        DELTA_CURSOR_HEADER: str(told.delta.cursor) if told.delta else None,
        RECEIPT_HEADER: told.receipt.ref if told.receipt else None,
        PIN_HEADER: told.pin.id if told.pin else None,
    }
    return {name: handle for name, handle in handles.items() if handle is not None}


def _travelling(request: ContextRequest, pack: Pack, told: Told) -> tuple[frozenset[str] | None, Pack]:
    """Return which refs travel (None: all) and the pack with the heads beside it, its budget as it is sent."""
    if told.delta is None or request.delta is not DeltaMode.CONTENT:
        return None, pack
    fresh = frozenset(ref for ref, _ in told.delta.new) | frozenset(told.delta.changed)
    items = (*pack.items, *told.attached)
    return fresh, account_for(replace(pack, items=items), request, sent=fresh)


def _content_share(pack: Pack) -> str:
    used = pack.budget.used
    return f"{min(1.0, pack.budget.content_tokens / used) if used else 0.0:.3f}"


def working_memory(delta: Delta, request: ContextRequest) -> dict[str, Any]:
    """Return a delta as it goes on the wire (CMP §8.2; with new content only: docs/wire.md, Session delta)."""
    told: dict[str, Any] = {
        "new": [{"ref": ref, "delta_relevance": relevance} for ref, relevance in delta.new],
        "evicted": list(delta.evicted),
        "superseded": [{"ref": ref, "replacement": head} for ref, head in delta.superseded],
        "cursor": str(delta.cursor),
    }
    if request.delta is not DeltaMode.CONTENT:
        return told
    return told | {
        "carried": list(delta.carried),
        "changed": list(delta.changed),
        "retracted": list(delta.retracted),
        "tokens_saved": delta.tokens_saved,
    }
