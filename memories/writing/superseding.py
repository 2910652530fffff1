"""The verb supersede: a memory gets a successor; its text stays, and is served no more.

A successor that may not be told yet (it waits for a review, or an agent would overrule the user) hides nothing:
the intent is kept as a proposal, and approving the successor carries it out.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from cortex.errors import NotHere, StateConflict, Unprocessable
from memories.access import Caller
from memories.core.hostility import is_instruction_like
from memories.core.kinds import Author, Flag, Kind, MemoryLayer, Status
from memories.core.secrets import mask_secrets
from memories.core.supersession import closes_cycle
from memories.lineage import successors_of
from memories.models import Conflict, Memory, ProposedSupersession, Scope, Supersession
from memories.reading import find_memory, names_of, refs_in_sight
from memories.rows import delete_rows
from memories.writing.contradicting import OVERRULING, overrules_user
from memories.writing.inputs import MemoryInput, Outcome, Succession
from memories.writing.naming import link_entities
from memories.writing.remembering import only, status_deserved, store_claims

REASON_LENGTH: Final = 2_000


def supersede(
    caller: Caller,
    ref: str,
    *,
    content: str | None = None,
    stated: Mapping[str, Any] | None = None,
    replacement: str | None = None,
    reason: str = "",
    overruling: Collection[Author] = OVERRULING,
    now: datetime,
) -> Succession:
    """Give a memory its successor.

    Args:
        content: the successor's text; kind, layer, project, tags and entities come from the old memory
            where `stated` (fields of `MemoryInput`) does not name them.
        replacement: instead of a text, the ref of a memory that is there already.
        overruling: authors whose word in place of the user's waits for a review.
    Returns: the successor, whether it is new, and whether it has taken the old one's place.
    Raises: NotHere for either ref; StateConflict for a second successor, a cycle or itself.
    """
    caller.require(Scope.WRITE)
    if (content is None) == (replacement is None):
        raise Unprocessable("one of content and replacement is needed", errors={"content": "or replacement"})
    with transaction.atomic():
        old = _replaceable(caller, ref, now=now)
        if content is not None:
            outcome = _write_successor(caller, old, content, stated or {}, overruling, now=now)
        else:
            outcome = Outcome(memory=_found_successor(caller, old, str(replacement), now=now), created=False)
        return _succeed(caller, old, outcome, overruling, reason=reason, now=now)


def carry_out(old: Memory, new: Memory, *, actor: str, reason: str, now: datetime) -> list[str]:
    """Put a memory into another's place, and close the conflicts that this settles.

    Returns: the refs of the conflicts that were closed.
    Raises: NotHere if one of them was forgotten by now; StateConflict if the old one has a successor by now, if that
        would close a circle, or if the new one would not reach whoever can read the old one.
    """
    vault_id = old.vault_id
    _hold(old, new)
    if not _reaches(new.project, old):
        raise StateConflict(
            f"{new.ref} belongs to the project {new.project!r} and cannot replace {old.ref}, which others can read "
            "too: keep both, or write what holds for all of them as a successor"
        )
    if closes_cycle(old.ref, new.ref, successors_of(vault_id, [new.ref])):
        raise StateConflict(f"{new.ref} was replaced by {old.ref}: that would close a circle")
    since = new.valid_from or new.occurred_at or now
    unreplaced = Memory.objects.in_vault(vault_id).filter(pk=old.pk).unsuperseded()
    if not unreplaced.update(superseded_by=new.ref, superseded_at=now, superseded_from=since):
        raise StateConflict(f"{old.ref} has a successor already")
    Supersession.objects.create(
        vault_id=vault_id, old_id=old.pk, new_id=new.pk, reason=reason, actor=actor, at=now
    )
    delete_rows(ProposedSupersession.objects.filter(vault_id=vault_id, old_id=old.pk, new_id=new.pk))
    return _settle_conflicts(old, actor=actor, now=now)


def _replaceable(caller: Caller, ref: str, *, now: datetime) -> Memory:
    old = find_memory(caller, ref, at=now)
    if old.redacted_at is not None:
        raise StateConflict(f"{ref} was redacted")
    if old.superseded_by is not None:
        named = refs_in_sight(caller, [old.superseded_by])
        raise StateConflict(": ".join([f"{ref} has a successor already", *named]))
    return old


# -- The successor -------------------------------------------------------------------------------


def _write_successor(
    caller: Caller,
    old: Memory,
    content: str,
    stated: Mapping[str, Any],
    overruling: Collection[Author],
    *,
    now: datetime,
) -> Outcome:
    draft = MemoryInput(**{**_inherited(old), **stated, "content": content})
    _check_reach(old, draft.project)
    status = Status.PENDING if overrules_user(old, draft.author, overruling) else status_deserved(caller)
    replacing = frozenset({old.pk})
    outcome = only(store_claims(caller, [draft], status=status, now=now, replacing=replacing))
    if outcome.memory.pk == old.pk:
        raise StateConflict(f"{old.ref} says that already")
    if outcome.created and not draft.entities:
        names = names_of(old.vault_id, [old.pk])
        link_entities(old.vault_id, {outcome.memory.pk: names.get(old.pk, [])}, now=now)
    return outcome


def _inherited(old: Memory) -> dict[str, Any]:
    return {
        "kind": Kind(old.kind),
        "layer": MemoryLayer(old.layer),
        "project": old.project,
        "tags": tuple(old.tags),
    }


def _reaches(project: str, old: Memory) -> bool:
    """Whether a memory of a project is read by whoever could read the old one."""
    return project in {"", old.project}


def _check_reach(old: Memory, project: str) -> None:
    """A correction must reach whoever could read what it corrects."""
    if not _reaches(project, old):
        raise Unprocessable(
            "a successor stays in the project of what it replaces, or in none",
            errors={"project": "not the project of the superseded memory"},
        )


def _hold(old: Memory, new: Memory) -> None:
    """Lock both rows, so that neither is forgotten before this transaction ends.

    Raises: NotHere if one is gone already.
    """
    both = Memory.objects.in_vault(old.vault_id).filter(pk__in=[old.pk, new.pk])
    if len(both.order_by("pk").select_for_update().values_list("pk")) < len({old.pk, new.pk}):
        raise NotHere


def _found_successor(caller: Caller, old: Memory, ref: str, *, now: datetime) -> Memory:
    new = find_memory(caller, ref, at=now)
    if new.pk == old.pk:
        raise StateConflict("a memory cannot replace itself")
    _check_reach(old, new.project)
    if new.redacted_at is not None or new.status == Status.ARCHIVED:
        raise StateConflict(f"{ref} is redacted or archived")
    # Locked first and followed then: of two calls that would close a circle, the second sees the first.
    _hold(old, new)
    if closes_cycle(old.ref, new.ref, successors_of(old.vault_id, [new.ref])):
        raise StateConflict("that would close a circle")
    return new


# -- Taking its place, or waiting for it ---------------------------------------------------------


def _succeed(
    caller: Caller,
    old: Memory,
    outcome: Outcome,
    overruling: Collection[Author],
    *,
    reason: str,
    now: datetime,
) -> Succession:
    new = outcome.memory
    reason = mask_secrets(reason)[0][:REASON_LENGTH]
    overrules = overrules_user(old, new.author, overruling)
    hostile = is_instruction_like(reason)
    if hostile and outcome.created:
        withhold(new)
    trusted = status_deserved(caller) == Status.APPROVED and not hostile
    ready = trusted and new.status == Status.APPROVED and not new.withheld and not overrules
    if ready:
        carry_out(old, new, actor=caller.actor, reason=reason, now=now)
    else:
        _propose(caller, old, new, reason=reason, now=now)
    if overrules and Flag.CONTRADICTS_USER not in new.flags:
        new.flags = [*new.flags, str(Flag.CONTRADICTS_USER)]
        Memory.objects.in_vault(new.vault_id).filter(pk=new.pk).update(flags=new.flags)
    return Succession(memory=new, replaced=old, created=outcome.created, carried_out=ready)


def withhold(new: Memory) -> None:
    """Let a successor wait for a person because of what came with it: the reason, or what it takes over."""
    new.withheld = True
    if Flag.INSTRUCTION_LIKE not in new.flags:
        new.flags = [*new.flags, str(Flag.INSTRUCTION_LIKE)]
    Memory.objects.in_vault(new.vault_id).filter(pk=new.pk).update(withheld=True, flags=new.flags)


def _propose(caller: Caller, old: Memory, new: Memory, *, reason: str, now: datetime) -> None:
    proposal = ProposedSupersession(
        vault_id=old.vault_id, old_id=old.pk, new_id=new.pk, reason=reason, actor=caller.actor, at=now
    )
    ProposedSupersession.objects.bulk_create([proposal], ignore_conflicts=True)


def _settle_conflicts(old: Memory, *, actor: str, now: datetime) -> list[str]:
    """Close what was open about the old memory: its other side is what was kept.

    Returns: the refs of what was closed.
    """
    closed: list[str] = []
    open_ones = Conflict.objects.filter(vault_id=old.vault_id, resolved_at__isnull=True)
    for mine, other in (("left", "right"), ("right", "left")):
        rows = open_ones.filter(**{f"{mine}_id": old.pk, f"{other}__vault_id": old.vault_id})
        for pk, ref, kept in list(rows.values_list("pk", "ref", f"{other}__ref")):
            closed.append(ref)
            Conflict.objects.filter(vault_id=old.vault_id, pk=pk).update(
                resolved_at=now, resolved_by=actor, resolution=kept
            )
    return closed
