"""Models change and fail, and nothing is lost or mixed by it (K1, K2); starting waits for no vector (N10).

What narrows a search narrows it before the limit: one valid row behind thousands of nearer ones (K5).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from memories.core.kinds import Kind, Status, layer_of
from memories.core.text import content_hash, hash_terms, pack_hashes, terms
from memories.models import LooseVector, Memory, Source, Vault
from memories.search import backlog
from memories.search.embedding import HashEmbedder, Vectors
from memories.search.facade import index_memories
from tests.clients import Api, api_of
from tests.embedders import SlowEmbedder, Stub, embedding_server
from tests.factories import LONG_AGO, make_memory
from tests.wire.asking import query, refs, smp

pytestmark = pytest.mark.django_db

NEARER = 1_500  # more than any arm answers at once
TASK = "harbour crane inspection"
VALID = "Among much else that was noted there stands the harbour crane inspection of the north quay"


def crowd(vault: Vault, **fields: Any) -> None:
    """Store thousands of memories that say nothing but the task's own words."""
    kind = fields.pop("kind", Kind.CLAIM)
    rows = [
        Memory(
            vault=vault,
            content=(text := f"Harbour crane inspection {number}"),
            kind=kind,
            content_hash=content_hash(text),
            term_hashes=pack_hashes(hash_terms(terms(text))),
            **({"layer": layer_of(kind), "status": Status.APPROVED, "true_since": LONG_AGO,
                "captured_at": LONG_AGO, "recorded_at": LONG_AGO} | fields),
        )
        for number in range(NEARER)
    ]  # fmt: skip
    Memory.objects.bulk_create(rows)
    Source.objects.bulk_create(
        Source(vault=vault, memory=row, url="https://example.org/note") for row in rows
    )
    index_memories(vault, [(row.pk, row.content) for row in rows])


@pytest.fixture
def api():
    return api_of()


@pytest.mark.parametrize(
    ("nearer", "asked"),
    [
        ({"status": Status.ARCHIVED}, {}),
        ({"redacted_at": LONG_AGO}, {}),
        ({"expires_at": LONG_AGO}, {}),
        ({"valid_to": LONG_AGO + timedelta(days=1)}, {}),
        ({"true_since": LONG_AGO + timedelta(days=9)}, {"as_of": (LONG_AGO + timedelta(days=2)).isoformat()}),
        ({"project": "barn"}, {"project": "hall"}),
        ({"kind": Kind.EVENT}, {"layers": ["procedural"]}),
    ],
    ids=lambda value: "-".join(map(str, value)) or "nothing",
)
def test_the_one_valid_row_is_found(api, nearer, asked):
    crowd(api.vault, **nearer)
    ref = make_memory(api.vault, content=VALID, kind=Kind.PROCEDURE, project="hall").ref
    assert refs(query(api, find=TASK, k=5, **asked)) == [ref]
    for model in (None, "claude"):
        assert refs(smp(api, TASK, model=model, **asked)) == [ref]


def test_another_vaults_crowd_hides_nothing(api):
    crowd(api_of().vault)
    ref = make_memory(api.vault, content=VALID).ref
    assert refs(query(api, find=TASK, k=5)) == refs(smp(api, TASK)) == [ref]


def test_a_crowd_of_another_project_hides_nothing_from_a_limited_token(api):
    crowd(api.vault, project="barn")
    ref = make_memory(api.vault, content=VALID, project="hall").ref
    limited = api_of(api.vault, projects=["hall"])
    assert refs(query(limited, find=TASK, k=5)) == refs(smp(limited, TASK)) == [ref]


# -- K1, K2: another model -----------------------------------------------------------------------


class Turned(SlowEmbedder):
    """Another model: of the same dimension all is turned around, of another it is cut."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.name, self.dimension = "turned", dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        return HashEmbedder().embed(texts)[:, ::-1][:, : self.dimension]

    def embed_question(self, text: str) -> Vectors:
        return self.embed([text])


def use(monkeypatch: pytest.MonkeyPatch, embedder: Any) -> None:
    for module in ("vectors", "backlog", "worker"):
        monkeypatch.setattr(f"memories.search.{module}.active_embedder", lambda: embedder)


def stated(api: Api, task: str) -> list[str]:
    found: list[str] = smp(api, task)["coverage"].get("stated", [])
    return found


@pytest.mark.parametrize("dimension", [1_024, 512])
def test_another_model_is_said_loses_nothing_and_is_caught_up_with(api, monkeypatch, dimension):
    old = api.remember("The harbour crane was inspected")["ref"]
    use(monkeypatch, Turned(dimension))
    new = api.remember("The harbour master is Bo")["ref"]
    assert set(refs(query(api, find="harbour"))) == {old, new}  # by their words
    (told, waits) = stated(api, "harbour")
    assert told.startswith("1 memories await re-embedding")
    assert waits.startswith("1 memories await embedding")
    assert api.get("stats").json()["pending_vectors"] == 2
    assert (
        LooseVector.objects.filter(vault=api.vault, model="hash-1").count() == 1
    )  # kept until it is replaced
    assert [advance.done for advance in backlog.work_off(api.vault.pk)] == [2]
    assert stated(api, "harbour") == []
    assert api.get("stats").json()["pending_vectors"] == 0
    assert set(LooseVector.objects.values_list("model", "dimension")) == {("turned", dimension)}


# -- A server of embeddings that fails -----------------------------------------------------------


@pytest.fixture
def stub(settings):
    with embedding_server() as running:
        settings.CORTEX_EMBEDDER = "endpoint"
        settings.CORTEX_EMBED_URL = running.url
        yield running


def test_a_failing_server_is_said_and_loses_no_write(api, stub: Stub):
    stub.status, stub.dimension = 500, HashEmbedder.dimension
    ref = api.remember("The harbour crane was inspected")["ref"]
    assert refs(query(api, find="harbour")) == [ref]
    (told,) = stated(api, "harbour")
    assert told.startswith("the embedding server did")
    stats = api.get("stats").json()
    assert stats["pending_vectors"] == 1
    assert stats["embedder"]["dimension"] is None
    assert api.client.get("/readyz").json()["pending_vectors"] == 1
    stub.status = 200
    list(backlog.work_off(api.vault.pk))
    assert stated(api, "harbour") == []
    assert refs(query(api, find="crane inspections")) == [ref]
    told = api.delete(f"memories/{ref}").json()
    assert (told["erased"]["vectors"], told["probes"]["vectors"]) == (1, 0)


# -- N10: a cold start ---------------------------------------------------------------------------


def test_readiness_tells_what_waits_and_is_ready(api, monkeypatch):
    use(monkeypatch, SlowEmbedder())
    monkeypatch.setattr("cortex.health._PENDING_SECONDS", 0)
    api.remember("The harbour crane was inspected")
    response = api.client.get("/readyz")
    assert response.status_code == 200
    assert (response.json()["vectors"], response.json()["pending_vectors"]) == ("indexing", 1)
    list(backlog.work_off(api.vault.pk))
    body = api.client.get("/readyz").json()
    assert (body["vectors"], body["pending_vectors"]) == ("ok", 0)
