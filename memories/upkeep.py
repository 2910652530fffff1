"""Upkeep of a vault, safe to repeat at any time; apps further up add their own part by the signal."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memories.idempotency import drop_old_records
from memories.models import Vault
from memories.signals import server_swept, vault_swept
from memories.writing import forget_expired


def sweep_vault(vault: Vault, *, now: datetime) -> Counter[str]:
    """Drop what has had its time.

    Returns: how much went, by class.
    """
    swept = Counter[str]()
    swept["expired memories"] = forget_expired(vault, now=now)
    swept["idempotency records"] = drop_old_records(vault.pk, now=now)
    swept.update(_told(vault_swept.send(sender=Vault, vault_id=vault.pk, now=now)))
    return swept


def sweep_server(*, now: datetime) -> Counter[str]:
    """Drop what has had its time and belongs to no vault.

    Returns: how much went, by class.
    """
    return _told(server_swept.send(sender=Vault, now=now))


def _told(answers: list[tuple[Any, Any]]) -> Counter[str]:
    told = Counter[str]()
    for _, answer in answers:
        if isinstance(answer, Mapping):
            told.update(answer)
    return told
