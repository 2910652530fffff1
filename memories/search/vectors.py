"""The vector index: which memories are near a task in meaning, measured exactly over a whole vault.

The rules:

- Every vector carries the name and the dimension of its model. Those of another model are never compared: the
  answer states how many memories are therefore searched by their words alone.
- Similarities are exact, over all rows of the vault; which of them count is for the caller to say.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from memories.search import chunks
from memories.search.blocks import Block, Ids, quantised
from memories.search.embedding import Embedder, EmbedderUnavailable, active_embedder

_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarities:
    """The cosines between a task and every memory of a vault that has a vector, by memory id.

    `stale` memories have vectors of another model only, `waiting` ones of those expected none at all; neither are
    among them. `silent` says why the model gave no vector for the task itself.
    """

    ids: Ids
    cosines: NDArray[np.float64]
    stale: int = 0
    waiting: int = 0
    silent: str = ""

    @property
    def stated(self) -> tuple[str, ...]:
        return _told_of(stale=self.stale, waiting=self.waiting, silent=self.silent)


# -- Writing -------------------------------------------------------------------------------------


def store(rows: Sequence[tuple[int, str]], *, vault_id: str) -> int:
    """Make memories findable by meaning.

    Args:
        rows: memory id and text; what was stored under an id by the same model is replaced.
    Returns: how many vectors were made; none where no embedder is in use.
    """
    made = embedded(rows)
    if made is None:
        return 0
    keep(made, vault_id=vault_id)
    return len(made.block)


def store_or_leave(rows: Sequence[tuple[int, str]], *, vault_id: str) -> frozenset[int]:
    """Embed new memories at once where that takes no longer than a write may; else they wait without a vector.

    Args:
        rows: memory id and text.
    Returns: the ids that wait; a model that does not answer fails no write.
    """
    embedder = active_embedder()
    ids = frozenset(pk for pk, _ in rows)
    if embedder is None or not ids:
        return frozenset()
    if embedder.in_place([text for _, text in rows]):
        with suppress(EmbedderUnavailable):
            store(rows, vault_id=vault_id)
            return frozenset()
    return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Vectors on their way into the index, and the model that made them."""

    block: Block
    name: str
    dimension: int

    def only(self, memory_ids: Collection[int]) -> "Embedded":
        held = np.isin(self.block.ids, np.fromiter(memory_ids, dtype=np.int64, count=len(memory_ids)))
        return replace(self, block=self.block.pick(held))


def embedded(rows: Sequence[tuple[int, str]]) -> Embedded | None:
    """Make vectors, without a database; None where there is nothing to do or no embedder in use.

    Raises: EmbedderUnavailable.
    """
    embedder = active_embedder()
    texts = dict(rows)
    if embedder is None or not texts:
        return None
    made = embedder.embed(list(texts.values()))
    return Embedded(block=quantised(list(texts), made), name=embedder.name, dimension=made.shape[1])


def keep(made: Embedded, *, vault_id: str) -> None:
    """Put vectors into the index; what the same model made of these memories before is replaced."""
    if len(made.block):
        with transaction.atomic(savepoint=False):
            chunks.add(made.block, vault_id=vault_id, model=made)


def remove(vault_id: str, memory_ids: Collection[int]) -> int:
    """Erase memories' vectors, of whatever model.

    Returns: how many vectors went.
    """
    if not memory_ids:
        return 0
    with transaction.atomic(savepoint=False):
        return chunks.erase(vault_id, memory_ids)


def retire_others(vault_id: str) -> None:
    """Erase the vectors of every model but the one in use."""
    embedder = active_embedder()
    if embedder is not None and chunks.has_others(vault_id, model=embedder):
        with transaction.atomic(savepoint=False):
            chunks.erase_others(vault_id, model=embedder)


# -- Asking --------------------------------------------------------------------------------------


def compare(text: str, *, vault_id: str, expected: "Collection[int] | Ids | None" = None) -> Similarities:
    """Compare a text with every memory of a vault; exact, two statements, none where no embedder is in use.

    Args:
        expected: ids of which those without any vector are counted.
    """
    nothing = Similarities(ids=np.zeros(0, dtype=np.int64), cosines=np.zeros(0))
    embedder = active_embedder()
    if embedder is None:
        return nothing
    try:
        asked = quantised([0], embedder.embed_question(text))
        compared = _compare(asked, vault_id, embedder, expected=expected)
    except EmbedderUnavailable as error:
        return replace(nothing, silent=error.detail)
    if not asked.norms[0]:
        return replace(compared, ids=nothing.ids, cosines=nothing.cosines)
    return compared


