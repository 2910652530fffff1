"""Vectors side by side, in bytes: how they are written, read, cut, joined and compared. No database here.

A vector is int8, its largest part 127. A dot product of two is then a sum of whole numbers that float32 holds
exactly (up to 1,040 dimensions), so it depends neither on the rows' layout nor on the processor.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memories.search.embedding import Vectors

Ids: TypeAlias = "NDArray[np.int64]"
Packed: TypeAlias = "bytes | memoryview[int]"  # what a database hands out

_LARGEST_BYTE: Final = 127
_ROWS_AT_ONCE: Final = 128  # as float32 they fit a processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Vectors, each with its memory's id and its sum of squares."""

    ids: Ids
    norms: NDArray[np.int32]
    data: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.ids)

    def pick(self, which: NDArray[np.bool_] | slice) -> "Block":
        return Block(ids=self.ids[which], norms=self.norms[which], data=self.data[which])

    def packed(self) -> dict[str, bytes]:
        return {
            "ids": self.ids.astype("<i8").tobytes(),
            "norms": self.norms.astype("<i4").tobytes(),
            "data": self.data.tobytes(),
        }

    def dots(self, asked: NDArray[np.int8]) -> NDArray[np.float32]:
        """Return each row's dot product with one vector."""
        question = asked.astype(np.float32)
        answers = np.empty(len(self), dtype=np.float32)
        # One small buffer over and over: fresh pages for a whole block cost more than the sums.
        buffer = np.empty((_ROWS_AT_ONCE, len(question)), dtype=np.float32)
        for start in range(0, len(self), _ROWS_AT_ONCE):
            rows = self.data[start : start + _ROWS_AT_ONCE]
            np.copyto(buffer[: len(rows)], rows)
            np.dot(buffer[: len(rows)], question, out=answers[start : start + len(rows)])
        return answers


def unpacked(ids: Packed, norms: Packed, data: Packed, *, dimension: int) -> Block:
    """Read what `Block.packed` wrote."""
    return Block(
        ids=unpacked_ids(ids),
        norms=np.frombuffer(norms, dtype="<i4").astype(np.int32, copy=False),
        data=np.frombuffer(data, dtype=np.int8).reshape(-1, dimension),
    )


def unpacked_ids(packed: Packed) -> Ids:
    return np.frombuffer(packed, dtype="<i8").astype(np.int64, copy=False)


def block_of(rows: Sequence[tuple[int, int, Packed]], *, dimension: int) -> Block:
    """Lay single vectors (id, sum of squares, bytes) side by side."""
    return Block(
        ids=np.array([row[0] for row in rows], dtype=np.int64),
        norms=np.array([row[1] for row in rows], dtype=np.int32),
        data=np.frombuffer(b"".join(bytes(row[2]) for row in rows), dtype=np.int8).reshape(-1, dimension),
    )


def joined(blocks: Iterable[Block], *, dimension: int) -> Block:
    every = [block_of([], dimension=dimension), *blocks]
    return Block(
        ids=np.concatenate([block.ids for block in every]),
        norms=np.concatenate([block.norms for block in every]),
        data=np.concatenate([block.data for block in every]),
    )


def quantised(ids: Sequence[int], vectors: Vectors) -> Block:
    """Write vectors in bytes; one of zeros stays one of zeros."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    data = np.rint(vectors * (_LARGEST_BYTE / np.where(largest == 0, 1.0, largest))).astype(np.int8)
    norms = np.square(data.astype(np.int32)).sum(axis=1, dtype=np.int32)
    return Block(ids=np.array(ids, dtype=np.int64), norms=norms, data=data)
