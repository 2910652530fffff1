"""The verbs of a review: approve, archive, redact. Each needs the scope `memory:review`."""

from datetime import datetime
from typing import Any

from django.db import transaction

from cortex.errors import StateConflict
from memories.access import Caller
from memories.core.kinds import Flag, Status
from memories.ids import random_word
from memories.models import Conflict, Memory, ProposedSupersession, Scope
from memories.reading import find_memory
from memories.rows import delete_rows
from memories.writing.erasing import WITHOUT_WORDS, announce, withdraw
from memories.writing.superseding import carry_out

_HASH_LENGTH = 64


def approve(caller: Caller, ref: str, *, now: datetime) -> Memory:
    """Let a memory be served: ends its wait, restores it from the archive, and carries out what it proposes.

    Raises: NotHere; StateConflict if it was redacted.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = _unredacted(caller, ref, now=now)
        flags = [flag for flag in memory.flags if flag != Flag.CONTRADICTS_USER]
        _change(memory, status=Status.APPROVED, withheld=False, flags=flags, **_reviewed(caller, now))
        _carry_out_proposals(caller, memory, now=now)
        return memory


def archive(caller: Caller, ref: str, *, now: datetime) -> Memory:
    """Keep a memory, but serve it no more; what it proposed to replace stays current.

    Raises: NotHere; StateConflict if it is archived already or was redacted.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = _unredacted(caller, ref, now=now)
        if memory.status == Status.ARCHIVED:
            raise StateConflict(f"{ref} is archived already")
        _change(memory, status=Status.ARCHIVED, **_reviewed(caller, now))
        delete_rows(ProposedSupersession.objects.filter(vault_id=memory.vault_id, new_id=memory.pk))
        announce(memory.vault_id, [memory], erase=False)
        return memory


def redact(caller: Caller, ref: str, *, now: datetime) -> Memory:
    """Take a memory's text away for good and keep the row: that it was, when, and how it was reviewed.

    Text, summary, tags, thread and speaker, the reasons of its links, sources, captures that nothing else cites,
    mentions and index entries go: whatever may quote it. Only reviewers still see the row. The same text may be
    remembered anew.

    Raises: NotHere; StateConflict if it was redacted already.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = _unredacted(caller, ref, now=now)
        withdraw(caller.vault, [memory])
        _change(
            memory,
            **WITHOUT_WORDS,
            content_hash=random_word(_HASH_LENGTH),
            term_hashes=b"",
            redacted_at=now,
            **_reviewed(caller, now),
        )
        return memory


def _unredacted(caller: Caller, ref: str, *, now: datetime) -> Memory:
    memory = find_memory(caller, ref, at=now)
    if memory.redacted_at is not None:
        raise StateConflict(f"{ref} was redacted")
    return memory


def _reviewed(caller: Caller, now: datetime) -> dict[str, Any]:
    return {"reviewed_at": now, "reviewed_by": caller.actor}


def _change(memory: Memory, **values: Any) -> None:
    Memory.objects.in_vault(memory.vault_id).filter(pk=memory.pk).update(**values)
    for name, value in values.items():
        setattr(memory, name, value)


def _carry_out_proposals(caller: Caller, memory: Memory, *, now: datetime) -> None:
    """Put an approved memory into the places that it was proposed for.

    Where another one took the place meanwhile, both now claim it: that is a conflict for a person to resolve.
    """
    mine = ProposedSupersession.objects.filter(vault_id=memory.vault_id, new_id=memory.pk)
    for proposal in mine.order_by("pk"):
        old = Memory.objects.in_vault(memory.vault_id).get(pk=proposal.old_id)
        if old.superseded_by is None:
            carry_out(old, memory, actor=caller.actor, reason=proposal.reason, now=now)
        elif old.superseded_by != memory.ref:
            _note_rivalry(memory, old, now=now)
    delete_rows(mine)


def _note_rivalry(memory: Memory, old: Memory, *, now: datetime) -> None:
    rival = Memory.objects.in_vault(memory.vault_id).filter(ref=old.superseded_by).first()
    if rival is not None:
        conflict = Conflict(
            vault_id=memory.vault_id,
            left_id=rival.pk,
            right_id=memory.pk,
            reason="both replace the same memory",
            detected_at=now,
        )
        Conflict.objects.bulk_create([conflict], ignore_conflicts=True)
