"""Vectors from a server of one's own choice: any `POST …/embeddings` in the form that OpenAI gave it.

Texts leave the machine for that server, so it is used only where CORTEX_EMBEDDER says so. Where it does not answer,
reads go on by words alone and what was written waits; for a while after that nobody is kept waiting for it again.
"""

import http.client
import logging
import time
import urllib.error
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from memories.outside import post_json, said_of
from memories.search.embedding.base import EmbedderUnavailable, Vectors, normalised, says_something, windows
from memories.search.embedding.common import SENTENCES

WINDOW_CHARACTERS: Final = 2_000
SHORTEST_WINDOW: Final = 250
MOST_WINDOWS: Final = 8
TEXTS_AT_ONCE: Final = 32
BATCH_SECONDS: Final = 60.0  # nobody waits for these
QUIET_SECONDS: Final = 15.0  # after a failure, how long a question is not even asked
MODEL_LENGTH: Final = 80
_REFUSED: Final = frozenset({400, 413, 422})  # the text, not the server, is to blame
_PLAIN: Final = "text"  # what any model takes

log = logging.getLogger(__name__)


class _RefusedText(Exception):
    """The server does not take these inputs, most likely because one is too long for its model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where to ask, as the settings say.

    Args:
        url: with or without `/embeddings` at its end.
        model: empty where the server has only one.
        seconds: how long a question waits for its vector.
    """

    url: str
    key: str = ""
    model: str = ""
    seconds: float = 5.0

    @property
    def address(self) -> str:
        base = self.url.rstrip("/")
        return base if base.endswith("/embeddings") else f"{base}/embeddings"

    @property
    def name(self) -> str:
        """Name the model; one that has no name is known by its address."""
        if 0 < len(self.model) <= MODEL_LENGTH:
            return f"endpoint {self.model}"
        return f"endpoint {blake2b(f'{self.address} {self.model}'.encode(), digest_size=8).hexdigest()}"


class EndpointEmbedder:
    """Asks in batches; learns the dimension from the first answer. Of a long text, the mean of its windows."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._dimension: int | None = None
        self._common = np.zeros(0, dtype=np.float32)
        self._quiet_until = 0.0  # by the monotonic clock

    @property
    def name(self) -> str:
        return self._endpoint.name

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            raise EmbedderUnavailable("the embedding server has not answered yet")
        return self._dimension

    def in_place(self, texts: Sequence[str]) -> bool:
        return False

    def embed(self, texts: Sequence[str]) -> Vectors:
        parts = [
            (row, part)
            for row, text in enumerate(texts)
            if says_something(text)
            for part in windows(text, WINDOW_CHARACTERS, most=MOST_WINDOWS)
        ]
        vectors = [
            vector
            for start in range(0, len(parts), TEXTS_AT_ONCE)
            for vector in self._vectors_of([part for _, part in parts[start : start + TEXTS_AT_ONCE]])
        ]
        return self._means([row for row, _ in parts], vectors, count=len(texts), seconds=BATCH_SECONDS)

    def embed_question(self, text: str) -> Vectors:
        if time.monotonic() < self._quiet_until:
            raise EmbedderUnavailable("the embedding server did not answer a moment ago")
        if not says_something(text):
            return np.zeros((1, self.dimension), dtype=np.float32)
        seconds = self._endpoint.seconds
        vectors = self._vectors_of([text[:WINDOW_CHARACTERS]], seconds=seconds)
        return self._means([0], vectors, count=1, seconds=seconds)

    def _means(
        self, rows: Sequence[int], vectors: Sequence[Vectors | None], *, count: int, seconds: float
    ) -> Vectors:
        """Sum what belongs to one text; a window that the server would not take adds nothing."""
        common = self._common_part(seconds)
        sums = np.zeros((count, self.dimension), dtype=np.float32)
        for row, vector in zip(rows, vectors, strict=True):
            if vector is not None and len(vector) == sums.shape[1]:
                sums[row] += vector - common
        return normalised(sums)

    def _common_part(self, seconds: float) -> Vectors:
        """Return what this model finds in any text, asked for once."""
        if self._dimension is None or len(self._common) != self._dimension:
            rows = [row for row in self._vectors_of(SENTENCES, seconds=seconds) if row is not None]
            none = np.zeros(self.dimension, dtype=np.float32)
            self._common = np.mean(rows, axis=0, dtype=np.float32) if rows else none
        return self._common

    def _vectors_of(self, texts: Sequence[str], *, seconds: float = BATCH_SECONDS) -> list[Vectors | None]:
        """Ask for some texts; where they are refused, for fewer of them, and for less of a single one."""
        try:
            return list(self._ask(texts, seconds=seconds))
        except _RefusedText as error:
            if len(texts) > 1:
                half = len(texts) // 2
                return [
                    vector
                    for some in (texts[:half], texts[half:])
                    for vector in self._vectors_of(some, seconds=seconds)
                ]
            if len(texts[0]) > SHORTEST_WINDOW:
                return self._vectors_of([texts[0][: len(texts[0]) // 2]], seconds=seconds)
            self._require_willing(error, seconds=seconds)
            log.warning("the embedding server refuses a text", extra={"error": str(error)})
            return [None]

    def _require_willing(self, refusal: _RefusedText, *, seconds: float) -> None:
        """Raises: EmbedderUnavailable where it refuses any text, as some do where the model has a wrong name."""
        try:
            list(self._ask([_PLAIN], seconds=seconds))
        except _RefusedText:
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            raise EmbedderUnavailable(f"the embedding server refuses every text: {refusal}") from None

    def _ask(self, texts: Sequence[str], *, seconds: float) -> Iterator[Vectors]:
        try:
            body = self._post({"input": list(texts)}, seconds=seconds)
            rows = _rows_of(body, count=len(texts))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            raise EmbedderUnavailable(f"the embedding server does not answer: {said_of(error)}") from error
        self._quiet_until = 0.0
        self._learn(rows.shape[1])
        yield from normalised(rows)

    def _learn(self, dimension: int) -> None:
        if self._dimension not in {None, dimension}:
            log.warning(
                "the embedding server answers vectors of another length",
                extra={"before": self._dimension, "now": dimension},
            )
        self._dimension = dimension

    def _post(self, body: Mapping[str, Any], *, seconds: float) -> Any:
        """Send one request and read its answer, all within so many seconds.

        Raises: _RefusedText where the server finds fault with the input; OSError, HTTPException or ValueError
            where it does not answer, or something else than JSON.
        """
        named = {"model": self._endpoint.model} if self._endpoint.model else {}
        address, key = self._endpoint.address, self._endpoint.key
        try:
            return post_json(address, {**body, **named}, key=key, seconds=seconds)
        except urllib.error.HTTPError as error:
            if error.code in _REFUSED:
                raise _RefusedText(f"HTTP {error.code}") from None
            raise


def _rows_of(body: Any, *, count: int) -> Vectors:
    """Read `{"data": [{"index", "embedding"}…]}`, in the order of the inputs.

    Raises: ValueError if it is anything else.
    """
    try:
        data = sorted(body["data"], key=lambda item: item.get("index", 0))
        rows = np.array([item["embedding"] for item in data], dtype=np.float32)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ValueError("the answer holds no embeddings") from None
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1] or not np.isfinite(rows).all():
        raise ValueError("the answer holds other embeddings than were asked for")
    return rows
