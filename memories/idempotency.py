"""A POST that carries an Idempotency-Key happens once: repetitions get the first answer.

The record is written in the transaction of the deed itself, so a deed that fails leaves no record, and of
parallel twins the second waits and then finds the first one's answer.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction

from cortex.errors import Gone, StateConflict, Unprocessable
from memories.access import Caller
from memories.models import IdempotencyRecord
from memories.rows import delete_rows

HEADER: Final = "Idempotency-Key"
KEY_LENGTH: Final = 200
KEPT_FOR: Final = timedelta(hours=24)
_GONE: Final = 410


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call answers; `replayed` says that this is a repetition of the first answer."""

    status: int
    body: Any
    replayed: bool = False


def once(
    caller: Caller, key: str, *, request_digest: str, act: Callable[[], Answer], now: datetime
) -> Answer:
    """Do something once per caller and key.

    Args:
        request_digest: names what is asked for; `digest_of`.
        act: the deed; its body must be JSON.
    Raises: Unprocessable where the key is unusable or was used for something else; Gone where what the first
        call wrote was forgotten since; whatever `act` raises.
    """
    _check_key(key)
    if found := _find(caller, key):
        return _replay(found, request_digest)
    try:
        with transaction.atomic():
            record = IdempotencyRecord.objects.create(
                vault_id=caller.vault.pk,
                actor=caller.actor,
                key=key,
                request_digest=request_digest,
                created_at=now,
            )
            answer = act()
            rows = IdempotencyRecord.objects.filter(vault_id=caller.vault.pk, pk=record.pk)
            rows.update(status=answer.status, body=answer.body)
            return answer
    except IntegrityError:
        found = _find(caller, key)
        if found is None:  # the deed itself broke a constraint
            raise
        return _replay(found, request_digest)


def once_in_steps(
    caller: Caller, key: str, *, request_digest: str, act: Callable[[], Answer], now: datetime
) -> Answer:
    """Do something once per caller and key that commits on its way, so that others can write meanwhile.

    Args and raises: as `once`; StateConflict while the first call runs. A deed that raises leaves no record.
    """
    _check_key(key)
    if found := _find(caller, key):
        return _replay(found, request_digest)
    about = {"vault_id": caller.vault.pk, "actor": caller.actor, "key": key}
    try:
        with transaction.atomic():
            IdempotencyRecord.objects.create(**about, request_digest=request_digest, created_at=now)
    except IntegrityError:
        found = _find(caller, key)
        if found is None:
            raise
        return _replay(found, request_digest)
    record = IdempotencyRecord.objects.filter(**about)
    with ExitStack() as undone:
        undone.callback(delete_rows, record)
        answer = act()
        record.update(status=answer.status, body=answer.body)
        undone.pop_all()
    return answer


def digest_of(method: str, path: str, body: Any) -> str:
    """Name a request: equal for equal bodies, whatever the order of their keys."""
    raw = json.dumps([method, path, body], sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(raw.encode()).hexdigest()


def drop_old_records(vault_id: str, *, now: datetime) -> int:
    """Forget answers that are too old to be asked for again.

    Returns: how many went.
    """
    old = IdempotencyRecord.objects.filter(vault_id=vault_id, created_at__lt=now - KEPT_FOR)
    return delete_rows(old)


def _check_key(key: str) -> None:
    if not 0 < len(key) <= KEY_LENGTH or not key.isprintable():
        raise Unprocessable(
            "the idempotency key is unusable", errors={HEADER: f"1 to {KEY_LENGTH} printable characters"}
        )


def _find(caller: Caller, key: str) -> IdempotencyRecord | None:
    return IdempotencyRecord.objects.filter(vault_id=caller.vault.pk, actor=caller.actor, key=key).first()


def _replay(record: IdempotencyRecord, request_digest: str) -> Answer:
    if record.request_digest != request_digest:
        raise Unprocessable(
            "the key was used for another request", errors={HEADER: "used for another request"}
        )
    if record.status is None:
        raise StateConflict("the first call with this key has not ended yet")
    if record.status == _GONE:
        raise Gone("what the first call with this key wrote was forgotten")
    return Answer(status=record.status, body=record.body, replayed=True)
