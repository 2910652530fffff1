"""The verbs that write claims: remember, propose, and both for many at once through the same path.

Who says again what a project knows adds a witness, no row: the memory counts one occurrence more and gains the
sources, however many calls say it at the same moment.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from cortex.errors import CortexError, StateConflict, Unprocessable
from memories.access import Caller
from memories.core.kinds import AUTHOR_TRUST, Author, Flag, Status
from memories.models import Memory, Scope
from memories.rows import in_chunks
from memories.search.facade import index_memories
from memories.writing.citing import captures_cited, cite, cites_unknown_capture, without_sources
from memories.writing.contradicting import note_contradictions
from memories.writing.erasing import erase
from memories.writing.inputs import MemoryInput, Outcome
from memories.writing.naming import link_entities
from memories.writing.preparing import Prepared, prepare
from memories.writing.twins import is_ref_taken, is_twin

ATTEMPTS: Final = 5  # each lost race leaves one twin fewer that could win again


def remember(caller: Caller, draft: MemoryInput, *, now: datetime) -> Outcome:
    """Store one claim, or count it once more where it is known.

    Returns: the memory as it is stored, and whether it is new.
    Raises: NotAllowed outside the caller's projects; Unprocessable where the claim breaks a rule.
    """
    return only(remember_many(caller, [draft], now=now))


def propose(caller: Caller, draft: MemoryInput, *, now: datetime) -> Outcome:
    """Store one claim that waits for a review, whoever calls. Otherwise as `remember`."""
    caller.require(Scope.WRITE)
    return only(store_claims(caller, [draft], status=Status.PENDING, now=now))


def remember_many(
    caller: Caller, drafts: Sequence[MemoryInput], *, now: datetime
) -> list[Outcome | CortexError]:
    """Store claims in one transaction.

    Returns: for each claim, in order, what became of it; a refused one leaves the others untouched.
    """
    caller.require(Scope.WRITE)
    return store_claims(caller, drafts, status=status_deserved(caller), now=now)


def status_deserved(caller: Caller) -> Status:
    """The status that a caller's write gets if nothing speaks against it."""
    approved = settings.CORTEX_AUTO_APPROVE or caller.may(Scope.REVIEW)
    return Status.APPROVED if approved else Status.PENDING


def store_claims(
    caller: Caller,
    drafts: Sequence[MemoryInput],
    *,
    status: Status,
    now: datetime,
    replacing: frozenset[int] = frozenset(),
) -> list[Outcome | CortexError]:
    """As `remember_many`, with the status given.

    Args:
        replacing: ids of memories that the claims are about to supersede; they are no contradiction.
    """
    results: list[Outcome | CortexError | Prepared] = [
        _prepare_or_refuse(caller, draft, status=status, now=now) for draft in drafts
    ]
    captures = captures_cited(caller, _prepared(results))
    for index, result in enumerate(results):
        if isinstance(result, Prepared) and cites_unknown_capture(result, captures):
            results[index] = Unprocessable(
                "the citation names no capture", errors={"source.url": "no such capture"}
            )
    batch = _Batch(
        caller=caller, claims=list(_prepared(results)), captures=captures, now=now, replacing=replacing
    )
    stored = iter(_store(batch))
    return [next(stored) if isinstance(result, Prepared) else result for result in results]


def only(results: Sequence[Outcome | CortexError]) -> Outcome:
    """Return the one result.

    Raises: the refusal, if it was refused.
    """
    if isinstance(results[0], CortexError):
        raise results[0]
    return results[0]


def _prepared(results: Iterable[object]) -> list[Prepared]:
    return [result for result in results if isinstance(result, Prepared)]


def _prepare_or_refuse(
    caller: Caller, draft: MemoryInput, *, status: Status, now: datetime
) -> Prepared | CortexError:
    try:
        caller.require_project(draft.project)
        return prepare(draft, language=caller.vault.language, status=status, now=now)
    except CortexError as refusal:
        return refusal


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Claims on their way into the vault, and the memories that they became."""

    caller: Caller
    claims: list[Prepared]
    captures: Mapping[str, int]
    now: datetime
    replacing: frozenset[int]
    fresh: dict[tuple[str, str], Memory] = field(default_factory=dict)
    known: dict[tuple[str, str], Memory] = field(default_factory=dict)

    @property
    def vault_id(self) -> str:
        return self.caller.vault.pk


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A claim and the memory that it became, or was already."""

    claim: Prepared
    memory: Memory
    created: bool


class _LostTwin(Exception):
    """A memory that a claim repeats was forgotten or superseded by somebody else just now."""


def _store(batch: _Batch) -> list[Outcome]:
    """Write the batch; where a parallel write came first, or a ref is taken, try again."""
    if not batch.claims:
        return []
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                placed = _write(batch)
        except IntegrityError as error:
            if not (is_twin(error) or is_ref_taken(error)):
                raise
            continue
        except _LostTwin:
            continue
        return [Outcome(memory=each.memory, created=each.created) for each in placed]
    raise StateConflict("others keep writing the same memory; try again")


