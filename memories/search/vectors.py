"""The vector index: which memories are near a task in meaning, measured exactly over a whole vault.

Vectors are bytes (int8) in chunks of up to 1,024 rows; new ones wait as loose rows until there are enough to be
worth a chunk's rewriting. The rules:

- Every vector carries the name and the dimension of its model. Those of another model are never compared: the
  answer states how many memories are therefore searched by their words alone.
- Similarities are exact, over all rows of the vault, and what narrows a search narrows it before the limit.
- Who rewrites a chunk holds the vault's lock: on SQLite the write transaction itself, on PostgreSQL an advisory
  lock. A vector that is on its way from loose to a chunk may be seen twice, but never not at all.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from numpy.typing import NDArray

from memories.models import LooseVector, VectorChunk
from memories.rows import delete_rows, in_chunks
from memories.search.blocks import Block, Ids, block_of, joined, quantised, unpacked, unpacked_ids
from memories.search.choosing import best_places
from memories.search.embedding import Embedder, active_embedder

CHUNK_SIZE: Final = 1_024
FOLD_AT: Final = 256
LIMIT: Final = 1_000
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorHit:
    """One memory and the cosine between it and the task, -1..1."""

    memory_id: int
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorAnswer:
    """The nearest memories, best first, ties by id.

    `median` is the task's median similarity to the vault: what counts as nothing in common; 0 where nothing
    was compared. `stale` memories have vectors of another model only.
    """

    hits: tuple[VectorHit, ...] = ()
    median: float = 0.0
    stale: int = 0

    @property
    def stated(self) -> tuple[str, ...]:
        """What a reader must know of the answer's gaps."""
        if not self.stale:
            return ()
        return (f"{self.stale} memories await re-embedding: they were searched by their words alone",)


# -- Writing -------------------------------------------------------------------------------------


def store(rows: Sequence[tuple[int, str]], *, vault_id: str) -> int:
    """Make memories findable by meaning.

    Args:
        rows: memory id and text; what was stored under an id by the same model is replaced.
    Returns: how many vectors were made; none where no embedder is in use.
    """
    embedder = active_embedder()
    texts = dict(rows)
    if embedder is None or not texts:
        return 0
    fresh = quantised(list(texts), embedder.embed(list(texts.values())))
    with transaction.atomic(savepoint=False):
        loose, folded = _stored_ids(vault_id, embedder)
        if np.isin(fresh.ids, np.concatenate([loose, folded])).any():
            _erase(vault_id, texts.keys(), _of(embedder))
        if len(loose) + len(fresh) < FOLD_AT:
            _leave_loose(fresh, vault_id, embedder)
        else:
            _fold(fresh, vault_id, embedder)
    return len(fresh)


def remove(vault_id: str, memory_ids: Collection[int]) -> int:
    """Erase memories' vectors, of whatever model.

    Returns: how many vectors went.
    """
    if not memory_ids:
        return 0
    with transaction.atomic(savepoint=False):
        return _erase(vault_id, memory_ids, Q())


def missing(vault_id: str, memory_ids: Collection[int]) -> frozenset[int]:
    """Return those of the memories that have no vector of the embedder in use; none where none is in use."""
    embedder = active_embedder()
    return frozenset(memory_ids) - _embedded(vault_id, embedder) if embedder else frozenset()


def retire_others(vault_id: str) -> None:
    """Erase the vectors of every model but the one in use."""
    embedder = active_embedder()
    if embedder is None:
        return
    with transaction.atomic(savepoint=False):
        _lock(vault_id)
        for table in (LooseVector, VectorChunk):
            delete_rows(table._default_manager.filter(vault_id=vault_id).exclude(_of(embedder)))


def _erase(vault_id: str, memory_ids: Collection[int], which: Q) -> int:
    _lock(vault_id)
    loose = LooseVector.objects.filter(which, vault_id=vault_id)
    count = sum(delete_rows(loose.filter(memory_id__in=ids)) for ids in in_chunks(tuple(memory_ids)))
    gone = _as_array(memory_ids)
    chunks = VectorChunk.objects.filter(which, vault_id=vault_id)
    for pk, ids in chunks.values_list("pk", "ids"):
        keep = ~np.isin(unpacked_ids(ids), gone)
        if not keep.all():
            _shrink(chunks.filter(pk=pk).get(), keep)
            count += int((~keep).sum())
    return count


def _shrink(chunk: VectorChunk, keep: NDArray[np.bool_]) -> None:
    rows = VectorChunk.objects.filter(vault_id=chunk.vault_id, pk=chunk.pk)
    if keep.any():
        rows.update(**_columns(_opened(chunk).pick(keep)))
    else:
        delete_rows(rows)


