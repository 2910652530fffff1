"""Both indexes in step: what is written goes into each, what is forgotten leaves each."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from memories.models import Vault
from memories.search import fulltext, vectors

Rows = Sequence[tuple[int, str]]
"""Memory id and content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a rebuilding came; to go on later, start behind `last_id`."""

    done: int
    last_id: int


def index_memories(vault: Vault, rows: Rows) -> None:
    """Make memories findable by word and by meaning, inside the caller's transaction.

    Args:
        rows: id and content; what was indexed under these ids is replaced.
    """
    fulltext.index(rows, vault_id=vault.pk, language=vault.language)
    vectors.store(rows, vault_id=vault.pk)


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


def reindex(vault: Vault, batches: Iterable[Rows]) -> Iterator[Progress]:
    """Rebuild both indexes from the rows, batch by batch; what is not rebuilt yet goes on being served.

    The text index is written anew. A memory is embedded unless it has a vector of the embedder in use, so a
    second run goes on where a first one stopped; at the end the vectors of other models go.

    Args:
        batches: rows in the order of their ids; each batch is one transaction.
    Yields: the progress after each batch that is safely stored.
    """
    done = 0
    for rows in batches:
        ids = [memory_id for memory_id, _ in rows]
        with transaction.atomic():
            fulltext.index(rows, vault_id=vault.pk, language=vault.language)
            wanted = vectors.missing(vault.pk, ids)
            vectors.store([row for row in rows if row[0] in wanted], vault_id=vault.pk)
        done += len(rows)
        yield Progress(done=done, last_id=max(ids))
    vectors.retire_others(vault.pk)
