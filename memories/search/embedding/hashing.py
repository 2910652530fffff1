"""The embedder that needs no model: signed feature hashing of stems and pieces of words."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memories.core.text import content_terms
from memories.search.embedding.base import Vectors, normalised

HASH_DIMENSION: Final = 1_024
SMALLEST_GRAM: Final = 3
LARGEST_GRAM: Final = 5
GRAMS_WEIGHT: Final = 0.5  # of a word's pieces together, beside 1 for the word itself
_BATCH: Final = 256


class HashEmbedder:
    """Signed feature hashing of stems and of the 3- to 5-character pieces of words.

    Needs no model and gives the same vectors in every process; pieces let a typing error or an unknown
    inflection still come near.
    """

    name: Final = "hash-1"
    dimension: Final = HASH_DIMENSION

    def in_place(self, texts: Sequence[str]) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> Vectors:
        blocks = [self._embed(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self.dimension), dtype=np.float32)

    def embed_question(self, text: str) -> Vectors:
        return self.embed([text])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        cells: list[int] = []
        words: list[NDArray[np.int32]] = []
        weights: list[Vectors] = []
        for row, text in enumerate(texts):
            counts = Counter(content_terms(text))
            cells.extend(repeat(row * self.dimension, len(counts)))
            for term, times in counts.items():
                places, values = _word_features(term)
                words.append(places)
                weights.append(values if times == 1 else values * _sublinear(times))
        if not words:
            return np.zeros((len(texts), self.dimension), dtype=np.float32)
        offsets = np.repeat(np.array(cells), [len(places) for places in words])
        size = len(texts) * self.dimension
        sums = np.bincount(offsets + np.concatenate(words), weights=np.concatenate(weights), minlength=size)
        return normalised(sums.reshape(len(texts), self.dimension).astype(np.float64, copy=False))


@lru_cache(maxsize=32_768)
def _word_features(term: str) -> tuple[NDArray[np.int32], Vectors]:
    """Return a word's places and signed weights: its own, and its pieces'."""
    pieces = _pieces(term)
    features = np.array([_feature(f"w {term}"), *(_feature(f"g {piece}") for piece in pieces)])
    weights = np.full(len(features), GRAMS_WEIGHT / max(1.0, len(pieces) ** 0.5), dtype=np.float32)
    weights[0] = 1.0
    return (features >> 1).astype(np.int32), weights * (1 - 2 * (features & 1)).astype(np.float32)


def _pieces(term: str) -> list[str]:
    """Cut a word into its pieces; numbers have none, for 60 is not nearly 600."""
    if len(term) < SMALLEST_GRAM or not term.isalpha():
        return []
    edged = f"<{term}>"
    return [
        edged[start : start + size]
        for size in range(SMALLEST_GRAM, LARGEST_GRAM + 1)
        for start in range(len(edged) - size + 1)
    ]


def _feature(feature: str) -> int:
    """Return a place below the dimension, doubled, with a sign in the lowest bit."""
    digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") % (2 * HASH_DIMENSION)


def _sublinear(times: int) -> np.float32:
    return np.float32(1.0 + np.log(times))
