"""A server of embeddings: what it is asked, what is made of its answers, and what happens when it gives none."""

import threading

import numpy as np
import pytest

from memories.search.embedding import EmbedderUnavailable, HashEmbedder, active_embedder
from memories.search.embedding import endpoint as endpoints
from memories.search.embedding.endpoint import Endpoint, EndpointEmbedder
from tests.embedders import Stub, embedding_server


@pytest.fixture
def stub():
    with embedding_server() as running:
        yield running


def embedder_of(stub: Stub, **about) -> EndpointEmbedder:
    return EndpointEmbedder(Endpoint(url=stub.url, **about))


def test_it_gives_one_unit_vector_per_text_in_their_order(stub):
    texts = [f"memory number {number} of Ana" for number in range(70)]
    rows = embedder_of(stub).embed(texts)
    assert rows.shape == (70, 64)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    alone = embedder_of(stub).embed([texts[41]])[0]
    assert rows[41] == pytest.approx(alone, abs=1e-6)
    assert [len(request["input"]) for request in stub.requests[:3]] == [32, 32, 6]


def test_the_dimension_is_learnt_from_the_first_answer(stub):
    stub.dimension = 48
    embedder = embedder_of(stub)
    with pytest.raises(EmbedderUnavailable, match="not answered yet"):
        assert embedder.dimension
    assert embedder.embed(["?!"]).shape == (1, 48)
    assert embedder.embed_question("?!").shape == (1, 48)
    assert embedder.dimension == 48
    assert embedder.embed([]).shape == (0, 48)
    assert stub.texts == []
    stub.dimension = 32  # another model stands behind the same address now
    assert embedder.embed(["red door"]).shape == (1, 32)
    assert embedder.dimension == 32


def test_the_request_names_the_model_and_carries_the_key(stub):
    embedder_of(stub, model="small-3", key="s3cret").embed(["red door"])
    assert stub.requests == [{"input": ["red door"], "model": "small-3"}]
    assert stub.headers[0]["authorization"] == "Bearer s3cret"
    embedder_of(stub).embed(["red door"])
    assert stub.requests[1] == {"input": ["red door"]}
    assert "authorization" not in stub.headers[1]


def test_a_text_without_content_is_not_sent(stub):
    embedder = embedder_of(stub)
    rows = embedder.embed(["???", "red door", ""])
    assert stub.texts == ["red door"]
    assert [bool(row.any()) for row in rows] == [False, True, False]
    assert not embedder.embed_question("?!").any()


def test_a_long_text_is_the_mean_of_its_windows(stub):
    stub.dimension = HashEmbedder.dimension
    embedder = embedder_of(stub)
    begin, end = "red door " * 200, "blue wall " * 200
    (row,) = embedder.embed([begin + end])
    halves = embedder.embed([begin, end])
    assert max(len(text) for text in stub.texts) <= endpoints.WINDOW_CHARACTERS
    assert min(float(row @ half) for half in halves) > 0.3
    stub.requests.clear()
    embedder.embed(["red door " * 20_000])
    assert len(stub.texts) == endpoints.MOST_WINDOWS


def test_a_text_that_is_refused_is_sent_shorter_and_the_others_keep_theirs(stub):
    stub.longest = 300
    long, short = "red door and blue wall " * 60, "Bread needs flour"
    rows = embedder_of(stub).embed([short, long])
    assert rows[0] == pytest.approx(embedder_of(stub).embed([short])[0], abs=1e-6)
    assert rows[1].any()
    stub.longest = 100  # less than it is ever cut to: searched by its words alone, it waits no longer
    rows = embedder_of(stub).embed([short, long])
    assert [bool(row.any()) for row in rows] == [True, False]


