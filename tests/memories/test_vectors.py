from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memories.models import LooseVector, Memory, SearchDocument, Vault, VectorChunk
from memories.search import chunks, facade, fulltext, vectors
from memories.search.blocks import block_of, joined, quantised, unpacked
from memories.search.embedding import EmbedderUnavailable, HashEmbedder, Vectors
from tests.factories import make_memory, make_vault

pytestmark = pytest.mark.django_db


class OtherEmbedder:
    """Another model: every vector of the hash embedder turned around, or cut to another dimension."""

    def __init__(self, name: str = "other", dimension: int = 1_024) -> None:
        self.name, self.dimension = name, dimension

    def in_place(self, texts: Sequence[str]) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> Vectors:
        return HashEmbedder().embed(texts)[:, ::-1][:, : self.dimension]

    def embed_question(self, text: str) -> Vectors:
        return self.embed([text])


@pytest.fixture
def vault() -> Vault:
    return make_vault()


@pytest.fixture
def swap_embedder(monkeypatch):
    def swap(**about: Any) -> None:
        monkeypatch.setattr(vectors, "active_embedder", lambda: OtherEmbedder(**about))

    return swap


def store(vault: Vault, *texts: str, first: int = 1) -> None:
    vectors.store(list(enumerate(texts, start=first)), vault_id=vault.pk)


def compare(vault: Vault, text: str, **options: Any) -> vectors.Similarities:
    return vectors.compare(text, vault_id=vault.pk, **options)


def cosines(vault: Vault, text: str) -> dict[int, float]:
    compared = compare(vault, text)
    return dict(zip(compared.ids.tolist(), compared.cosines.tolist(), strict=True))


def nearest(vault: Vault, text: str) -> list[int]:
    found = cosines(vault, text)
    return sorted(found, key=lambda pk: (-found[pk], pk))


def layout(vault: Vault) -> tuple[list[int], int]:
    """Return the chunks' sizes and the number of loose vectors."""
    sizes = VectorChunk.objects.filter(vault_id=vault.pk).values_list("size", flat=True)
    return sorted(sizes), LooseVector.objects.filter(vault_id=vault.pk).count()


def numbered(count: int) -> list[str]:
    return [f"memory about topic{number} and subject{number % 7}" for number in range(count)]


# -- Finding -------------------------------------------------------------------------------------


def test_what_says_the_same_is_nearest(vault):
    store(vault, "Bread needs flour", "Ana plans the launch", "planning of launches")
    found = cosines(vault, "Ana plans the launch")
    assert found[2] == 1.0
    assert found[2] > found[3] > found[1]


def test_similarities_are_close_to_the_exact_ones(vault):
    texts = numbered(40)
    store(vault, *texts)
    exact = HashEmbedder().embed(texts) @ HashEmbedder().embed(["subject3 and topic12"])[0]
    found = cosines(vault, "subject3 and topic12")
    assert [found[pk] for pk in range(1, 41)] == pytest.approx(exact.tolist(), abs=0.02)


@pytest.mark.parametrize("task", ["", "???", "the of and"])
def test_a_task_without_content_is_near_to_nothing(vault, task):
    store(vault, "red door")
    assert cosines(vault, task) == {}
    assert compare(vault, task).stated == ()


def test_an_empty_vault_has_an_empty_answer(vault):
    assert cosines(vault, "red door") == {}
    assert compare(vault, "red door").stated == ()


def test_a_memory_without_content_is_kept_but_near_to_nothing(vault):
    store(vault, "???", "red door")
    assert cosines(vault, "red door") == {2: 1.0, 1: 0.0}
    assert vectors.pending(vault.pk, 2) == 0


def test_every_memory_is_compared_however_many_there_are(vault):
    store(vault, *["needle in the hay"] * 4_100, "a needle among much else")
    found = cosines(vault, "needle in the hay")
    assert len(found) == 4_101
    assert found[77] == 1.0
    assert 0.0 < found[4_101] < 1.0


def test_a_vault_never_finds_the_memories_of_another(vault):
    other = make_vault()
    store(other, "red door")
    assert nearest(vault, "red door") == []
    assert vectors.remove(vault.pk, [1]) == 0
    assert nearest(other, "red door") == [1]


