"""The bytes of an earlier answer, made again from its receipt: nothing is searched, packed or kept.

A receipt holds no text. It names each item and its form, and a memory's text never changes in place; so the items can
be put together again, also where a memory was superseded or archived since, and the pack's digest proves that their
words and order are those that were sent. What else an item carries is as the memory says today: where something that
an answer shows was changed since, or a part is kept no more, that is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from contextpack.answering import Told, render
from contextpack.core.canonical import digest, pack_digest
from contextpack.core.ladder import rungs, thin_heads
from contextpack.core.receipts import Matched, mark_of, pool_from_wire
from contextpack.core.types import (
    Budget,
    Candidate,
    Coverage,
    DeltaMode,
    Item,
    Pack,
    PackLayer,
    Rung,
)
from contextpack.items import whole_item
from contextpack.models import Receipt
from contextpack.pricing import Prices
from contextpack.recording import WITHDRAWN_TASK, pin_of
from contextpack.replaying import request_of
from contextpack.retrieval import load_candidates
from memories.access import Caller, scope_digest
from memories.models import Memory
from sessions.core.delta import Delta
from sessions.models import DeltaRecord, WorkingSession

TEXT_GONE: Final = "{} of its memories were forgotten or redacted, or have expired since; their text is gone"
WORDS_DIFFER: Final = "the words or their order are not those that were sent"
AMENDED: Final = "of {} memories something that an answer shows was changed since"
NO_DELTA: Final = "what the session's delta said is not kept any more"
NO_TASK: Final = "its task quoted what was forgotten since, and went with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """An answer's bytes, and what speaks against their being the very ones that were sent."""

    body: bytes
    content_type: str
    doubts: tuple[str, ...]

    @property
    def exact(self) -> bool:
        return not self.doubts

    @property
    def digest(self) -> str:
        return digest(self.body)


def sent_again(caller: Caller, receipt: Receipt, *, now: datetime) -> Sent:
    """Make the body of an answer again; a fixed number of statements.

    Args:
        caller: who may see all of the vault.
        now: what has expired by then is told no more.
    """
    asked = request_of(receipt)
    matched = _matched(receipt)
    delta = _delta_of(receipt)
    beside = _beside(receipt, delta)
    found = _found(caller, [*_named(receipt.items), *beside], at=now)
    prices = Prices(asked)
    items = tuple(_item(line, found, matched, prices) for line in receipt.items if line["ref"] in found)
    pack = _pack(receipt, items)
    attached = tuple(_attached(found[ref], prices) for ref in beside if ref in found)
    told = Told(
        delta=None if delta is None else replace(delta, attached=beside),
        attached=attached,
        receipt=receipt,
        pin=pin_of(pack, asked) if asked.pin else None,
    )
    answer = render(replace(caller, actor=receipt.actor), asked, pack, told)
    return Sent(
        body=answer.content,
        content_type=answer.content_type,
        doubts=tuple(_doubts(receipt, pack, found, matched, delta)),
    )


def content_tokens(caller: Caller, receipt: Receipt, *, now: datetime) -> int | None:
    """Return how much of a pack's tokens is memory text; None where some of the text is gone."""
    found = _found(caller, _named(receipt.items), at=now)
    if any(line["ref"] not in found for line in receipt.items):
        return None
    prices, matched = Prices(request_of(receipt)), _matched(receipt)
    return prices.of_content([_item(line, found, matched, prices) for line in receipt.items])


def _matched(receipt: Receipt) -> dict[str, Matched]:
    return {match.ref: match for match in pool_from_wire(receipt.pool or {"words": [], "rows": []})}


