"""The verbs of a review: approve, decline, archive, redact. Each needs the scope `memory:review`.

Each writes its decision down (`memories/writing/decisions.py`); what can be taken back is, by `undo`.
"""

from datetime import datetime
from typing import Any, Final

from django.db import transaction

from cortex.errors import StateConflict
from memories.access import Caller
from memories.core.kinds import Flag, Status, Verb
from memories.core.secrets import mask_secrets
from memories.ids import random_word
from memories.models import Conflict, Memory, ProposedSupersession, Scope
from memories.reading import find_memory
from memories.rows import delete_rows
from memories.writing.decisions import keep_decision, proposals_of, row_of, standing_of
from memories.writing.erasing import WITHOUT_WORDS, announce, withdraw
from memories.writing.superseding import REASON_LENGTH, carry_out

_HASH_LENGTH: Final = 64


def approve(caller: Caller, ref: str, *, now: datetime) -> Memory:
    """Let a memory be served: ends its wait, restores it from the archive, and carries out what it proposes.

    Raises: NotHere; StateConflict if it was redacted.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = held_for_review(caller, ref, now=now)
        before = standing_of(memory)
        kept = let_pass(caller, memory, now=now)
        after = standing_of(memory)
        keep_decision(caller, Verb.APPROVE, ref, before=before, after=after, kept=kept, now=now)
        return memory


def decline(caller: Caller, ref: str, *, reason: str = "", now: datetime) -> Memory:
    """Refuse a memory that waits: it goes to the archive, and what it proposed to replace stays current.

    Raises: NotHere; StateConflict if it does not wait, or was redacted.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = held_for_review(caller, ref, now=now)
        if memory.status != Status.PENDING:
            raise StateConflict(f"{ref} is {memory.status}: only what is pending can be declined")
        _put_away(caller, memory, Verb.DECLINE, reason=reason, now=now)
        return memory


def archive(caller: Caller, ref: str, *, now: datetime) -> Memory:
    """Keep a memory, but serve it no more; what it proposed to replace stays current.

    Raises: NotHere; StateConflict if it is archived already or was redacted.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = held_for_review(caller, ref, now=now)
        if memory.status == Status.ARCHIVED:
            raise StateConflict(f"{ref} is archived already")
        _put_away(caller, memory, Verb.ARCHIVE, reason="", now=now)
        return memory


def redact(caller: Caller, ref: str, *, now: datetime) -> Memory:
    """Take a memory's text away for good and keep the row: that it was, when, and how it was reviewed.

    Text, summary, tags, thread and speaker, the reasons of its links, sources, captures that nothing else cites,
    mentions, index entries and what decisions keep of it go: whatever may quote it. Only reviewers still see the
    row. The same text may be remembered anew.

    Raises: NotHere; StateConflict if it was redacted already.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = held_for_review(caller, ref, now=now)
        before = {"redacted": False, **standing_of(memory)}
        withdraw(caller.vault, [memory])
        change_row(
            memory,
            **WITHOUT_WORDS,
            content_hash=random_word(_HASH_LENGTH),
            term_hashes=b"",
            redacted_at=now,
            **reviewed(caller, now),
        )
        after = {"redacted": True, **standing_of(memory)}
        keep_decision(caller, Verb.REDACT, ref, before=before, after=after, now=now)
        return memory


# -- Shared by whatever decides ------------------------------------------------------------------


def held_for_review(caller: Caller, ref: str, *, now: datetime) -> Memory:
    """Find a memory and lock its row, so that of two decisions about it the second sees the first.

    Raises: NotHere; StateConflict if it was redacted.
    """
    list(Memory.objects.in_vault(caller.vault.pk).filter(ref=ref).select_for_update().values_list("pk"))
    memory = find_memory(caller, ref, at=now)
    if memory.redacted_at is not None:
        raise StateConflict(f"{ref} was redacted")
    return memory


def let_pass(caller: Caller, memory: Memory, *, now: datetime) -> dict[str, Any]:
    """Approve a memory, and put it into the places that it was proposed for.

    Returns: what taking this back needs.
    """
    was = row_of(memory)
    flags = [flag for flag in memory.flags if flag != Flag.CONTRADICTS_USER]
    change_row(memory, status=Status.APPROVED, withheld=False, flags=flags, **reviewed(caller, now))
    return {"rows": {memory.ref: was}, **carry_out_proposals(caller, memory, now=now)}


def carry_out_proposals(caller: Caller, memory: Memory, *, now: datetime) -> dict[str, Any]:
    """Put an approved memory into the places that it was proposed for.

    Where another one took the place meanwhile, both now claim it: that is a conflict for a person to resolve.

    Returns: what taking this back needs.
    """
    vault_id = memory.vault_id
    proposals = proposals_of(memory)
    olds = {
        old.ref: old
        for old in Memory.objects.in_vault(vault_id).filter(ref__in=[p["old"] for p in proposals])
    }
    settled, noted = list[str](), list[str]()
    for proposal in proposals:
        old = olds[proposal["old"]]
        if old.superseded_by is None:
            settled += carry_out(old, memory, actor=caller.actor, reason=proposal["reason"], now=now)
            proposal["carried"] = True
        elif old.superseded_by != memory.ref:
            noted += _note_rivalry(memory, old, now=now)
    delete_rows(ProposedSupersession.objects.filter(vault_id=vault_id, new_id=memory.pk))
    return {"proposals": proposals, "settled": settled, "noted": noted}


def change_row(memory: Memory, **values: Any) -> None:
    Memory.objects.in_vault(memory.vault_id).filter(pk=memory.pk).update(**values)
    for name, value in values.items():
        setattr(memory, name, value)


def reviewed(caller: Caller, now: datetime) -> dict[str, Any]:
    return {"reviewed_at": now, "reviewed_by": caller.actor}


def told_reason(reason: str) -> str:
    """Return a reason as it may be kept."""
    return mask_secrets(reason)[0][:REASON_LENGTH]


def _put_away(caller: Caller, memory: Memory, verb: Verb, *, reason: str, now: datetime) -> None:
    before = standing_of(memory)
    kept = {"rows": {memory.ref: row_of(memory)}, "proposals": proposals_of(memory)}
    change_row(memory, status=Status.ARCHIVED, **reviewed(caller, now))
    delete_rows(ProposedSupersession.objects.filter(vault_id=memory.vault_id, new_id=memory.pk))
    announce(memory.vault_id, [memory], erase=False)
    keep_decision(
        caller,
        verb,
        memory.ref,
        reason=told_reason(reason),
        before=before,
        after=standing_of(memory),
        kept=kept,
        now=now,
    )


def _note_rivalry(memory: Memory, old: Memory, *, now: datetime) -> list[str]:
    """Returns: the ref of the conflict, if it is a new one."""
    vault_id = memory.vault_id
    rival = Memory.objects.in_vault(vault_id).filter(ref=old.superseded_by).first()
    if rival is None:
        return []
    conflict = Conflict(
        vault_id=vault_id,
        left_id=rival.pk,
        right_id=memory.pk,
        reason="both replace the same memory",
        detected_at=now,
    )
    Conflict.objects.bulk_create([conflict], ignore_conflicts=True)
    stored = Conflict.objects.filter(vault_id=vault_id, ref=conflict.ref)
    return list(stored.values_list("ref", flat=True))