@pytest.mark.parametrize("size", [1, 300, 1_300])
def test_it_asks_two_statements_however_many_memories_there_are(vault, size):
    store(vault, *numbered(size))
    with CaptureQueriesContext(connection) as captured:
        compare(vault, "topic5", expected=range(size))
    assert len(captured) == 2


def test_every_statement_names_the_vault(vault):
    with CaptureQueriesContext(connection) as captured:
        store(vault, *numbered(300))
        store(vault, "red door")
        compare(vault, "topic5")
        vectors.holding("red door", vault_id=vault.pk)
        vectors.remove(vault.pk, [1, 2, 3])
        vectors.retire_others(vault.pk)
    named = [query["sql"] for query in captured if "memories_" in query["sql"]]
    assert named
    assert all("vault_id" in sql for sql in named)


# -- Chunks --------------------------------------------------------------------------------------


def test_loose_vectors_are_folded_into_chunks(vault):
    texts = numbered(300)
    for at, text in enumerate(texts[: chunks.FOLD_AT - 1], start=1):
        store(vault, text, first=at)
    assert layout(vault) == ([], chunks.FOLD_AT - 1)
    before = cosines(vault, "topic5 and subject3")
    store(vault, texts[-1], first=1_000)
    assert layout(vault) == ([chunks.FOLD_AT], 0)
    assert cosines(vault, "topic5 and subject3").items() >= before.items()


def test_chunks_are_filled_before_new_ones_are_made(vault):
    store(vault, *numbered(1_500))
    assert layout(vault) == ([476, 1_024], 0)
    store(vault, *numbered(900), first=5_000)
    assert layout(vault) == ([352, 1_024, 1_024], 0)
    assert len(cosines(vault, "memory")) == 2_400


def test_storing_again_replaces(vault):
    store(vault, *numbered(300))
    store(vault, "red door", first=7)
    store(vault, "blue door", first=7)
    assert vectors.holding("red door", vault_id=vault.pk) == 0
    assert vectors.holding("blue door", vault_id=vault.pk) == 1
    assert vectors.pending(vault.pk, 300) == 0
    assert nearest(vault, "blue door")[0] == 7


@pytest.mark.parametrize("others", [0, 400])
def test_what_was_removed_is_gone_from_the_bytes(vault, others):
    text = "The locker code is 4417"
    store(vault, *numbered(others), text)
    secret = quantised([0], HashEmbedder().embed([text])).data.tobytes()
    assert vectors.holding(text, vault_id=vault.pk) == 1
    assert vectors.remove(vault.pk, [others + 1, 99_999]) == 1
    assert vectors.holding(text, vault_id=vault.pk) == 0
    tables = (VectorChunk.objects, LooseVector.objects)
    kept = [
        bytes(data)
        for rows in tables
        for data in rows.filter(vault_id=vault.pk).values_list("data", flat=True)
    ]
    assert not any(secret in data for data in kept)
    assert vectors.remove(vault.pk, [others + 1]) == 0


def test_removing_all_leaves_no_chunk(vault):
    store(vault, *numbered(300))
    assert vectors.remove(vault.pk, range(1, 301)) == 300
    assert layout(vault) == ([], 0)
    assert vectors.remove(vault.pk, []) == 0


@hypothesis_settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_order_of_storing_and_removing_leaves_what_is_held(data):
    vault, held = make_vault(), set[int]()
    for _ in range(data.draw(st.integers(1, 5))):
        ids = data.draw(st.sets(st.integers(1, 40), min_size=1))
        if data.draw(st.booleans()):
            store_ids = [(pk, f"text number{pk}") for pk in ids]
            vectors.store(store_ids, vault_id=vault.pk)
            held |= ids
        else:
            assert vectors.remove(vault.pk, ids) == len(ids & held)
            held -= ids
    assert set(nearest(vault, "text")) == held


@pytest.fixture
def _early_folding(monkeypatch):
    monkeypatch.setattr(chunks, "FOLD_AT", 4)
    monkeypatch.setattr(chunks, "CHUNK_SIZE", 8)


