"""Memories in their threads: which stand side by side, and what each gains from its neighbours.

A thread is a conversation, a document, a meeting. What its members say is understood together: an answer has its
question's words before it, a pronoun its name. Everything here works on arrays over the rows of one layout, in
thread order; a memory without a thread stands alone and loses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The rows that may be matched, thread by thread, each thread in the order of its positions."""

    ids: Integers  # memory ids
    order: Integers  # for each row its place in what the layout was made of
    threads: Integers  # for each row the number of its thread, from 0
    starts: Integers  # the first row of each thread
    _sorted_ids: Integers
    _rows_of_sorted: Integers

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """Return the rows of memory ids, and which of the ids have one; the others' rows mean nothing."""
        if not len(self.ids):
            return np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=bool)
        places = np.searchsorted(self._sorted_ids, ids).clip(max=len(self.ids) - 1)
        return self._rows_of_sorted[places], self._sorted_ids[places] == ids

    def spread(self, ids: Integers, values: NDArray[np.float64]) -> Floats:
        """Lay values of memory ids out over the rows; what has none is 0.

        Args:
            values: one for each id, or one row of values for each.
        """
        rows, present = self.rows_of(ids)
        laid_out = np.zeros((len(self.ids), *values.shape[1:]))
        laid_out[rows[present]] = values[present]
        return laid_out


def lay_out(members: Sequence[tuple[int, str | None, int | None]]) -> Layout:
    """Arrange memories by thread and position.

    Args:
        members: memory id, thread and position; without a position a memory stands at the end of its thread.
    """
    numbers: dict[str, int] = {}
    alone = len(members)  # numbers from here on are those of memories without a thread
    threads = np.fromiter(
        (
            place + alone if thread is None else numbers.setdefault(thread, len(numbers))
            for place, (_, thread, _) in enumerate(members)
        ),
        dtype=np.int64,
        count=len(members),
    )
    last = np.iinfo(np.int64).max
    positions = np.fromiter(
        (last if position is None else position for _, _, position in members), np.int64, count=len(members)
    )
    ids = np.fromiter((pk for pk, _, _ in members), np.int64, count=len(members))
    order = np.lexsort((ids, positions, threads))
    return laid_out(ids[order], threads[order], order=order)


def laid_out(ids: Integers, threads: Integers, *, order: Integers) -> Layout:
    """Make a layout of rows that stand in thread order already.

    Args:
        threads: for each row the number of its thread.
        order: for each row its place in what the caller reads it from.
    """
    first = np.ones(len(ids), dtype=bool)
    first[1:] = threads[1:] != threads[:-1]
    by_id = np.argsort(ids)
    return Layout(
        ids=ids,
        order=order,
        threads=np.cumsum(first) - 1,
        starts=np.flatnonzero(first),
        _sorted_ids=ids[by_id],
        _rows_of_sorted=by_id,
    )


def best_nearby(layout: Layout, values: Floats, *, before: int, after: int) -> Floats:
    """Return each row's values, or better ones of its neighbours in the thread.

    Args:
        values: rows × terms.
        before, after: how many neighbours on either side count.
    """
    best = values.copy()
    for distance in range(1, max(before, after) + 1):
        near, far = layout.threads[distance:], layout.threads[:-distance]
        same = near == far
        if not same.any():
            break  # no thread is so long
        together = same[:, np.newaxis]
        if distance <= before:  # the row itself comes later than its neighbour
            np.maximum(best[distance:], values[:-distance], out=best[distance:], where=together)
        if distance <= after:
            np.maximum(best[:-distance], values[distance:], out=best[:-distance], where=together)
    return best


def best_in_thread(layout: Layout, values: Floats) -> Floats:
    """Return for each row the best of each term in its thread (rows × terms)."""
    if not len(layout):
        return values
    best: Floats = np.maximum.reduceat(values, layout.starts, axis=0)
    return best[layout.threads]


def mean_of_nearest(layout: Layout, values: Floats, *, count: int) -> Floats:
    """Return for each row the mean of the best `count` values in its thread, of fewer where it is shorter."""
    if not len(layout):
        return values
    order = np.lexsort((-values, layout.threads))  # threads stay where they are
    rank = np.arange(len(values)) - layout.starts[layout.threads]
    counted = np.where(rank < count, values[order], 0.0)
    sizes = np.diff(np.append(layout.starts, len(values))).clip(max=count)
    means: Floats = np.add.reduceat(counted, layout.starts) / sizes
    return means[layout.threads]
