"""Packing the candidates of a receipt again: the same pack, or what has changed since.

The candidates are those that the receipt names, matched as they were; nothing is searched anew, so that what was
written since, and how the vault's words are spread by now, has no part in it. What a memory says of itself is read as
it is today, and what may not be served any more competes no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from contextpack.books import absence_of, unseen_by
from contextpack.core.assembly import assemble
from contextpack.core.canonical import pack_digest
from contextpack.core.profiles import resolve_profile
from contextpack.core.receipts import Matched, mark_of, pool_from_wire, receipt_items
from contextpack.core.types import Candidate, ContextRequest, DeltaMode, Pack, PackFormat, PackLayer, Pool
from contextpack.models import Receipt
from contextpack.retrieval import eligible, load_candidates, pack_layer
from cortex.errors import StateConflict
from memories.access import Caller
from memories.core.kinds import MemoryLayer
from memories.lineage import standing_of
from memories.models import Memory

AMENDED: Final = "amended"
FORGOTTEN: Final = "forgotten"
# These layers are given by how a candidate was found; any other follows from what its memory is.
_BY_MATCH: Final = frozenset({PackLayer.ENTITY, PackLayer.RECENCY})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Now:
    """What became of a receipt's candidates."""

    candidates: tuple[Candidate, ...]
    changes: Mapping[str, str]  # ref → why it competes no more, or that it was amended


def replay(caller: Caller, receipt: Receipt, *, now: datetime) -> dict[str, Any]:
    """Pack the candidates of a receipt again and compare.

    Returns: `identical`, both digests, what became of candidates (`changes`), how the pack differs (`left`,
        `entered`, `reshaped`, `reordered`), and what would be packed now, as a receipt has it. Memories that lie in
        projects which the caller does not see are named nowhere.
    Raises: StateConflict for a receipt that was written before receipts kept their candidates.
    """
    if not receipt.pool and receipt.items:
        raise StateConflict("this receipt does not say how its candidates matched")
    asked = request_of(receipt)
    reader = replace(caller, projects=None if receipt.projects is None else frozenset(receipt.projects))
    stand = _stand(reader, receipt, asked, now=now)
    pack = assemble(Pool(candidates=stand.candidates), asked)
    refs = {*stand.changes, *_refs(receipt.items), *pack.refs}
    return _compared(caller, receipt, pack, stand, unseen=unseen_by(caller, refs), now=now)


def request_of(receipt: Receipt) -> ContextRequest:
    """Return what was asked, at the moments at which it was asked.

    A receipt from before receipts kept them tells neither a pin nor a left-out legend.
    """
    asked = receipt.request
    return ContextRequest(
        task=receipt.task,
        format=PackFormat(asked["format"]),
        model=asked["model"],
        profile=resolve_profile(asked["model"]),
        budget=receipt.budget_tokens,
        now=receipt.assembled_at,
        as_of=datetime.fromisoformat(asked["as_of"]),
        known_at=datetime.fromisoformat(asked["known_at"]),
        project=asked["project"],
        layers=tuple(MemoryLayer(layer) for layer in asked["layers"]),
        entities=tuple(asked["entities"]),
        session_id=receipt.session_id or None,
        since=asked.get("since"),
        delta=DeltaMode(asked.get("delta", DeltaMode.IDS)),
        pin=asked.get("pin", False),
        legend=asked.get("legend", True),
        already_sent=frozenset(fate["ref"] for fate in receipt.fates if fate["outcome"] == "already_sent"),
    )


def _stand(reader: Caller, receipt: Receipt, asked: ContextRequest, *, now: datetime) -> _Now:
    """Read what became of the candidates; a fixed number of statements, and some for each that is barred."""
    matched = {match.ref: match for match in pool_from_wire(receipt.pool or {"words": [], "rows": []})}
    present = _in_the_present(asked, now=now)
    rows = eligible(reader, present).filter(ref__among=matched.keys())
    kinds = {ref: (layer, kind) for ref, layer, kind in rows.values_list("ref", "layer", "kind")}
    found = load_candidates(reader, matches={}, standing={ref: matched[ref].layer for ref in kinds})
    barred = matched.keys() - kinds.keys()
    amended = {candidate.ref: AMENDED for candidate in found if _is_amended(candidate, matched, kinds)}
    return _Now(
        candidates=tuple(
            matched[candidate.ref].again(
                candidate, layer=_placed(matched[candidate.ref], *kinds[candidate.ref])
            )
            for candidate in found
            if candidate.source_urls
        ),
        changes=amended | _reasons(reader, receipt, sorted(barred), present),
    )