def _leave_loose(block: Block, vault_id: str, embedder: Embedder) -> None:
    loose = [
        LooseVector(
            vault_id=vault_id,
            memory_id=memory_id,
            model=embedder.name,
            dimension=embedder.dimension,
            norm=norm,
            data=vector.tobytes(),
        )
        for memory_id, norm, vector in zip(block.ids.tolist(), block.norms.tolist(), block.data, strict=True)
    ]
    LooseVector.objects.bulk_create(loose, ignore_conflicts=True)  # a twin that was quicker wrote the same


def _fold(fresh: Block, vault_id: str, embedder: Embedder) -> None:
    """Move what is loose, and fresh vectors with it, into chunks: first into the one with the most room."""
    _lock(vault_id)
    loose_rows = LooseVector.objects.filter(_of(embedder), vault_id=vault_id)
    keys, loose = _loose(loose_rows, embedder.dimension)
    roomy = (
        VectorChunk.objects.filter(_of(embedder), vault_id=vault_id, size__lt=CHUNK_SIZE)
        .order_by("size", "pk")
        .first()
    )
    block = joined([*([_opened(roomy)] if roomy else []), loose, fresh], dimension=embedder.dimension)
    pieces = [block.pick(slice(at, at + CHUNK_SIZE)) for at in range(0, len(block), CHUNK_SIZE)]
    if roomy:
        VectorChunk.objects.filter(vault_id=vault_id, pk=roomy.pk).update(**_columns(pieces.pop(0)))
    model = {"model": embedder.name, "dimension": embedder.dimension}
    VectorChunk.objects.bulk_create(
        [VectorChunk(vault_id=vault_id, **model, **_columns(piece)) for piece in pieces], batch_size=16
    )
    for ids in in_chunks(keys):
        delete_rows(LooseVector.objects.filter(vault_id=vault_id, pk__in=ids))


# -- Asking --------------------------------------------------------------------------------------


def lookup(
    text: str,
    *,
    vault_id: str,
    allowed: Collection[int] | None = None,
    limit: int = LIMIT,
    least_lift: float | None = None,
) -> VectorAnswer:
    """Find the memories nearest to a text in meaning.

    Args:
        allowed: ids that may be answered, chosen before the limit; None for all of the vault.
        least_lift: what is not nearer than the median by more than this is left out; None keeps all.
    Returns: exact cosines over all of the vault's vectors; two statements.
    """
    embedder = active_embedder()
    if embedder is None:
        return VectorAnswer()
    asked = quantised([0], embedder.embed([text]))
    compared = _compare(asked, vault_id, embedder)
    if not len(compared.ids) or not asked.norms[0]:
        return VectorAnswer(stale=compared.stale)
    median = round(float(np.median(compared.cosines)), _DIGITS)
    above = None if least_lift is None else median + least_lift
    places = best_places(compared.ids, compared.cosines, allowed=allowed, limit=limit, above=above)
    found = zip(compared.ids[places].tolist(), compared.cosines[places].tolist(), strict=True)
    return VectorAnswer(
        hits=tuple(VectorHit(memory_id=memory_id, similarity=similarity) for memory_id, similarity in found),
        median=median,
        stale=compared.stale,
    )


def holding(text: str, *, vault_id: str, among: Collection[int] | None = None) -> int:
    """Count the memories whose vector is exactly this text's.

    Args:
        among: count only these memories.
    """
    embedder = active_embedder()
    if embedder is None:
        return 0
    asked = quantised([0], embedder.embed([text]))
    if not asked.norms[0]:
        return 0
    blocks = _blocks(vault_id, embedder, foreign=[])
    held = {pk for block in blocks for pk in block.ids[(block.data == asked.data).all(axis=1)].tolist()}
    return len(held if among is None else held.intersection(among))


def pending(vault_id: str, total: int) -> int:
    """Count the memories that cannot be found by meaning yet.

    Args:
        total: how many memories the vault has.
    """
    embedder = active_embedder()
    return max(0, total - len(_embedded(vault_id, embedder))) if embedder else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """The vault's ids, each once, with their cosines to the asked vector; how many others await this model."""

    ids: Ids
    cosines: NDArray[np.float64]
    stale: int