@pytest.mark.usefixtures("_early_folding")
def test_small_chunks_obey_the_same_law():
    test_any_order_of_storing_and_removing_leaves_what_is_held()


@pytest.mark.usefixtures("_early_folding")
@pytest.mark.django_db(transaction=True)
def test_writers_at_once_lose_nothing():
    vault = make_vault()

    def write(writer: int) -> None:
        try:
            for number in range(6):
                pk = writer * 100 + number
                with transaction.atomic():
                    vectors.store([(pk, f"writer{writer} number{number}")], vault_id=vault.pk)
                if number % 3 == 2:
                    assert vectors.remove(vault.pk, [pk - 1]) == 1
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(1, 5)))
    expected = {writer * 100 + number for writer in range(1, 5) for number in (0, 2, 3, 5)}
    assert set(nearest(vault, "writer1")) == expected
    assert vectors.pending(vault.pk, len(expected)) == 0


# -- Models --------------------------------------------------------------------------------------


def test_without_an_embedder_nothing_is_stored_or_found(vault, settings):
    settings.CORTEX_EMBEDDER = "none"
    assert vectors.store([(1, "red door")], vault_id=vault.pk) == 0
    assert cosines(vault, "red door") == {}
    assert compare(vault, "red door").stated == ()
    assert vectors.pending(vault.pk, 5) == 0
    assert vectors.holding("red door", vault_id=vault.pk) == 0


@pytest.mark.parametrize("about", [{"name": "other"}, {"name": "hash-1", "dimension": 512}])
@pytest.mark.parametrize("size", [3, 300])
def test_vectors_of_another_model_are_never_compared_but_counted(vault, swap_embedder, about, size):
    facade.index_memories(vault, list(enumerate(numbered(size), start=1)))
    swap_embedder(**about)
    answer = compare(vault, "topic1 and subject1")
    assert not len(answer.ids)
    assert answer.stale == size
    assert answer.stated == (f"{size} memories await re-embedding: they were searched by their words alone",)
    assert vectors.pending(vault.pk, size) == size
    assert fulltext.lookup("topic1", vault_id=vault.pk, language="english")  # words still find them
    store(vault, "fresh text", first=1_000)
    assert nearest(vault, "fresh text") == [1_000]


def remembered(vault: Vault, count: int) -> list[int]:
    """Store memories in no index; return their ids in order."""
    return sorted(
        make_memory(vault, content=text, source_url=None, index=False).pk for text in numbered(count)
    )


def texts_of(ids: Sequence[int]) -> list[tuple[int, str]]:
    return list(Memory.objects.filter(pk__in=ids).order_by("pk").values_list("pk", "content"))


def test_memories_without_any_vector_are_counted_among_those_asked_for(vault):
    store(vault, "red door", "blue wall")
    answer = compare(vault, "red door", expected={1, 2, 3, 4})
    assert (answer.stale, answer.waiting) == (0, 2)
    assert answer.stated == ("2 memories await embedding: they were searched by their words alone",)
    assert compare(vault, "red door", expected={2}).stated == ()
    assert compare(vault, "red door").stated == ()


def test_a_model_that_does_not_answer_is_said(vault, swap_embedder, monkeypatch):
    def fail(self: OtherEmbedder, text: str) -> Vectors:
        raise EmbedderUnavailable("the model is out")

    swap_embedder()
    store(vault, "red door")
    monkeypatch.setattr(OtherEmbedder, "embed_question", fail)
    answer = compare(vault, "red door", expected={1})
    assert not len(answer.ids)
    assert answer.stated == ("the model is out: all memories were searched by their words alone",)


