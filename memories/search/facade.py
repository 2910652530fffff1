"""Both indexes in step: what is written goes into each, what is forgotten leaves each.

Words are indexed with the write itself. Vectors of a slow embedder follow: a memory without one is the queue.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction

from memories.models import Vault
from memories.rows import in_chunks
from memories.search import backlog, fulltext, vectors
from memories.search.embedding import EmbedderUnavailable
from memories.search.worker import worker

Rows = Sequence[tuple[int, str]]
"""Memory id and content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a rebuilding came; to go on later, start behind `last_id`."""

    done: int
    last_id: int


def index_memories(vault: Vault, rows: Rows) -> None:
    """Make memories findable, inside the caller's transaction: by word now, by meaning now or soon after.

    Args:
        rows: id and content of new memories.
    """
    fulltext.index(rows, vault_id=vault.pk, language=vault.language)
    if waiting := vectors.store_or_leave(rows, vault_id=vault.pk):
        transaction.on_commit(partial(worker.wake, vault.pk, waiting))


def drop_memories(vault_id: str, memory_ids: Collection[int]) -> Mapping[str, int]:
    """Erase memories from both indexes.

    Returns: how many entries went, by arm.
    """
    return {"fts": fulltext.remove(vault_id, memory_ids), "vectors": vectors.remove(vault_id, memory_ids)}


def probe(vault: Vault, text: str, *, among: Collection[int] | None = None) -> Mapping[str, int]:
    """Search each arm for exactly this text, to prove that it is gone.

    Args:
        among: count only these ids, where another memory may rightly hold the same text.
    Returns: how many entries still hold it, by arm.
    """
    return {
        "fts": fulltext.holding(text, vault_id=vault.pk, language=vault.language, among=among),
        "vectors": vectors.holding(text, vault_id=vault.pk, among=among),
    }


def probe_all(vault: Vault, texts: Mapping[str, Collection[int]]) -> Mapping[str, int]:
    """Search each arm for many texts at once, in statements that do not grow with them.

    Args:
        texts: text → the memories that count for it, where others may rightly hold the same text.
    Returns: how many entries still hold one, by arm.
    """
    return {
        "fts": fulltext.holding_any(texts, vault_id=vault.pk, language=vault.language),
        "vectors": vectors.holding_any(texts, vault_id=vault.pk),
    }


def reindex(vault: Vault, batches: Iterable[Sequence[int]]) -> Iterator[Progress]:
    """Rebuild both indexes from the rows, batch by batch; what is not rebuilt yet goes on being served.

    The text index is written anew. A memory is embedded unless it has a vector of the embedder in use, so a
    second run goes on where a first one stopped; at the end the vectors of other models go.

    Args:
        batches: memory ids, in their order.
    Yields: the progress after each batch that is safely stored.
    Raises: EmbedderUnavailable, once all is findable by word.
    """
    done, trouble = 0, None
    for ids in batches:
        with transaction.atomic():
            rows = list(backlog.locked(vault.pk, ids).items())
            fulltext.index(rows, vault_id=vault.pk, language=vault.language)
        try:
            if trouble is None:
                _embed(vault.pk, ids)
        except EmbedderUnavailable as error:
            trouble = error
        done += len(ids)
        yield Progress(done=done, last_id=max(ids))
    if trouble is not None:
        raise trouble
    vectors.retire_others(vault.pk)


def _embed(vault_id: str, memory_ids: Sequence[int]) -> None:
    for some in in_chunks(memory_ids, backlog.batch_size()):
        backlog.embed(vault_id, some)
