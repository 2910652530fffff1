"""Where vectors lie: in chunks of up to 1,024, and loose until there are enough to be worth a chunk's rewriting.

Who rewrites a chunk holds the vault's lock: on SQLite the write transaction itself, on PostgreSQL an advisory
lock. A vector on its way from loose to a chunk may be seen twice, but never not at all. All that writes here
runs inside a transaction of the caller's.
"""

from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, Protocol

import numpy as np
from django.db import connection
from django.db.models import Q

from memories.ids import random_key
from memories.models import LooseVector, VectorChunk
from memories.rows import delete_rows, in_chunks
from memories.search.blocks import Block, Ids, block_of, joined, unpacked, unpacked_ids
from memories.search.engine import binary_cursor, rows_of

CHUNK_SIZE: Final = 1_024
FOLD_AT: Final = 256


class Model(Protocol):
    """What tells vectors apart: those of two models are never compared."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...


# -- Reading -------------------------------------------------------------------------------------

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


def read(vault_id: str, model: Model, *, foreign: list[Ids]) -> Iterator[Block]:
    """Yield a vault's vectors of one model, chunk by chunk as the database hands them out; two statements.

    Loose ones come first: what moves into a chunk meanwhile is seen twice rather than never.

    Args:
        foreign: gains the ids that vectors of other models stand for.
    """
    about = [model.name, model.dimension, vault_id]
    rows = list(rows_of(_LOOSE, about))
    if others := [row[0] for row in rows if row[2] is None]:
        foreign.append(np.array(others, dtype=np.int64))
    yield block_of([row for row in rows if row[2] is not None], dimension=model.dimension)
    for ids, norms, data in rows_of(_CHUNKS, about):
        if data is None:
            foreign.append(unpacked_ids(ids))
        else:
            yield unpacked(ids, norms, data, dimension=model.dimension)


def stored_ids(vault_id: str, model: Model) -> tuple[Ids, Ids]:
    """Return the ids that have a vector of a model, loose and in chunks; two statements."""
    about = [model.name, model.dimension, vault_id]
    return _ids_of(rows_of(_LOOSE_IDS, about), rows_of(_CHUNK_IDS, about))


def ids_by_name(vault_id: str, name: str | None = None) -> tuple[Ids, Ids]:
    """Return the ids that have a vector of a model of this name (None: of any), whatever its dimension; two statements."""
    which = Q(vault_id=vault_id) if name is None else Q(vault_id=vault_id, model=name)
    loose = LooseVector.objects.filter(which).values_list("memory_id")
    return _ids_of(loose, VectorChunk.objects.filter(which).values_list("ids"))


def has_others(vault_id: str, *, model: Model) -> bool:
    """Tell whether a vault has vectors of any other model; two statements."""
    return any(_others(vault_id, model, rows).exists() for rows in (LooseVector, VectorChunk))


def _ids_of(loose: Iterable[Any], folded: Iterable[Any]) -> tuple[Ids, Ids]:
    packed = [unpacked_ids(row[0]) for row in folded]
    single = np.array([row[0] for row in loose], dtype=np.int64)
    return single, np.concatenate([np.zeros(0, dtype=np.int64), *packed])


def _others(vault_id: str, model: Model, rows: type[LooseVector] | type[VectorChunk]) -> Any:
    own = Q(model=model.name, dimension=model.dimension)
    return rows.objects.filter(vault_id=vault_id).exclude(own)


# -- Adding --------------------------------------------------------------------------------------


def add(block: Block, *, vault_id: str, model: Model) -> None:
    """Keep vectors, in place of those that the same model made for the same memories."""
    loose, folded = stored_ids(vault_id, model)
    if np.isin(block.ids, np.concatenate([loose, folded])).any():
        erase(vault_id, block.ids.tolist(), model=model)
    if len(loose) + len(block) < FOLD_AT:
        _leave_loose(block, vault_id, model)
    else:
        _fold(block, vault_id, model)


def _leave_loose(block: Block, vault_id: str, model: Model) -> None:
    loose = [
        LooseVector(
            vault_id=vault_id,
            memory_id=memory_id,
            model=model.name,
            dimension=model.dimension,
            norm=norm,
            data=vector.tobytes(),
        )
        for memory_id, norm, vector in zip(block.ids.tolist(), block.norms.tolist(), block.data, strict=True)
    ]
    LooseVector.objects.bulk_create(loose, ignore_conflicts=True)  # a twin that was quicker wrote the same


def _fold(fresh: Block, vault_id: str, model: Model) -> None:
    """Move what is loose, and fresh vectors with it, into chunks: first into the one with the most room."""
    _lock(vault_id)
    of_model = Q(vault_id=vault_id, model=model.name, dimension=model.dimension)
    rows = list(LooseVector.objects.filter(of_model).values_list("pk", "memory_id", "norm", "data"))
    roomy = VectorChunk.objects.filter(of_model, size__lt=CHUNK_SIZE).order_by("size", "pk")
    taken = list(roomy.values_list("pk", flat=True)[:1])
    blocks = [_open(vault_id, pk, model.dimension) for pk in taken]
    blocks += [block_of([row[1:] for row in rows], dimension=model.dimension), fresh]
    every = joined(blocks, dimension=model.dimension)
    for start in range(0, len(every), CHUNK_SIZE):
        piece = every.pick(slice(start, start + CHUNK_SIZE))
        if taken:
            _rewrite(vault_id, taken.pop(), piece)
        else:
            _write(vault_id, model, piece)
    for pks in in_chunks([row[0] for row in rows]):
        delete_rows(LooseVector.objects.filter(vault_id=vault_id, pk__in=pks))


# -- Erasing -------------------------------------------------------------------------------------


def erase(vault_id: str, memory_ids: Collection[int], *, model: Model | None = None) -> int:
    """Take memories' vectors out of the bytes.

    Args:
        model: whose vectors; None for all.
    Returns: how many went.
    """
    _lock(vault_id)
    which = Q(vault_id=vault_id)
    if model is not None:
        which &= Q(model=model.name, dimension=model.dimension)
    loose = LooseVector.objects.filter(which)
    count = sum(delete_rows(loose.filter(memory_id__in=ids)) for ids in in_chunks(tuple(memory_ids)))
    gone = np.fromiter(memory_ids, dtype=np.int64, count=len(memory_ids))
    for pk, dimension, ids in VectorChunk.objects.filter(which).values_list("pk", "dimension", "ids"):
        keep = ~np.isin(unpacked_ids(ids), gone)
        if keep.any() and not keep.all():
            _rewrite(vault_id, pk, _open(vault_id, pk, dimension).pick(keep))
        elif not keep.any():
            delete_rows(VectorChunk.objects.filter(vault_id=vault_id, pk=pk))
        count += int((~keep).sum())
    return count


def erase_others(vault_id: str, *, model: Model) -> None:
    """Take all vectors of a vault away but one model's."""
    _lock(vault_id)
    for rows in (LooseVector, VectorChunk):
        delete_rows(_others(vault_id, model, rows))