def _write(batch: _Batch) -> list[_Placed]:
    batch.fresh, batch.known = {}, _living_twins(batch)
    gains: dict[int, dict[str, Any]] = {}
    placed = [_place(batch, claim, gains) for claim in batch.claims]
    rows = list(batch.fresh.values())
    # In an order that all writers share, so that two batches wait for each other instead of deadlocking.
    Memory.objects.bulk_create(sorted(rows, key=lambda row: (row.project, row.content_hash)))
    _count_again(batch, placed, gains)
    _tie(batch, placed)
    index_memories(batch.caller.vault, [(row.pk, row.content) for row in rows])
    note_contradictions(batch.caller, rows, besides=batch.replacing, now=batch.now)
    return placed


def _place(batch: _Batch, claim: Prepared, gains: dict[int, dict[str, Any]]) -> _Placed:
    memory = batch.fresh.get(claim.identity) or batch.known.get(claim.identity)
    if memory is not None:
        gains.setdefault(memory.pk, {}).update(_make_again(memory, claim))
        return _Placed(claim=claim, memory=memory, created=False)
    batch.fresh[claim.identity] = claim.as_row(batch.vault_id, now=batch.now)
    return _Placed(claim=claim, memory=batch.fresh[claim.identity], created=True)


def _living_twins(batch: _Batch) -> dict[tuple[str, str], Memory]:
    """Find what the vault knows already; a twin whose time has run out is forgotten instead."""
    twins: dict[tuple[str, str], Memory] = {}
    wanted = {claim.identity for claim in batch.claims}
    for chunk in in_chunks(sorted({content_hash for _, content_hash in wanted})):
        rows = Memory.objects.in_vault(batch.vault_id).unsuperseded().filter(content_hash__in=chunk)
        for memory in rows.filter(redacted_at__isnull=True):
            if (memory.project, memory.content_hash) in wanted:
                twins[memory.project, memory.content_hash] = memory
    expired = [m for m in twins.values() if m.expires_at is not None and m.expires_at <= batch.now]
    if expired:
        erase(batch.caller.vault, expired, actor="expiry", now=batch.now)
    gone = {memory.pk for memory in expired}
    return {identity: memory for identity, memory in twins.items() if memory.pk not in gone}


def _make_again(memory: Memory, claim: Prepared) -> dict[str, Any]:
    """Count a claim once more, and let it gain what a better witness gives it.

    Returns: what changed beside the count.
    """
    memory.occurrences += 1
    gains: dict[str, Any] = {}
    author = claim.given.author
    if AUTHOR_TRUST[author] > AUTHOR_TRUST[Author(memory.author)]:
        gains["author"] = author
    if _is_lifted(memory, claim):
        flags = [flag for flag in memory.flags if flag != Flag.CONTRADICTS_USER]
        gains |= {"status": Status.APPROVED, "flags": flags}
    if memory.expires_at is not None and AUTHOR_TRUST[author] >= AUTHOR_TRUST[Author(memory.author)]:
        until = claim.given.expires_at
        gains["expires_at"] = None if until is None else max(until, memory.expires_at)
    for name, value in gains.items():
        setattr(memory, name, value)
    return gains


def _is_lifted(memory: Memory, claim: Prepared) -> bool:
    """Whether a claim that deserves approval ends the wait of the memory that it repeats."""
    if claim.status != Status.APPROVED or memory.status == Status.APPROVED:
        return False
    if claim.given.author == Author.USER:
        return True
    return memory.status == Status.PENDING and Flag.CONTRADICTS_USER not in memory.flags


def _is_smuggled(placed: _Placed) -> bool:
    """Whether a known memory, harmless itself, would cite something that reads as an instruction."""
    flag = Flag.INSTRUCTION_LIKE
    return flag in placed.claim.flags and flag not in placed.memory.flags


def _count_again(batch: _Batch, placed: Sequence[_Placed], gains: Mapping[int, Mapping[str, Any]]) -> None:
    known = {memory.pk for memory in batch.known.values()}
    times = Counter(each.memory.pk for each in placed if each.memory.pk in known)
    for pk, count in sorted(times.items()):
        rows = Memory.objects.in_vault(batch.vault_id).unsuperseded().filter(pk=pk)
        if not rows.update(occurrences=F("occurrences") + count, **gains[pk]):
            raise _LostTwin


def _tie(batch: _Batch, placed: Sequence[_Placed]) -> None:
    """Write the sources of all, and the mentions of what is new."""
    fresh = {memory.pk for memory in batch.fresh.values()}
    silent = [each.memory for each in placed if not each.claim.given.sources]
    uncited = without_sources(batch.vault_id, [memory for memory in silent if memory.pk not in fresh])
    citing = [
        (each.memory, each.claim)
        for each in placed
        if each.created or each.memory.pk in uncited or (each.claim.given.sources and not _is_smuggled(each))
    ]
    cite(batch.vault_id, citing, captures=batch.captures, now=batch.now)
    names = {each.memory.pk: each.claim.entities for each in placed if each.created}
    link_entities(batch.vault_id, names, now=batch.now)
