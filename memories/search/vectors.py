"""The vector index: which memories are near a task in meaning, measured exactly over a whole vault.

Vectors are bytes (int8) in chunks of up to 1,024 rows; new ones wait as loose rows until there are enough to be
worth a chunk's rewriting. The rules:

- Every vector carries the name and the dimension of its model. Those of another model are never compared: the
  answer states how many memories are therefore searched by their words alone.
- Dot products are sums of whole numbers small enough for float32, so an answer depends neither on how the rows
  are laid out nor on the processor.
- Who rewrites a chunk holds the vault's lock: on SQLite the write transaction itself, on PostgreSQL an advisory
  lock. A vector that is on its way from loose to a chunk may be seen twice, but never not at all.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import numpy as np
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from numpy.typing import NDArray

from memories.models import LooseVector, VectorChunk
from memories.rows import delete_rows, in_chunks
from memories.search.choosing import best_places
from memories.search.embedding import Embedder, Vectors, active_embedder

CHUNK_SIZE: Final = 1_024
FOLD_AT: Final = 256
LIMIT: Final = 1_000
_LARGEST_BYTE: Final = 127
_DIGITS: Final = 6

Packed: TypeAlias = "bytes | memoryview[int]"  # what a database hands out


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Vectors side by side, each with its memory's id and its sum of squares."""

    ids: NDArray[np.int64]
    norms: NDArray[np.int32]
    data: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.ids)

    def pick(self, which: NDArray[np.bool_] | slice) -> "_Block":
        return _Block(ids=self.ids[which], norms=self.norms[which], data=self.data[which])


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
    fresh = _quantised(list(texts), embedder.embed(list(texts.values())))
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
        keep = ~np.isin(_ids(ids), gone)
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


def _leave_loose(block: _Block, vault_id: str, embedder: Embedder) -> None:
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


def _fold(fresh: _Block, vault_id: str, embedder: Embedder) -> None:
    """Move what is loose, and fresh vectors with it, into chunks: first into the one with the most room."""
    _lock(vault_id)
    loose_rows = LooseVector.objects.filter(_of(embedder), vault_id=vault_id)
    keys, loose = _loose(loose_rows, embedder.dimension)
    roomy = (
        VectorChunk.objects.filter(_of(embedder), vault_id=vault_id, size__lt=CHUNK_SIZE)
        .order_by("size", "pk")
        .first()
    )
    block = _joined([*([_opened(roomy)] if roomy else []), loose, fresh], embedder.dimension)
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
    asked = _quantised([0], embedder.embed([text]))
    ids, similarities, stale = _compare(asked, vault_id, embedder)
    if not len(ids) or not asked.norms[0]:
        return VectorAnswer(stale=stale)
    median = round(float(np.median(similarities)), _DIGITS)
    above = None if least_lift is None else median + least_lift
    places = best_places(ids, similarities, allowed=allowed, limit=limit, above=above)
    found = zip(ids[places].tolist(), similarities[places].tolist(), strict=True)
    return VectorAnswer(
        hits=tuple(VectorHit(memory_id=memory_id, similarity=similarity) for memory_id, similarity in found),
        median=median,
        stale=stale,
    )


def holding(text: str, *, vault_id: str, among: Collection[int] | None = None) -> int:
    """Count the memories whose vector is exactly this text's.

    Args:
        among: count only these memories.
    """
    embedder = active_embedder()
    if embedder is None:
        return 0
    asked = _quantised([0], embedder.embed([text]))
    if not asked.norms[0]:
        return 0
    blocks, _ = _read(vault_id, embedder)
    held = {pk for block in blocks for pk in block.ids[(block.data == asked.data).all(axis=1)].tolist()}
    return len(held if among is None else held.intersection(among))


def pending(vault_id: str, total: int) -> int:
    """Count the memories that cannot be found by meaning yet.

    Args:
        total: how many memories the vault has.
    """
    embedder = active_embedder()
    return max(0, total - len(_embedded(vault_id, embedder))) if embedder else 0