def _in_the_present(asked: ContextRequest, *, now: datetime) -> ContextRequest:
    """Return the same question asked now; a moment that it named stays."""
    as_of = now if asked.as_of == asked.now else asked.as_of
    known_at = now if asked.known_at == asked.now else asked.known_at
    return replace(asked, now=now, as_of=as_of, known_at=known_at)


def _placed(match: Matched, layer: str, kind: str) -> PackLayer:
    return match.layer if match.layer in _BY_MATCH else pack_layer(layer, kind)


def _is_amended(
    candidate: Candidate, matched: Mapping[str, Matched], kinds: Mapping[str, tuple[str, str]]
) -> bool:
    match = matched[candidate.ref]
    return mark_of(candidate) != match.mark or _placed(match, *kinds[candidate.ref]) is not match.layer


def _reasons(
    reader: Caller, receipt: Receipt, refs: Sequence[str], present: ContextRequest
) -> dict[str, str]:
    """Return why these compete no more."""
    rows = {memory.ref: memory for memory in Memory.objects.in_vault(reader.vault.pk).filter(ref__among=refs)}
    return {
        ref: absence_of(
            rows[ref],
            receipt,
            at=present.now,
            as_of=present.as_of,
            known_at=present.known_at,
        )
        if ref in rows
        else FORGOTTEN
        for ref in refs
    }


# -- Comparing -----------------------------------------------------------------------------------


def _compared(
    caller: Caller, receipt: Receipt, pack: Pack, stand: _Now, *, unseen: frozenset[str], now: datetime
) -> dict[str, Any]:
    then = {item["ref"]: item["rung"] for item in receipt.items if item["ref"] not in unseen}
    items = [item for item in receipt_items(pack) if item["ref"] not in unseen]
    today = {item["ref"]: item["rung"] for item in items}
    staying = [ref for ref in then if ref in today]
    digest = pack_digest(pack)
    return {
        "receipt": receipt.ref,
        "replayed_at": now.isoformat(),
        "identical": digest == receipt.pack_digest,
        "pack_digest": receipt.pack_digest,
        "replayed_digest": digest,
        "changes": _changes(caller, receipt, stand, unseen=unseen, now=now),
        "left": [{"ref": ref, "rung": rung} for ref, rung in then.items() if ref not in today],
        "entered": [{"ref": ref, "rung": rung} for ref, rung in today.items() if ref not in then],
        "reshaped": [
            {"ref": ref, "was": then[ref], "now": today[ref]} for ref in staying if then[ref] != today[ref]
        ],
        "reordered": staying != [ref for ref in today if ref in then],
        "budget": {"tokens": pack.budget.tokens, "used": pack.budget.used},
        "items": items,
    }


def _changes(
    caller: Caller, receipt: Receipt, stand: _Now, *, unseen: frozenset[str], now: datetime
) -> list[dict[str, Any]]:
    """Return what became of candidates, those that were served first."""
    told = {ref: reason for ref, reason in stand.changes.items() if ref not in unseen}
    was = {fate["ref"]: fate["outcome"] for fate in receipt.fates} | dict.fromkeys(
        _refs(receipt.items), "served"
    )
    replaced = [ref for ref, reason in told.items() if reason == "superseded"]
    standing = standing_of(caller, replaced, at=now)
    heads = {ref: standing[ref].head for ref in replaced}
    order = sorted(told, key=lambda ref: (was.get(ref) != "served", ref))
    return [
        {"ref": ref, "was": was.get(ref, "served"), "now": told[ref], "replacement": heads.get(ref)}
        for ref in order
    ]


def _refs(items: Sequence[Mapping[str, Any]]) -> list[str]:
    return [item["ref"] for item in items]
