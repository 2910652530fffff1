"""The verb undo: the last decision about a memory is taken back, if nothing that came later rests on it.

What is served because of the decision is withdrawn like anything else; what it had replaced is current again.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, transaction

from cortex.errors import NotHere, StateConflict
from memories.access import Caller
from memories.core.kinds import Status, Verb
from memories.models import Conflict, Decision, Memory, ProposedSupersession, Scope, Supersession, Tombstone
from memories.reading import find_memory
from memories.rows import delete_rows
from memories.writing.decisions import keep_decision, last_decision, standing_of
from memories.writing.erasing import announce
from memories.writing.reviewing import change_row
from memories.writing.twins import is_twin

_FINAL: Final = {Verb.REDACT: "redacted", Verb.FORGET: "forgotten"}


def undo(caller: Caller, ref: str, *, now: datetime) -> Memory:
    """Take back the last decision about a memory.

    Approved: it is pending, or archived, again with its proposals, and what it replaced is current. Edited: the same, and
    the words that took its place are archived. Declined or archived: it is what it was, with its proposals. A conflict
    resolved: open again, with both sides as they were.

    Raises: NotHere; StateConflict where there is no such decision, it cannot be taken back, or something rests on it.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = _found(caller, ref, now=now)
        last = last_decision(memory.vault_id, ref)
        kept = _takeable(ref, last)
        assert last is not None
        about = _memories_of(caller, memory, last, kept, now=now)
        before = _told(last, about)
        _take_back(caller, last, kept, about, now=now)
        Decision.objects.filter(vault_id=memory.vault_id, pk=last.pk).update(undone_at=now)
        keep_decision(
            caller,
            Verb.UNDO,
            last.memory,
            other=last.other,
            before=before,
            after=_told(last, about),
            undoes=last.ref,
            now=now,
        )
        return about.get(ref, memory)


def _found(caller: Caller, ref: str, *, now: datetime) -> Memory:
    list(Memory.objects.in_vault(caller.vault.pk).filter(ref=ref).select_for_update().values_list("pk"))
    try:
        return find_memory(caller, ref, at=now)
    except NotHere:
        stones = Tombstone.objects.filter(vault_id=caller.vault.pk, ref=ref)
        if caller.projects is None and stones.exists():  # of whose project a narrower token would learn
            raise StateConflict(f"{ref} was forgotten: that cannot be undone") from None
        raise


def _takeable(ref: str, last: Decision | None) -> dict[str, Any]:
    """Return what taking a decision back needs.

    Raises: StateConflict.
    """
    if last is None:
        raise StateConflict(f"nothing was decided about {ref}, or all of it was taken back")
    if (final := _FINAL.get(Verb(last.verb))) is not None:
        raise StateConflict(f"{ref} was {final}: that cannot be undone")
    if last.kept is None:
        raise StateConflict("a memory that the decision was about was redacted or forgotten since")
    kept: dict[str, Any] = last.kept
    return kept


def _memories_of(
    caller: Caller, memory: Memory, last: Decision, kept: Mapping[str, Any], *, now: datetime
) -> dict[str, Memory]:
    """Return the memories whose rows the decision changed, and check that they are as it left them."""
    for ref in (last.memory, last.other):
        if ref and ref != memory.ref:
            find_memory(caller, ref, at=now)  # both sides have to be in sight
            if last_decision(memory.vault_id, ref) != last:
                raise StateConflict(f"{ref} was changed since: undo first what was decided about it")
    rows = (
        Memory.objects.in_vault(memory.vault_id)
        .filter(ref__in=kept["rows"])
        .order_by("pk")
        .select_for_update()
    )
    about = {row.ref: row for row in rows}
    if len(about) < len(kept["rows"]):
        raise StateConflict("a memory that the decision was about is not here any more")
    for row in about.values():
        _check_unchanged(row, last, kept)
    return about


def _check_unchanged(memory: Memory, last: Decision, kept: Mapping[str, Any]) -> None:
    was, left = kept["rows"][memory.ref], kept.get("left", {}).get(memory.ref) or last.after or {}
    if (str(memory.status), memory.withheld) != (left["status"], left["withheld"]):
        raise StateConflict(f"{memory.ref} was changed since: it is {memory.status}")
    if memory.superseded_by != left.get("superseded_by", was["superseded_by"]):
        raise StateConflict(f"{memory.ref} has a successor since: {memory.superseded_by}")
    carried = {each["old"] for each in kept.get("proposals", ()) if each.get("carried")}
    replaced = Supersession.objects.filter(
        vault_id=memory.vault_id, new_id=memory.pk, old__vault_id=memory.vault_id
    ).values_list("old__ref", flat=True)
    if rest := sorted(set(replaced) - carried - set(was["replaced"])):
        raise StateConflict(f"{memory.ref} has replaced {rest[0]} since")


