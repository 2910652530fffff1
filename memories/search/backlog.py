"""What waits for a vector, and how it gets one. There is no list of it: a memory without a vector waits.

Nothing is locked while a model works. A memory that was forgotten meanwhile gets no vector: before any is stored,
its row is looked for again, under the lock that forgetting takes.
"""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from memories.models import Memory, Vault
from memories.querysets import MemoryQuerySet
from memories.rows import in_chunks
from memories.search import vectors
from memories.search.embedding import active_embedder
from memories.search.turns import turn

BATCH: Final = 256
SLOW_BATCH: Final = 32  # half a second of a model
TURN_SECONDS: Final = 2.0
BREATH_SECONDS: Final = 0.02  # in which whoever waits for the turn gets it


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """How far a backlog is worked off."""

    done: int
    waiting: int


def count_everywhere(*, seconds: float) -> int:
    """Count what waits in all vaults, as far as that comes in so many seconds; beyond them it is at least so much."""
    ends_at, count = time.monotonic() + seconds, 0
    for vault_id in list(Vault.objects.order_by("pk").values_list("pk", flat=True)):
        count += count_waiting(vault_id)
        if time.monotonic() > ends_at:
            break
    return count


def locked(vault_id: str, memory_ids: Collection[int]) -> Mapping[int, str]:
    """Return the texts of those memories that are still there, and keep them from going until the transaction ends."""
    rows = _unredacted(vault_id).filter(pk__in=memory_ids).order_by("pk").select_for_update()
    return dict(rows.values_list("pk", "content"))


def waiting_in(vault_id: str) -> list[int]:
    """Return the ids of a vault's memories that have no vector of the embedder in use, in their order."""
    return sorted(vectors.missing(vault_id, list(_unredacted(vault_id).values_list("pk", flat=True))))


def count_waiting(vault_id: str) -> int:
    return vectors.pending(vault_id, _unredacted(vault_id).count())


def batch_size() -> int:
    """Return how many memories the embedder in use takes at once, so that a batch is over soon."""
    embedder = active_embedder()
    return BATCH if embedder is None or embedder.in_place(("",) * BATCH) else SLOW_BATCH


def embed(vault_id: str, memory_ids: Collection[int]) -> int:
    """Embed those of some memories that wait, in one short transaction once their vectors are made.

    Returns: how many got a vector.
    Raises: EmbedderUnavailable.
    """
    wanted = vectors.missing(vault_id, memory_ids)
    rows = list(_unredacted(vault_id).filter(pk__in=wanted).values_list("pk", "content"))
    made = vectors.embedded(rows)
    if made is None:
        return 0
    with transaction.atomic():
        kept = made.only(locked(vault_id, wanted).keys())
        vectors.keep(kept, vault_id=vault_id)
    return len(kept.block)


def work_off(vault_id: str) -> Iterator[Advance]:
    """Embed all that waits in a vault, taking turns with whoever else does; then the vectors of other models go.

    Yields: after each batch that is safely stored.
    Raises: EmbedderUnavailable; what came before it is stored.
    """
    done, tried = 0, set[int]()
    while True:
        with turn():
            ids = [pk for pk in waiting_in(vault_id) if pk not in tried]
            if not ids:
                vectors.retire_others(vault_id)
                return
            ends_at, left = time.monotonic() + TURN_SECONDS, len(ids)
            for some in in_chunks(ids, batch_size()):
                done += embed(vault_id, some)
                tried.update(some)
                left -= len(some)
                yield Advance(done=done, waiting=left)
                if time.monotonic() > ends_at:
                    break
        time.sleep(BREATH_SECONDS)


def _unredacted(vault_id: str) -> MemoryQuerySet:
    return Memory.objects.in_vault(vault_id).filter(redacted_at__isnull=True)
