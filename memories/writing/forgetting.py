"""The verb forget, by memory and by entity, and its clockwork twin for memories whose time has run out."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db import transaction

from cortex.errors import NotHere
from memories.access import Caller
from memories.core.kinds import Verb
from memories.entities import find_entity
from memories.models import Alias, Entity, Memory, Mention, Scope, Vault
from memories.search.facade import probe_all
from memories.writing.decisions import keep_decision
from memories.writing.erasing import Gone, announce, erase, rows_holding
from memories.writing.inputs import EntityErasure, Erasure

SWEEP_BATCH: Final = 200
ENTITY_BATCH: Final = 50
EXPIRY: Final = "expiry"


def forget(caller: Caller, ref: str, *, now: datetime) -> Erasure:
    """Erase a memory and every copy of its text; a tombstone without content stays.

    Earlier, superseded memories of the same text in the same project go with it.

    Returns: what was erased, and what each arm still finds when it searches for the old text.
    Raises: NotHere if it is unknown, forgotten already, another vault's or out of sight.
    """
    caller.require(Scope.WRITE)
    with transaction.atomic():
        memory = Memory.objects.visible_to(caller).filter(ref=ref).first()
        if memory is None:
            raise NotHere
        gone = _same_text(memory)
        erased = erase(caller.vault, gone, actor=caller.actor, projects=caller.projects, now=now)
        for each in gone:
            keep_decision(caller, Verb.FORGET, each.ref, now=now)
    return Erasure(ref=ref, erased=erased, probes=_probes(caller.vault, gone))


def forget_entity(caller: Caller, ref: str, *, now: datetime) -> EntityErasure:
    """Erase every memory in sight that is about an entity, and the entity with all its names.

    A batch a transaction, so that others can write between them; what is about it by then goes as well. Where memories
    out of the caller's sight are about the entity, it stays for them.

    Returns: what was erased, and what each arm still finds of the old texts once all are gone.
    Raises: NotHere if no memory in sight is about such an entity.
    """
    caller.require(Scope.WRITE)
    entity = find_entity(caller, ref, at=now)
    names = _names_of(entity)
    gone, erased = list[Memory](), Counter[str]()
    while batch := _forget_some(caller, entity, erased, now=now):
        gone += batch
    kept = Entity.objects.filter(vault_id=caller.vault.pk, pk=entity.pk).exists()
    if not kept:
        with transaction.atomic():
            erased.update(announce(caller.vault.pk, [], erase=True, texts=names))
    return EntityErasure(
        id=ref,
        forgotten=tuple(memory.ref for memory in gone),
        erased=erased,
        probes=_probes(caller.vault, gone),
        kept=kept if caller.projects is None else None,
    )


def _names_of(entity: Entity) -> tuple[str, ...]:
    aliases = Alias.objects.filter(vault_id=entity.vault_id, entity_id=entity.pk)
    return tuple(dict.fromkeys([entity.name, *aliases.order_by("name", "pk").values_list("name", flat=True)]))


def _forget_some(caller: Caller, entity: Entity, erased: Counter[str], *, now: datetime) -> list[Memory]:
    """Forget a batch of what is about an entity, with earlier memories of the same texts.

    Args:
        erased: is added to.
    """
    vault = caller.vault
    mentions = Mention.objects.filter(vault_id=vault.pk, entity_id=entity.pk).values("memory_id")
    with transaction.atomic():
        some = list(Memory.objects.visible_to(caller).filter(pk__in=mentions).order_by("pk")[:ENTITY_BATCH])
        if not some:
            return []
        texts = {(memory.project, memory.content_hash) for memory in some}
        same = Memory.objects.in_vault(vault.pk).filter(content_hash__in={hashed for _, hashed in texts})
        gone = [row for row in same.order_by("pk") if (row.project, row.content_hash) in texts]
        erased.update(erase(vault, gone, actor=caller.actor, projects=caller.projects, now=now))
        for memory in gone:
            keep_decision(caller, Verb.FORGET, memory.ref, now=now)
    return gone


def forget_expired(vault: Vault, *, now: datetime) -> int:
    """Forget what has expired in a vault, a batch a transaction.

    Returns: how many memories went.
    """
    total = Counter[str]()
    expired = Memory.objects.in_vault(vault.pk).filter(expires_at__lte=now)
    while batch := list(expired.order_by("pk")[:SWEEP_BATCH]):
        with transaction.atomic():
            total += erase(vault, batch, actor=EXPIRY, now=now)
    return total["memories"]


def _same_text(memory: Memory) -> Sequence[Memory]:
    rows = Memory.objects.in_vault(memory.vault_id)
    return list(rows.filter(project=memory.project, content_hash=memory.content_hash).order_by("pk"))


def _probes(vault: Vault, gone: Sequence[Memory]) -> dict[str, int]:
    """Search for all texts that are gone at once, for to search for each would cost as much as the vault is large."""
    same: dict[tuple[str, str], list[Memory]] = {}
    for memory in gone:
        if memory.content:  # else it was redacted: there is nothing left to search for
            same.setdefault((memory.project, memory.content_hash), []).append(memory)
    if not same:
        return {"fts": 0, "vectors": 0, "database": 0}
    among: dict[str, set[int]] = {}
    for memories in same.values():
        among.setdefault(memories[0].content, set()).update(memory.pk for memory in memories)
    left = rows_holding([Gone(memories=tuple(memories)) for memories in same.values()])
    return {**probe_all(vault, among), "database": left}