# -- One chunk -----------------------------------------------------------------------------------

_OPEN: Final = "SELECT ids, norms, data FROM memories_vectorchunk WHERE vault_id = %s AND id = %s"
_REWRITE: Final = """
    UPDATE memories_vectorchunk SET size = %s, ids = %s, norms = %s, data = %s WHERE vault_id = %s AND id = %s"""
_WRITE: Final = """
    INSERT INTO memories_vectorchunk (size, ids, norms, data, vault_id, id, model, dimension)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"""


def _open(vault_id: str, pk: int, dimension: int) -> Block:
    (row,) = rows_of(_OPEN, [vault_id, pk])
    return unpacked(*row, dimension=dimension)


def _rewrite(vault_id: str, pk: int, block: Block) -> None:
    _execute(_REWRITE, [len(block), *block.packed().values(), vault_id, pk])


def _write(vault_id: str, model: Model, block: Block) -> None:
    about = [vault_id, random_key(), model.name, model.dimension]
    _execute(_WRITE, [len(block), *block.packed().values(), *about])


def _execute(statement: str, values: list[Any]) -> None:
    with binary_cursor() as cursor:
        cursor.execute(statement, values)


def _lock(vault_id: str) -> None:
    """Keep other transactions from rewriting this vault's chunks until this one ends."""
    if connection.vendor == "postgresql":
        digest = blake2b(f"vectors {vault_id}".encode(), digest_size=8).digest()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int.from_bytes(digest, "big", signed=True)])