def _named(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    return [ref for line in lines for ref in (line["ref"], *line["folded_refs"])]


def _found(caller: Caller, refs: Sequence[str], *, at: datetime) -> dict[str, Candidate]:
    standing = dict.fromkeys(refs, PackLayer.FACTS)
    kept = Memory.objects.in_vault(caller.vault.pk).filter(ref__among=refs, redacted_at__isnull=True)
    there = frozenset(kept.exclude(expires_at__lte=at).values_list("ref", flat=True))
    found = load_candidates(
        caller, matches={}, standing={ref: standing[ref] for ref in standing if ref in there}
    )
    return {candidate.ref: candidate for candidate in found}


def _item(
    line: Mapping[str, Any],
    found: Mapping[str, Candidate],
    matched: Mapping[str, Matched],
    prices: Prices,
) -> Item:
    candidate = found[line["ref"]]
    if line["ref"] in matched:
        candidate = matched[line["ref"]].again(candidate, layer=PackLayer(line["layer"]))
    folded = [found[ref] for ref in line["folded_refs"] if ref in found]
    item = Item(
        candidate=candidate,
        rung=Rung(line["rung"]),
        text=candidate.content,
        tokens=line["tokens"],
        utility=line["utility"],
        density=line["density"],
        folded_refs=tuple(line["folded_refs"]),
        source_urls=tuple(dict.fromkeys(url for one in (candidate, *folded) for url in one.source_urls)),
        occurrences=sum(one.occurrences for one in (candidate, *folded)),
    )
    return _in_its_form(item, prices)


def _in_its_form(item: Item, prices: Prices) -> Item:
    """Return the item with the text of its rung; of a head's many cuts, the one that costs what was paid."""
    if item.rung is Rung.FULL:
        return item
    whole = [step.text for step in rungs(item.candidate) if step.rung is item.rung]
    cuts = [replace(item, text=text) for text in (*whole, *thin_heads(item.candidate, item.rung))]
    return next((cut for cut in cuts if prices.of_item(cut) == item.tokens), (cuts or [item])[0])


def _attached(candidate: Candidate, prices: Prices) -> Item:
    item = whole_item(candidate)
    return replace(item, tokens=prices.of_item(item))


def _pack(receipt: Receipt, items: tuple[Item, ...]) -> Pack:
    told = receipt.coverage
    return Pack(
        items=items,
        budget=Budget(tokens=receipt.budget_tokens, used=receipt.budget_used),
        coverage=Coverage(
            status=told.get("status", ""),
            layers_with_evidence=tuple(PackLayer(name) for name in told.get("layers_with_evidence", ())),
            excluded_uncited=told.get("excluded_uncited", 0),
            deduped=told.get("deduped", 0),
            pending_excluded=told.get("pending_excluded", 0),
            sections_omitted=tuple(PackLayer(name) for name in told.get("sections_omitted", ())),
        ),
        left_out=tuple(fate["ref"] for fate in receipt.fates if fate["outcome"] == "outbid"),
        distinct_facts_per_1k_tokens=(
            round(len(items) * 1_000 / receipt.budget_used, 2) if receipt.budget_used else 0.0
        ),
        stated=tuple(told.get("stated", ())),
    )


# -- The session's part ----------------------------------------------------------------------------


def _delta_of(receipt: Receipt) -> Delta | None:
    """Return what the session was told by this answer, as its log has it."""
    if not receipt.session_id:
        return None
    sessions = WorkingSession.objects.filter(
        vault_id=receipt.vault_id, session_id=receipt.session_id, scope=scope_digest(receipt.projects)
    )
    record = DeltaRecord.objects.filter(
        vault_id=receipt.vault_id, session_id__in=sessions.values("pk"), created_at=receipt.assembled_at
    ).first()
    return None if record is None else _read(record)


def _read(record: DeltaRecord) -> Delta:
    told = record.payload["told"]
    return Delta(
        cursor=record.cursor,
        turn=record.turn,
        new=tuple((ref, relevance) for ref, relevance in told["new"]),
        evicted=tuple(told["evicted"]),
        superseded=tuple((ref, head) for ref, head in told["superseded"]),
        retracted=tuple(told["retracted"]),
        carried=tuple(told["carried"]),
        changed=tuple(told["changed"]),
        tokens_saved=told["tokens_saved"],
        repeated=told["repeated"],
        reset=told["reset"],
    )


def _beside(receipt: Receipt, delta: Delta | None) -> tuple[str, ...]:
    """Return the heads that travelled beside the pack: what was new and stands in none of its lines."""
    if delta is None or receipt.request.get("delta") != DeltaMode.CONTENT:
        return ()
    packed = {line["ref"] for line in receipt.items}
    return tuple(ref for ref, _ in delta.new if ref not in packed)


def _doubts(
    receipt: Receipt,
    pack: Pack,
    found: Mapping[str, Candidate],
    matched: Mapping[str, Matched],
    delta: Delta | None,
) -> list[str]:
    gone = [ref for ref in _named(receipt.items) if ref not in found]
    amended = [item.ref for item in pack.items if _is_amended(found[item.ref], matched)]
    checks = (
        (bool(gone), TEXT_GONE.format(len(gone))),
        (not gone and pack_digest(pack) != receipt.pack_digest, WORDS_DIFFER),
        (bool(amended), AMENDED.format(len(amended))),
        (bool(receipt.session_id) and delta is None, NO_DELTA),
        (receipt.task == WITHDRAWN_TASK, NO_TASK),
    )
    return [doubt for holds, doubt in checks if holds]


def _is_amended(candidate: Candidate, matched: Mapping[str, Matched]) -> bool:
    return candidate.ref in matched and mark_of(candidate) != matched[candidate.ref].mark
