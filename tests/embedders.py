"""Embedders for tests: one that is slow, and a server of embeddings on a free port that can misbehave."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memories.search.embedding import HashEmbedder, Vectors
from memories.search.embedding.common import SENTENCES


class SlowEmbedder:
    """The hash embedder under another name, for which every write waits."""

    name = "slow-1"
    dimension = HashEmbedder.dimension

    def __init__(self) -> None:
        self.read: list[str] = []

    def in_place(self, texts: Sequence[str]) -> bool:
        return False

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.read += texts
        return HashEmbedder().embed(texts)

    def embed_question(self, text: str) -> Vectors:
        return HashEmbedder().embed([text])


@dataclass(slots=True)
class Stub:
    """What the server does next, and what it was asked."""

    url: str = ""
    dimension: int = 64
    status: int = 200
    answer: Any = None  # instead of vectors
    longest: int = 1_000_000  # characters; more is refused as many servers do
    delay: threading.Event | None = None  # waited for before each answer
    shift: float = 0.01  # added to the first place of all vectors, so that none is all zeros
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request["input"]]


@contextmanager
def embedding_server() -> Iterator[Stub]:
    """Serve POST /v1/embeddings: the hash embedder's first places, not normalised, in reverse order."""
    stub = Stub()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if body["input"] != list(SENTENCES):  # asked once by every embedder, on its own account
                stub.requests.append(body)
                stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            if stub.delay is not None:
                stub.delay.wait(10)
            too_long = any(len(text) > stub.longest for text in body["input"])
            with suppress(BrokenPipeError):  # who asked did not wait for it
                self._send(400 if too_long else stub.status, _answer(stub, body["input"]))

        def _send(self, status: int, answer: Any) -> None:
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status in {301, 302, 307, 308}:
                self.send_header("Location", f"{stub.url}/elsewhere")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(stub: Stub, texts: Sequence[str]) -> Any:
    if stub.answer is not None:
        return stub.answer
    rows = HashEmbedder().embed(texts)[:, : stub.dimension] * 3
    rows[:, 0] += stub.shift
    data = [{"index": index, "embedding": row.tolist()} for index, row in enumerate(rows)]
    return {"object": "list", "data": data[::-1]}