# -- Taking it back ------------------------------------------------------------------------------


def _take_back(
    caller: Caller, last: Decision, kept: dict[str, Any], about: dict[str, Memory], *, now: datetime
) -> None:
    vault_id = caller.vault.pk
    for proposal in kept.get("proposals", ()):
        if proposal.get("carried"):
            _make_current(vault_id, proposal["old"], about.get(proposal["old"]), successor=proposal["new"])
    hidden = [memory for ref, memory in about.items() if _restore(memory, kept["rows"][ref], last, kept)]
    _take_from(vault_id, kept.get("handed"))
    _propose_again(vault_id, kept.get("proposals", ()))
    _reopen(vault_id, kept)
    if hidden:
        announce(vault_id, hidden, erase=False)


def _make_current(vault_id: str, ref: str, held: Memory | None, *, successor: str) -> None:
    """Let a memory that was replaced be the head again; `held` is its row in hand, if there is one."""
    old = Memory.objects.in_vault(vault_id).filter(ref=ref, superseded_by=successor)
    key = old.values_list("pk", flat=True).first()
    if key is None:
        raise StateConflict(f"{ref} has another successor by now")
    try:
        with transaction.atomic():
            old.update(superseded_by=None, superseded_at=None, superseded_from=None)
    except IntegrityError as error:
        if not is_twin(error):
            raise
        raise StateConflict(f"the text of {ref} was remembered anew since") from None
    delete_rows(Supersession.objects.filter(vault_id=vault_id, old_id=key))
    if held is not None:
        held.superseded_by = held.superseded_at = held.superseded_from = None


def _restore(memory: Memory, was: Mapping[str, Any], last: Decision, kept: Mapping[str, Any]) -> bool:
    """Put back what the decision changed in a row.

    Returns: whether the memory was told and is not any more.
    """
    left = kept.get("left", {}).get(memory.ref) or last.after or {}
    gained = [flag for flag in memory.flags if flag not in left["flags"] and flag not in was["flags"]]
    was_told = memory.status == Status.APPROVED and not memory.withheld
    change_row(
        memory,
        status=was["status"],
        withheld=was["withheld"],
        flags=[*was["flags"], *gained],
        reviewed_at=None if was["reviewed_at"] is None else datetime.fromisoformat(was["reviewed_at"]),
        reviewed_by=was["reviewed_by"],
        author=was.get("author", memory.author),
    )
    return was_told and (memory.status != Status.APPROVED or memory.withheld)


def _take_from(vault_id: str, handed: Mapping[str, Any] | None) -> None:
    """Let a successor replace no more what an edit proposed it for, if nobody approved that yet."""
    if handed is not None:
        places = Memory.objects.in_vault(vault_id).filter(ref__in=handed["olds"])
        successor = Memory.objects.in_vault(vault_id).filter(ref=handed["new"])
        rows = ProposedSupersession.objects.filter(vault_id=vault_id, new_id__in=successor.values("pk"))
        delete_rows(rows.filter(old_id__in=places.values("pk")))


def _propose_again(vault_id: str, proposals: Any) -> None:
    proposed = [each for each in proposals if each.get("proposed", True)]
    refs = {ref for each in proposed for ref in (each["old"], each["new"])}
    ids = dict(Memory.objects.in_vault(vault_id).filter(ref__in=refs).values_list("ref", "pk"))
    ProposedSupersession.objects.bulk_create(
        [
            ProposedSupersession(
                vault_id=vault_id,
                old_id=ids[each["old"]],
                new_id=ids[each["new"]],
                reason=each["reason"],
                actor=each["actor"],
                at=datetime.fromisoformat(each["at"]),
            )
            for each in proposed
            if each["old"] in ids and each["new"] in ids
        ],
        ignore_conflicts=True,
    )


def _reopen(vault_id: str, kept: Mapping[str, Any]) -> None:
    """Open the conflicts that the decision settled; drop those that it noted, unless somebody resolved them."""
    rows = Conflict.objects.filter(vault_id=vault_id)
    rows.filter(ref__in=kept.get("settled", ())).update(resolved_at=None, resolved_by="", resolution="")
    delete_rows(rows.filter(ref__in=kept.get("noted", ()), resolved_at__isnull=True))


def _told(last: Decision, about: Mapping[str, Memory]) -> dict[str, Any]:
    if last.verb == Verb.RESOLVE:
        return {ref: standing_of(memory) for ref, memory in about.items()}
    return standing_of(about[last.memory])