def _compare(
    asked: _Block, vault_id: str, embedder: Embedder
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Return the vault's ids, their cosines to the asked vector, and how many ids another model holds."""
    blocks, foreign = _read(vault_id, embedder)
    question = asked.data[0].astype(np.float32)
    dots = np.concatenate([block.data.astype(np.float32) @ question for block in blocks]).astype(np.float64)
    norms = np.concatenate([block.norms for block in blocks]).astype(np.float64)
    lengths = np.sqrt(norms * float(asked.norms[0]))
    cosines = (dots / np.where(lengths == 0, 1.0, lengths)).round(_DIGITS)
    ids = np.concatenate([block.ids for block in blocks])
    first = _first_of_each(ids)
    return ids[first], cosines[first], len(np.setdiff1d(foreign, ids)) if len(foreign) else 0


def _first_of_each(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a position for each distinct id: the first one, which is the loose vector's."""
    order = np.argsort(ids, kind="stable")
    fresh = np.ones(len(ids), dtype=bool)
    fresh[1:] = np.diff(ids[order]) != 0
    return order[fresh]


# -- Rows and bytes ------------------------------------------------------------------------------


def _read(vault_id: str, embedder: Embedder) -> tuple[list[_Block], NDArray[np.int64]]:
    """Return a vault's vectors of this model, and the ids that vectors of others stand for.

    Loose ones are read first: what moves into a chunk meanwhile is seen twice rather than never.
    """
    rows = _fetch(_LOOSE, vault_id, embedder)
    blocks = [_block_of([row for row in rows if row[2] is not None], embedder.dimension)]
    foreign = [np.array([row[0] for row in rows if row[2] is None], dtype=np.int64)]
    for ids, norms, data in _fetch(_CHUNKS, vault_id, embedder):
        if data is None:
            foreign.append(_ids(ids))
        else:
            blocks.append(_unpacked(ids, norms, data, embedder.dimension))
    return blocks, np.concatenate(foreign)


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


def _fetch(statement: str, vault_id: str, embedder: Embedder) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [embedder.name, embedder.dimension, vault_id])
        return list(cursor.fetchall())


def _stored_ids(vault_id: str, embedder: Embedder) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids that have a vector of this model, loose and in chunks; two statements."""
    loose = [row[0] for row in _fetch(_LOOSE_IDS, vault_id, embedder)]
    folded = [_ids(row[0]) for row in _fetch(_CHUNK_IDS, vault_id, embedder)]
    return np.array(loose, dtype=np.int64), np.concatenate([np.zeros(0, dtype=np.int64), *folded])


def _embedded(vault_id: str, embedder: Embedder) -> frozenset[int]:
    return frozenset(np.concatenate(_stored_ids(vault_id, embedder)).tolist())


def _of(embedder: Embedder) -> Q:
    return Q(model=embedder.name, dimension=embedder.dimension)


def _loose(rows: QuerySet[LooseVector], dimension: int) -> tuple[list[int], _Block]:
    found = list(rows.order_by("pk").values_list("pk", "memory_id", "norm", "data"))
    return [row[0] for row in found], _block_of([row[1:] for row in found], dimension)


def _block_of(rows: Sequence[tuple[int, int, Packed]], dimension: int) -> _Block:
    return _Block(
        ids=np.array([row[0] for row in rows], dtype=np.int64),
        norms=np.array([row[1] for row in rows], dtype=np.int32),
        data=np.frombuffer(b"".join(bytes(row[2]) for row in rows), dtype=np.int8).reshape(-1, dimension),
    )


def _opened(chunk: VectorChunk) -> _Block:
    return _unpacked(chunk.ids, chunk.norms, chunk.data, chunk.dimension)


def _unpacked(ids: Packed, norms: Packed, data: Packed, dimension: int) -> _Block:
    return _Block(
        ids=_ids(ids),
        norms=np.frombuffer(norms, dtype="<i4").astype(np.int32, copy=False),
        data=np.frombuffer(data, dtype=np.int8).reshape(-1, dimension),
    )


def _ids(packed: Packed) -> NDArray[np.int64]:
    return np.frombuffer(packed, dtype="<i8").astype(np.int64, copy=False)


def _columns(block: _Block) -> dict[str, Any]:
    return {
        "size": len(block),
        "ids": block.ids.astype("<i8").tobytes(),
        "norms": block.norms.astype("<i4").tobytes(),
        "data": block.data.tobytes(),
    }


def _joined(blocks: Iterable[_Block], dimension: int) -> _Block:
    every = [_block_of([], dimension), *blocks]
    return _Block(
        ids=np.concatenate([block.ids for block in every]),
        norms=np.concatenate([block.norms for block in every]),
        data=np.concatenate([block.data for block in every]),
    )


def _quantised(ids: Sequence[int], vectors: Vectors) -> _Block:
    """Write each vector in bytes, its largest part as 127."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    data = np.rint(vectors * (_LARGEST_BYTE / np.where(largest == 0, 1.0, largest))).astype(np.int8)
    norms = np.square(data.astype(np.int32)).sum(axis=1, dtype=np.int32)
    return _Block(ids=np.array(ids, dtype=np.int64), norms=norms, data=data)


def _as_array(memory_ids: Collection[int]) -> NDArray[np.int64]:
    return np.fromiter(memory_ids, dtype=np.int64, count=len(memory_ids))


def _lock(vault_id: str) -> None:
    """Keep other transactions from rewriting this vault's chunks until this one ends."""
    if connection.vendor == "postgresql":
        key = int.from_bytes(
            blake2b(f"vectors {vault_id}".encode(), digest_size=8).digest(), "big", signed=True
        )
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])
