"""Word vectors from a table: the mean of its rows, read straight from the wheel `wordllama`.

The package itself is never imported: its loader may ask the network. Of its wheel two files are read, the table
(32,000 × 256, half precision, mapped and so shared by all processes) and the tokenizer.
"""

import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memories.search.embedding.base import EmbedderUnavailable, Vectors, normalised, says_something
from memories.search.embedding.installed import file_in, is_installed, version_of

PACKAGE: Final = "wordllama"
DIMENSION: Final = 256
_ARITHMETIC: Final = 1
_TABLE: Final = ("weights", "l2_supercat_256.safetensors")
_TOKENIZER: Final = ("tokenizers", "l2_supercat_tokenizer_config.json")


def missing_packages() -> tuple[str, ...]:
    has_files = file_in(PACKAGE, *_TABLE) is not None and file_in(PACKAGE, *_TOKENIZER) is not None
    there = {PACKAGE: has_files, "tokenizers": is_installed("tokenizers")}
    return tuple(name for name, found in there.items() if not found)


class StaticEmbedder:
    """A table of English first; a text costs little more than its tokens, and its whole length counts."""

    dimension: Final = DIMENSION

    @property
    def name(self) -> str:
        return f"wordllama-{DIMENSION}-{version_of(PACKAGE)}-{_ARITHMETIC}"

    def in_place(self, texts: Sequence[str]) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            if says_something(text):
                rows[row] = self._mean_of(text)
        return normalised(rows)

    def embed_question(self, text: str) -> Vectors:
        return self.embed([text])

    def _mean_of(self, text: str) -> NDArray[np.float32]:
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids
        mean: NDArray[np.float32] = self._table[tokens].mean(axis=0, dtype=np.float32)
        return mean

    @cached_property
    def _table(self) -> NDArray[np.float16]:
        return table_in(_there(file_in(PACKAGE, *_TABLE)), dimension=DIMENSION)

    @cached_property
    def _tokenizer(self) -> Any:
        return tokenizer_in(_there(file_in(PACKAGE, *_TOKENIZER)))


def table_in(path: Path, *, dimension: int) -> NDArray[np.float16]:
    """Map the one half-precision table of a safetensors file: its length, a JSON header, then the bytes.

    Raises: EmbedderUnavailable if the file is not of that form.
    """
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
        (about,) = (about for name, about in header.items() if name != "__metadata__")
        rows, columns = about["shape"]
        if about["dtype"] != "F16" or columns != dimension:
            raise EmbedderUnavailable(f"{path.name} holds {about['dtype']} of {rows} × {columns}")
        start = 8 + size + about["data_offsets"][0]
        return np.memmap(path, dtype="<f2", mode="r", offset=start, shape=(rows, columns))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedderUnavailable(f"{path.name} cannot be read: {type(error).__name__}") from error


def tokenizer_in(path: Path) -> Any:
    """Read a tokenizer that neither pads nor cuts.

    Raises: EmbedderUnavailable if it cannot be read.
    """
    # Its threads are of no use for one text at a time, and a fork after their start is warned of.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise EmbedderUnavailable(f"{path.name} cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _there(path: Path | None) -> Path:
    if path is None:
        raise EmbedderUnavailable(f"{PACKAGE} is not installed")
    return path
