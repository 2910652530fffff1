"""What an embedder is, and what all of them share.

An embedder's name stands for everything that shapes its vectors: change the model or the arithmetic, change the name.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cortex.errors import Unavailable

Vectors = NDArray[np.float32]
_Part = TypeVar("_Part", str, Sequence[int])

UNKNOWN: Final = "unknown"

leaving: Final = threading.Event()
"""Set once this process ends: a model that runs on while the process is taken down would crash it."""


class EmbedderUnavailable(Unavailable):
    """A model that cannot be loaded or does not answer; what is asked for can be done later, or by words alone."""


class Embedder(Protocol):
    """Texts in, one unit vector each out."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int:
        """How long a vector is.

        Raises: EmbedderUnavailable where only the model's first answer can tell, and there was none yet.
        """
        ...

    def in_place(self, texts: Sequence[str]) -> bool:
        """Tell whether embedding these takes no longer than a write may; others wait for the queue."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, of length 1; a text without a letter or digit gives a row of zeros.

        Raises: EmbedderUnavailable.
        """
        ...

    def embed_question(self, text: str) -> Vectors:
        """Return the one row that a text is searched by; some models tell questions from what they ask for.

        Raises: EmbedderUnavailable.
        """
        ...


def normalised(rows: NDArray[Any]) -> Vectors:
    """Scale each row to length 1; one of zeros stays one of zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths == 0, 1.0, lengths)).astype(np.float32)


def go_on() -> None:
    """Raises: EmbedderUnavailable once the process ends."""
    if leaving.is_set():
        raise EmbedderUnavailable("the server is being stopped")


def says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def windows(whole: _Part, size: int, *, most: int) -> Iterator[_Part]:
    """Cut a text, or its tokens, into windows that a model reads at once.

    Args:
        most: of a longer text so many are taken, evenly spread from the first to the last.
    """
    starts = range(0, max(1, len(whole)), size)
    count = min(most, len(starts))
    for number in range(count):
        start = starts[number * (len(starts) - 1) // max(1, count - 1)]
        yield whole[start : start + size]