def holding(text: str, *, vault_id: str, among: Collection[int] | None = None) -> int:
    """Count the memories whose vector is exactly this text's.

    Args:
        among: count only these memories. A slow embedder is not asked again for a text, which some would send
            elsewhere: then all that have a vector of whatever model count.
    """
    embedder = active_embedder()
    if embedder is None:
        return 0
    if among is not None and not embedder.in_place([text]):
        return len(frozenset(among) & frozenset(np.concatenate(chunks.ids_by_name(vault_id)).tolist()))
    asked = quantised([0], embedder.embed([text]))
    if not asked.norms[0]:
        return 0
    blocks = chunks.read(vault_id, embedder, foreign=[])
    held = {pk for block in blocks for pk in block.ids[(block.data == asked.data).all(axis=1)].tolist()}
    return len(held if among is None else held.intersection(among))


def holding_any(texts: Mapping[str, Collection[int]], *, vault_id: str) -> int:
    """Count the memories whose vector is exactly that of a text, each text among some memories only.

    Args:
        texts: text → the memories that count for it.
    Returns: as many as `holding` finds text by text; two statements, a read of the vault's vectors only where some of
        the memories have one.
    """
    among = frozenset(pk for pks in texts.values() for pk in pks)
    if active_embedder() is None:
        return 0
    left = among & frozenset(np.concatenate(chunks.ids_by_name(vault_id)).tolist())
    return sum(
        holding(text, vault_id=vault_id, among=found)
        for text, pks in texts.items()
        if (found := left.intersection(pks))
    )


def pending(vault_id: str, total: int) -> int:
    """Count the memories that cannot be found by meaning yet.

    Args:
        total: how many memories the vault has.
    """
    embedder = active_embedder()
    return max(0, total - len(_embedded(vault_id, embedder))) if embedder else 0


def missing(vault_id: str, memory_ids: Collection[int]) -> frozenset[int]:
    """Return those of the memories that have no vector of the embedder in use; none where none is in use."""
    embedder = active_embedder()
    return frozenset(memory_ids) - _embedded(vault_id, embedder) if embedder else frozenset()


def _embedded(vault_id: str, embedder: Embedder) -> frozenset[int]:
    try:
        model: chunks.Model = embedder
        stored = chunks.stored_ids(vault_id, model)
    except EmbedderUnavailable:  # it has not said yet how long its vectors are
        stored = chunks.ids_by_name(vault_id, embedder.name)
    return frozenset(np.concatenate(stored).tolist())


def _told_of(*, stale: int, waiting: int, silent: str) -> tuple[str, ...]:
    by_words = "searched by their words alone"
    told = {
        f"{stale} memories await re-embedding: they were {by_words}": stale,
        f"{waiting} memories await embedding: they were {by_words}": waiting,
        f"{silent}: all memories were {by_words}": silent,
    }
    return tuple(message for message, holds in told.items() if holds)


def _compare(
    asked: Block, vault_id: str, embedder: Embedder, *, expected: "Collection[int] | Ids | None"
) -> Similarities:
    ids, norms, dots = [], [], []
    foreign: list[Ids] = []
    for block in chunks.read(vault_id, embedder, foreign=foreign):
        ids.append(block.ids)
        norms.append(block.norms)
        dots.append(block.dots(asked.data[0]))
    every = np.concatenate(ids)
    lengths = np.sqrt(np.concatenate(norms).astype(np.float64) * float(asked.norms[0]))
    cosines = (np.concatenate(dots) / np.where(lengths == 0, 1.0, lengths)).round(_DIGITS)
    first = _first_of_each(every)
    stale = len(np.setdiff1d(np.concatenate(foreign), every)) if foreign else 0
    return Similarities(
        ids=every[first],
        cosines=cosines[first],
        stale=stale,
        waiting=_without_vector(expected, [every, *foreign]),
    )


def _without_vector(expected: "Collection[int] | Ids | None", stored: Sequence[Ids]) -> int:
    if expected is None:
        return 0
    wanted = np.array(expected if isinstance(expected, np.ndarray) else list(expected), dtype=np.int64)
    return int(np.isin(wanted, np.concatenate(stored), invert=True).sum())


def _first_of_each(ids: Ids) -> Ids:
    """Return a position for each distinct id: the first one, which is the loose vector's."""
    order = np.argsort(ids, kind="stable")
    fresh = np.ones(len(ids), dtype=bool)
    fresh[1:] = np.diff(ids[order]) != 0
    return order[fresh]