def test_reindexing_embeds_anew_and_serves_meanwhile(vault, swap_embedder):
    ids = remembered(vault, 40)
    facade.index_memories(vault, texts_of(ids))
    swap_embedder()
    halves = facade.reindex(vault, [ids[:25], ids[25:]])
    assert next(halves) == facade.Progress(done=25, last_id=ids[24])
    answer = compare(vault, "topic1")
    assert (len(answer.ids), answer.stale) == (25, 15)
    assert [progress.done for progress in halves] == [40]
    answer = compare(vault, "topic1")
    assert (len(answer.ids), answer.stale) == (40, 0)
    assert not LooseVector.objects.filter(vault_id=vault.pk, model="hash-1").exists()
    assert SearchDocument.objects.filter(vault_id=vault.pk).count() == 40


def test_reindexing_embeds_only_what_is_missing(vault, monkeypatch):
    ids = remembered(vault, 20)
    facade.index_memories(vault, texts_of(ids[:15]))
    made: list[int] = []
    make_vectors = vectors.embedded

    def record(rows: Sequence[tuple[int, str]]) -> vectors.Embedded | None:
        made.extend(pk for pk, _ in rows)
        return make_vectors(rows)

    monkeypatch.setattr(vectors, "embedded", record)
    assert [progress.last_id for progress in facade.reindex(vault, [ids])] == [ids[-1]]
    assert sorted(made) == ids[15:]


def test_reindexing_restores_a_lost_text_index(vault):
    red = make_memory(vault, content="red door").pk
    blue = make_memory(vault, content="blue wall").pk
    fulltext.remove(vault.pk, [red, blue])
    list(facade.reindex(vault, [sorted([red, blue])]))
    assert [hit.memory_id for hit in fulltext.lookup("door", vault_id=vault.pk, language="english")] == [red]


def test_reindexing_indexes_nothing_that_was_forgotten_meanwhile(vault):
    ids = remembered(vault, 2)
    batches = iter([ids])
    Memory.objects.filter(pk=ids[0]).delete()
    list(facade.reindex(vault, batches))
    assert set(SearchDocument.objects.values_list("memory_id", flat=True)) == {ids[1]}
    assert nearest(vault, "topic1") == [ids[1]]


# -- Both arms -----------------------------------------------------------------------------------


def test_forgetting_reports_what_went_and_finds_nothing_after(vault):
    text = "The locker code is 4417"
    memory = make_memory(vault, content=text)
    make_memory(vault, content="Lunch is at noon")
    assert facade.probe(vault, text) == {"fts": 1, "vectors": 1}
    assert facade.drop_memories(vault.pk, [memory.pk]) == {"fts": 1, "vectors": 1}
    assert facade.probe(vault, text) == {"fts": 0, "vectors": 0}
    assert facade.drop_memories(vault.pk, [memory.pk]) == {"fts": 0, "vectors": 0}


def test_probes_can_leave_out_a_rightful_twin(vault):
    gone = make_memory(vault, content="Lunch is at noon", project="a")
    make_memory(vault, content="Lunch is at noon", project="b")
    facade.drop_memories(vault.pk, [gone.pk])
    assert facade.probe(vault, "Lunch is at noon") == {"fts": 1, "vectors": 1}
    assert facade.probe(vault, "Lunch is at noon", among=[gone.pk]) == {"fts": 0, "vectors": 0}


# -- Bytes ---------------------------------------------------------------------------------------


def test_dot_products_are_whole_numbers_wherever_a_row_stands():
    rng = np.random.default_rng(5)
    data = rng.integers(-127, 128, size=(300, 1_024), dtype=np.int8)
    data[0], asked = 127, np.full(1_024, 127, dtype=np.int8)
    block = unpacked(np.arange(300).tobytes(), b"\0" * 1_200, data.tobytes(), dimension=1_024)
    exact = data.astype(np.int64) @ asked.astype(np.int64)
    assert (block.dots(asked) == exact).all()
    assert (block.pick(slice(7, 9)).dots(asked) == exact[7:9]).all()


def test_packing_and_joining_lose_nothing():
    block = quantised([5, 6], HashEmbedder().embed(["red door", "???"]))
    again = unpacked(**block.packed(), dimension=1_024)
    both = joined([again, block_of([], dimension=1_024), block], dimension=1_024)
    assert both.ids.tolist() == [5, 6, 5, 6]
    assert (both.data[:2] == both.data[2:]).all()
    assert both.norms.tolist()[1] == 0
