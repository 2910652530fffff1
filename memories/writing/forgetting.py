"""The verb forget, and its clockwork twin for memories whose time has run out."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db import transaction

from cortex.errors import NotHere
from memories.access import Caller
from memories.core.kinds import Verb
from memories.models import Memory, Scope, Vault
from memories.search.facade import probe
from memories.writing.decisions import keep_decision
from memories.writing.erasing import erase, rows_holding, texts_of
from memories.writing.inputs import Erasure

SWEEP_BATCH: Final = 200
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
        said = texts_of(caller.vault.pk, gone)
        erased = erase(caller.vault, gone, actor=caller.actor, now=now)
        for each in gone:
            keep_decision(caller, Verb.FORGET, each.ref, now=now)
    return Erasure(ref=ref, erased=erased, probes=_probes(caller.vault, gone, said))


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


def _probes(vault: Vault, gone: Sequence[Memory], said: Sequence[str]) -> dict[str, int]:
    text = gone[0].content
    if not text:  # it was redacted: there is nothing left to search for
        return {"fts": 0, "vectors": 0, "database": 0}
    earlier = [each for each in said if each not in {memory.content for memory in gone}]
    among = {memory.pk for memory in gone}
    return {**probe(vault, text, among=among), "database": rows_holding(gone, earlier=earlier)}
