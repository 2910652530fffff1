"""Reading what was written down of earlier answers: receipts, why-not, pins."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef

from contextpack.core.receipts import fate_of, fates_from_wire
from contextpack.models import Pin, Receipt
from cortex.errors import Gone, NotHere
from memories.access import Caller
from memories.core.kinds import Status
from memories.models import Memory

SERVED: Final = "served"


def find_receipt(caller: Caller, ref: str) -> Receipt:
    """Return a receipt whose projects the caller sees all of.

    Raises: NotHere.
    """
    receipt = Receipt.objects.filter(vault_id=caller.vault.pk, ref=ref).first()
    if receipt is None or not caller.sees_all_of(receipt.projects):
        raise NotHere
    return receipt


def receipt_as_wire(caller: Caller, receipt: Receipt) -> dict[str, Any]:
    """Return what was served to whom and why, and what became of every other candidate.

    A memory that moved since to a project which the caller does not see is left out wherever it stands.
    """
    named = {ref for line in (*receipt.items, *receipt.fates) for ref in _named_in(line)}
    unseen = unseen_by(caller, named)
    return {
        "id": receipt.ref,
        "assembled_at": receipt.assembled_at.isoformat(),
        "actor": receipt.actor,
        "session_id": receipt.session_id or None,
        "task": receipt.task,
        "request": receipt.request,
        "profile": receipt.profile,
        "budget": {"tokens": receipt.budget_tokens, "used": receipt.budget_used},
        "coverage": receipt.coverage,
        "pack_digest": receipt.pack_digest,
        "items": _without(receipt.items, unseen),
        "not_packed": _without(receipt.fates, unseen),
    }


def _named_in(line: Mapping[str, Any]) -> set[str]:
    """Return the refs in a line of a receipt: an item's, with what was folded into it, or a fate's."""
    return {line["ref"], *line.get("folded_refs", ()), *([line["into"]] if line.get("into") else [])}


def unseen_by(caller: Caller, refs: Collection[str]) -> frozenset[str]:
    """Return those of the refs that lie in projects which the caller does not see; one statement, or none."""
    if caller.projects is None or not refs:
        return frozenset()
    rows = Memory.objects.in_vault(caller.vault.pk).filter(ref__among=refs)
    return frozenset(rows.exclude(project__in={"", *caller.projects}).values_list("ref", flat=True))


def _without(lines: Iterable[Mapping[str, Any]], unseen: Collection[str]) -> list[dict[str, Any]]:
    return [_seen_of(line, unseen) for line in lines if line["ref"] not in unseen]


def _seen_of(line: Mapping[str, Any], unseen: Collection[str]) -> dict[str, Any]:
    told = dict(line)
    if "folded_refs" in told:
        told["folded_refs"] = [ref for ref in told["folded_refs"] if ref not in unseen]
    if told.get("into") in unseen:
        told["into"] = None
    return told


def why_not(caller: Caller, receipt: Receipt, ref: str) -> dict[str, Any]:
    """Tell what kept a memory out of a pack.

    Returns: `reason` and the figures that decided it; the reason is `served` where the memory was in it.
    Raises: NotHere for a memory that the caller has none of.
    """
    memory = Memory.objects.visible_to(caller).filter(ref=ref).first()
    if memory is None:
        raise NotHere
    told = {"receipt": receipt.ref, "ref": ref}
    item = next((item for item in receipt.items if item["ref"] == ref), None)
    if item is not None:
        return {**told, "reason": SERVED, "rung": item["rung"], "tokens": item["tokens"]}
    fate = fate_of(ref, fates_from_wire(receipt.fates))
    if fate is None:
        return {**told, "reason": _absence(memory, receipt)}
    return {**told, **_seen_of(fate, unseen_by(caller, [fate["into"]] if "into" in fate else []))}


def _absence(memory: Memory, receipt: Receipt) -> str:
    """Tell why retrieval never offered a memory."""
    asked = receipt.request
    as_of, known_at = (datetime.fromisoformat(asked[name]) for name in ("as_of", "known_at"))
    return absence_of(memory, receipt, at=receipt.assembled_at, as_of=as_of, known_at=known_at)


def absence_of(memory: Memory, receipt: Receipt, *, at: datetime, as_of: datetime, known_at: datetime) -> str:
    """Tell why a memory could not be offered to a receipt's question at other moments than its own.

    What bars a memory from any pack comes first.
    """
    asked = receipt.request
    elsewhere = asked["project"] is not None and memory.project not in ("", asked["project"])
    checks: Mapping[str, bool] = {
        "redacted": memory.redacted_at is not None,
        "archived": memory.status == Status.ARCHIVED,
        "pending": memory.status == Status.PENDING or memory.withheld,
        "expired": memory.expires_at is not None and memory.expires_at <= at,
        "other_project": elsewhere or not _in_scope(memory.project, receipt.projects),
        "superseded": _replaced_by_then(memory, known_at=known_at, as_of=as_of),
        "filtered": _is_filtered(memory, asked, known_at=known_at, as_of=as_of),
    }
    return next((reason for reason, holds in checks.items() if holds), "not_retrieved")


def _replaced_by_then(memory: Memory, *, known_at: datetime, as_of: datetime) -> bool:
    learnt, since = memory.superseded_at, memory.superseded_from
    if memory.superseded_by is None:
        return False
    return (learnt is None or learnt <= known_at) and (since is None or since <= as_of)


def _is_filtered(memory: Memory, request: Mapping[str, Any], *, known_at: datetime, as_of: datetime) -> bool:
    """Tell whether the request's own narrowing, or its moments, left the memory out."""
    ended = memory.valid_to is not None and memory.valid_to <= as_of
    named = request["entities"]
    return (
        bool(request["layers"] and memory.layer not in request["layers"])
        or memory.true_since > as_of
        or ended
        or memory.recorded_at > known_at
        or bool(named and not _mentions(memory, named))
    )


def _mentions(memory: Memory, names: list[str]) -> bool:
    return (
        Memory.objects.in_vault(memory.vault_id)
        .filter(pk=memory.pk)
        .mentioning(memory.vault_id, names)
        .exists()
    )


def _in_scope(project: str, projects: Collection[str] | None) -> bool:
    return projects is None or project == "" or project in projects


def find_pin(caller: Caller, ref: str, *, now: datetime) -> Pin:
    """Return a kept pack whose projects the caller sees all of, and each of whose memories may be served now.

    Raises: NotHere, also where a memory in it moved to a project that the caller does not see; Gone once something
        in it was forgotten or redacted, and as long as something in it is expired, archived or held for a review.
    """
    pins = Pin.objects.filter(vault_id=caller.vault.pk, ref=ref).order_by("created_at", "pk")
    pin = next((pin for pin in pins if caller.sees_all_of(pin.projects)), None)
    if pin is None:
        raise NotHere
    standing = _standing(caller.vault.pk, pin.refs, now=now)
    if not all(caller.sees(project) for project, _ in standing.values()):
        raise NotHere
    if pin.withdrawn_at is not None or not all(ref in standing and standing[ref][1] for ref in pin.refs):
        raise Gone("something in this pack was withdrawn since")
    return pin


def _standing(vault_id: str, refs: Collection[str], *, now: datetime) -> dict[str, tuple[str, bool]]:
    """Return for each ref that is still there its project, and whether it may be served; one statement."""
    rows = Memory.objects.in_vault(vault_id)
    served = Exists(rows.servable(now).filter(pk=OuterRef("pk")))
    told = rows.filter(ref__among=refs).annotate(served=served).values_list("ref", "project", "served")
    return {ref: (project, is_served) for ref, project, is_served in told}