def _compare(asked: Block, vault_id: str, embedder: Embedder) -> _Comparison:
    ids, norms, dots = [], [], []
    foreign: list[Ids] = []
    for block in _blocks(vault_id, embedder, foreign=foreign):
        ids.append(block.ids)
        norms.append(block.norms)
        dots.append(block.dots(asked.data[0]))
    every = np.concatenate(ids)
    lengths = np.sqrt(np.concatenate(norms).astype(np.float64) * float(asked.norms[0]))
    cosines = (np.concatenate(dots) / np.where(lengths == 0, 1.0, lengths)).round(_DIGITS)
    first = _first_of_each(every)
    stale = len(np.setdiff1d(np.concatenate(foreign), every)) if foreign else 0
    return _Comparison(ids=every[first], cosines=cosines[first], stale=stale)


def _first_of_each(ids: Ids) -> Ids:
    """Return a position for each distinct id: the first one, which is the loose vector's."""
    order = np.argsort(ids, kind="stable")
    fresh = np.ones(len(ids), dtype=bool)
    fresh[1:] = np.diff(ids[order]) != 0
    return order[fresh]


# -- Rows ----------------------------------------------------------------------------------------


def _blocks(vault_id: str, embedder: Embedder, *, foreign: list[Ids]) -> Iterator[Block]:
    """Yield a vault's vectors of this model, chunk by chunk as the database hands them out.

    Loose ones come first: what moves into a chunk meanwhile is seen twice rather than never.

    Args:
        foreign: gains the ids that vectors of other models stand for.
    """
    rows = list(_fetch(_LOOSE, vault_id, embedder))
    if others := [row[0] for row in rows if row[2] is None]:
        foreign.append(np.array(others, dtype=np.int64))
    yield block_of([row for row in rows if row[2] is not None], dimension=embedder.dimension)
    for ids, norms, data in _fetch(_CHUNKS, vault_id, embedder):
        if data is None:
            foreign.append(unpacked_ids(ids))
        else:
            yield unpacked(ids, norms, data, dimension=embedder.dimension)


# Of another model's vectors only the ids are of interest.
_LOOSE: Final = """
    SELECT memory_id, norm, CASE WHEN model = %s AND dimension = %s THEN data END
    FROM memories_loosevector WHERE vault_id = %s"""
_CHUNKS: Final = """
    SELECT ids, norms, CASE WHEN model = %s AND dimension = %s THEN data END
    FROM memories_vectorchunk WHERE vault_id = %s"""

_LOOSE_IDS: Final = """
    SELECT memory_id FROM memories_loosevector WHERE model = %s AND dimension = %s AND vault_id = %s"""
_CHUNK_IDS: Final = """
    SELECT ids FROM memories_vectorchunk WHERE model = %s AND dimension = %s AND vault_id = %s"""


def _fetch(statement: str, vault_id: str, embedder: Embedder) -> Iterator[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [embedder.name, embedder.dimension, vault_id])
        yield from cursor


def _stored_ids(vault_id: str, embedder: Embedder) -> tuple[Ids, Ids]:
    """Return the ids that have a vector of this model, loose and in chunks; two statements."""
    loose = [row[0] for row in _fetch(_LOOSE_IDS, vault_id, embedder)]
    folded = [unpacked_ids(row[0]) for row in _fetch(_CHUNK_IDS, vault_id, embedder)]
    return np.array(loose, dtype=np.int64), np.concatenate([np.zeros(0, dtype=np.int64), *folded])


def _embedded(vault_id: str, embedder: Embedder) -> frozenset[int]:
    return frozenset(np.concatenate(_stored_ids(vault_id, embedder)).tolist())


def _of(embedder: Embedder) -> Q:
    return Q(model=embedder.name, dimension=embedder.dimension)


def _loose(rows: QuerySet[LooseVector], dimension: int) -> tuple[list[int], Block]:
    found = list(rows.order_by("pk").values_list("pk", "memory_id", "norm", "data"))
    return [row[0] for row in found], block_of([row[1:] for row in found], dimension=dimension)


def _opened(chunk: VectorChunk) -> Block:
    return unpacked(chunk.ids, chunk.norms, chunk.data, dimension=chunk.dimension)


def _columns(block: Block) -> dict[str, Any]:
    return {"size": len(block), **block.packed()}


def _as_array(memory_ids: Collection[int]) -> Ids:
    return np.fromiter(memory_ids, dtype=np.int64, count=len(memory_ids))


def _lock(vault_id: str) -> None:
    """Keep other transactions from rewriting this vault's chunks until this one ends."""
    if connection.vendor == "postgresql":
        key = int.from_bytes(
            blake2b(f"vectors {vault_id}".encode(), digest_size=8).digest(), "big", signed=True
        )
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])
