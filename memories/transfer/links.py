"""Importing what ties memories to one another, and what is left of forgotten ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from memories.core.hostility import is_instruction_like
from memories.core.secrets import mask_secrets
from memories.models import Conflict, Memory, ProposedSupersession, Supersession, Tombstone
from memories.transfer.landing import HERE, Landing, Reasons, Row, sift
from memories.writing.superseding import REASON_LENGTH


def land_supersessions(landing: Landing, rows: Sequence[Row]) -> Reasons:
    """Store who replaced what, and why, where the old memory itself says that it was replaced so."""
    memories = landing.find_memories(rows, "old", "new")
    olds, news = ({memories[row[end]] for row in rows if row[end] in memories} for end in ("old", "new"))
    links = Supersession.objects.filter(vault_id=landing.vault.pk, old_id__in=olds)
    linked = set(links.values_list("old_id", flat=True))
    stored = Memory.objects.in_vault(landing.vault.pk)
    after = dict(stored.filter(pk__in=olds).values_list("pk", "superseded_by"))
    named = dict(stored.filter(pk__in=news).values_list("pk", "ref"))

    def refuse(row: Row) -> str | None:
        if (reason := _missing(row, memories, "old", "new")) is not None:
            return reason
        old, new = memories[row["old"]], memories[row["new"]]
        if after[old] != named[new]:
            return f"{row['old']} says otherwise here"
        return HERE if old in linked else None

    def make(row: Row) -> Supersession:
        linked.add(memories[row["old"]])
        return Supersession(**_link_values(landing, row, memories))

    reasons, made = sift(rows, refuse, make)
    Supersession.objects.bulk_create(made)
    return reasons


def land_proposals(landing: Landing, rows: Sequence[Row]) -> Reasons:
    memories = landing.find_memories(rows, "old", "new")
    news = {memories[row["new"]] for row in rows if row["new"] in memories}
    proposals = ProposedSupersession.objects.filter(vault_id=landing.vault.pk, new_id__in=news)
    stored = set(proposals.values_list("old_id", "new_id"))

    def refuse(row: Row) -> str | None:
        missing = _missing(row, memories, "old", "new")
        if missing is not None:
            return missing
        return HERE if (memories[row["old"]], memories[row["new"]]) in stored else None

    def make(row: Row) -> ProposedSupersession:
        stored.add((memories[row["old"]], memories[row["new"]]))
        return ProposedSupersession(**_link_values(landing, row, memories))

    reasons, made = sift(rows, refuse, make)
    ProposedSupersession.objects.bulk_create(made)
    return reasons


def land_conflicts(landing: Landing, rows: Sequence[Row]) -> Reasons:
    memories = landing.find_memories(rows, "left", "right")
    lefts = [memories[row["left"]] for row in rows if row["left"] in memories]
    same = Q(ref__in=[row["ref"] for row in rows]) | Q(left_id__in=lefts)
    known = Conflict.objects.filter(same, vault_id=landing.vault.pk)
    refs, pairs = set[str](), set[tuple[int, int]]()
    for ref, left, right in known.values_list("ref", "left_id", "right_id"):
        refs.add(ref)
        pairs.add((left, right))

    def refuse(row: Row) -> str | None:
        missing = _missing(row, memories, "left", "right")
        if missing is not None:
            return missing
        return (
            HERE if row["ref"] in refs or (memories[row["left"]], memories[row["right"]]) in pairs else None
        )

    def make(row: Row) -> Conflict:
        left, right = memories[row["left"]], memories[row["right"]]
        refs.add(row["ref"])
        pairs.add((left, right))
        plain = {name: value for name, value in row.items() if name not in {"left", "right"}}
        return Conflict(vault_id=landing.vault.pk, left_id=left, right_id=right, **plain)

    reasons, made = sift(rows, refuse, make)
    Conflict.objects.bulk_create(made)
    return reasons


def land_tombstones(landing: Landing, rows: Sequence[Row]) -> Reasons:
    vault_id = landing.vault.pk
    alive = landing.find_memories(rows, "ref")
    known = Tombstone.objects.filter(vault_id=vault_id, ref__in=[row["ref"] for row in rows])
    stored = set(known.values_list("ref", flat=True))

    def refuse(row: Row) -> str | None:
        if row["ref"] in stored:
            return HERE
        return "not forgotten here" if row["ref"] in alive else None

    def make(row: Row) -> Tombstone:
        stored.add(row["ref"])
        return Tombstone(vault_id=vault_id, **row)

    reasons, made = sift(rows, refuse, make)
    Tombstone.objects.bulk_create(made)
    return reasons


def _missing(row: Row, memories: Mapping[str, int], *ends: str) -> str | None:
    for end in ends:
        if row[end] not in memories:
            return f"{row[end]} is missing"
    both = {memories[row[end]] for end in ends}
    return "both ends are the same memory here" if len(both) < len(ends) else None


def _link_values(landing: Landing, row: Row, memories: Mapping[str, int]) -> dict[str, Any]:
    ends = {"old_id": memories[row["old"]], "new_id": memories[row["new"]]}
    plain = {"reason": _told_reason(landing, row["reason"]), "actor": row["actor"], "at": row["at"]}
    return {"vault_id": landing.vault.pk, **ends, **plain}


def _told_reason(landing: Landing, reason: str) -> str:
    """A reason as it may be told: without secrets, without what was forgotten here, and none that is an order."""
    told = mask_secrets(landing.without_forgotten(reason))[0][:REASON_LENGTH]
    return "" if is_instruction_like(told) else told