def test_what_a_model_finds_in_any_text_is_left_out(stub):
    stub.dimension, stub.shift = HashEmbedder.dimension, 6.0  # all its vectors point much the same way
    first, near, far = embedder_of(stub).embed(
        ["The red door is locked", "the red door", "Bread needs flour"]
    )
    assert float(first @ near) > 0.5
    assert abs(float(first @ far)) < 0.2


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_server_that_refuses_every_text_is_unavailable(stub, status):
    stub.status = status  # as some do where the model's name is wrong
    with pytest.raises(EmbedderUnavailable, match=f"refuses every text: HTTP {status}"):
        embedder_of(stub).embed(["red door", "blue wall"])
    assert len(stub.requests) <= 4


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>", {}, [], {"data": []}, {"data": [{"embedding": "abc"}]}, {"data": [{"embedding": []}]},
        {"data": [{"embedding": [1, float("nan")]}]}, {"data": [{"embedding": [1]}, {"embedding": [2]}]},
        {"data": [{"embedding": [[1.0]]}]}, {"data": None},
    ],
)  # fmt: skip
def test_an_answer_that_holds_no_embeddings_is_a_server_that_does_not_answer(stub, answer):
    stub.answer = answer
    with pytest.raises(EmbedderUnavailable):
        embedder_of(stub).embed(["red door"])


@pytest.mark.parametrize("status", [301, 307, 401, 404, 429, 500, 503])
def test_an_error_is_named_without_the_address(stub, status):
    stub.status = status
    with pytest.raises(EmbedderUnavailable) as refused:
        embedder_of(stub, key="s3cret").embed(["red door"])
    assert refused.value.detail == f"the embedding server does not answer: HTTP {status}"
    assert len(stub.requests) == 1  # no redirect was followed, and the key went nowhere else


def test_after_a_failure_no_question_waits_for_a_while(stub, monkeypatch):
    embedder = embedder_of(stub)
    stub.status = 500
    for _ in range(3):
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_question("red door")
    assert len(stub.requests) == 1
    stub.status = 200
    embedder.embed(["red door"])  # what nobody waits for is tried all the same, and ends the silence
    assert embedder.embed_question("red door").any()
    monkeypatch.setattr(endpoints, "QUIET_SECONDS", 0.0)
    stub.status = 500
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_question("red door")
    assert len(stub.requests) == 5


def test_a_server_that_is_silent_is_waited_for_so_long_and_no_longer(stub):
    stub.delay = threading.Event()
    try:
        with pytest.raises(EmbedderUnavailable, match="TimeoutError"):
            embedder_of(stub, seconds=0.1).embed_question("red door")
    finally:
        stub.delay.set()


def test_a_server_that_is_not_there_is_unavailable():
    with pytest.raises(EmbedderUnavailable, match="ConnectionRefusedError"):
        EndpointEmbedder(Endpoint(url="http://127.0.0.1:9/v1")).embed(["red door"])


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://x/v1", "http://x/v1/embeddings"),
        ("http://x/v1/", "http://x/v1/embeddings"),
        ("http://x/v1/embeddings", "http://x/v1/embeddings"),
    ],
)
def test_the_address_is_completed(url, address):
    assert Endpoint(url=url).address == address


def test_its_name_tells_models_apart():
    first, second = Endpoint(url="http://x/v1", model="small"), Endpoint(url="http://y/v1", model="small")
    assert first.name == second.name == "endpoint small"  # the same model, moved
    names = {
        Endpoint(url=url, model=model).name for url in ("http://x", "http://y") for model in ("", "m" * 200)
    }
    assert len(names) == 4
    assert max(map(len, names)) <= 100


def test_the_settings_choose_it(stub, settings):
    settings.CORTEX_EMBEDDER = "endpoint"
    settings.CORTEX_EMBED_URL, settings.CORTEX_EMBED_MODEL = stub.url, "small-3"
    embedder = active_embedder()
    assert embedder is not None
    assert embedder is active_embedder()
    assert embedder.name == "endpoint small-3"
    assert not embedder.in_place(["red door"])
    assert HashEmbedder().in_place(["red door"])
