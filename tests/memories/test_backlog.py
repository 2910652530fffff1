"""Memories that wait for a vector: who embeds them, when, and what a reader is told meanwhile."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memories.models import LooseVector, Memory, Vault
from memories.search import backlog, vectors
from memories.search import worker as workers
from memories.search.embedding import EmbedderUnavailable
from memories.search.turns import turn
from memories.search.worker import EmbeddingWorker, worker
from tests.clients import api_of
from tests.embedders import SlowEmbedder
from tests.factories import make_memory, make_vault

pytestmark = pytest.mark.django_db


@pytest.fixture
def slow(monkeypatch) -> SlowEmbedder:
    embedder = SlowEmbedder()
    for module in ("vectors", "backlog", "worker"):
        monkeypatch.setattr(f"memories.search.{module}.active_embedder", lambda: embedder)
    return embedder


def embedded_texts(vault: Vault) -> set[str]:
    ids = LooseVector.objects.filter(vault_id=vault.pk, model="slow-1").values_list("memory_id", flat=True)
    return set(Memory.objects.filter(pk__in=ids).values_list("content", flat=True))


# -- Writing -------------------------------------------------------------------------------------


def test_a_write_does_not_wait_for_a_slow_embedder(slow):
    api = api_of()
    api.remember("The red door is locked")
    api.post("memories/bulk", {"memories": [{"content": f"Fact {number}"} for number in range(3)]})
    assert slow.read == []
    assert api.get("stats").json()["pending_vectors"] == backlog.count_waiting(api.vault.pk) == 4
    assert [row["content"] for row in api.get("memories?q=door").json()["results"]] == [
        "The red door is locked"
    ]


def test_a_model_that_fails_fails_no_write(slow, monkeypatch):
    def fail(texts: Any) -> Any:
        raise EmbedderUnavailable("the model is out")

    monkeypatch.setattr(slow, "embed", fail)
    monkeypatch.setattr(slow, "in_place", lambda texts: True)
    api = api_of()
    api.remember("The red door is locked")
    assert api.get("stats").json()["pending_vectors"] == 1


def test_the_worker_is_told_of_what_was_committed(slow, monkeypatch, django_capture_on_commit_callbacks):
    told: list[tuple[str, int]] = []
    monkeypatch.setattr(worker, "wake", lambda vault_id, ids: told.append((vault_id, len(ids))))
    api = api_of()
    with django_capture_on_commit_callbacks(execute=True):
        api.remember("The red door is locked")
    assert told == [(api.vault.pk, 1)]


# -- Working it off ------------------------------------------------------------------------------


def test_all_that_waits_is_embedded_and_other_models_vectors_go(slow, monkeypatch):
    monkeypatch.setattr(backlog, "SLOW_BATCH", 2)
    vault = make_vault()
    ids = {make_memory(vault, content=f"Fact {number}", index=False).pk for number in range(5)}
    make_memory(vault, content="", index=False, redacted_at=Memory.objects.all()[0].captured_at)
    LooseVector.objects.create(
        vault=vault, memory_id=min(ids), model="old", dimension=1, norm=1, data=b"\x01"
    )
    advances = list(backlog.work_off(vault.pk))
    assert [(advance.done, advance.waiting) for advance in advances] == [(2, 3), (4, 1), (5, 0)]
    assert backlog.waiting_in(vault.pk) == []
    assert set(LooseVector.objects.values_list("memory_id", "model")) == {(pk, "slow-1") for pk in ids}
    assert list(backlog.work_off(vault.pk)) == []


def test_a_broken_off_run_goes_on_with_what_is_left(slow, monkeypatch):
    monkeypatch.setattr(backlog, "SLOW_BATCH", 2)
    vault = make_vault()
    for number in range(5):
        make_memory(vault, content=f"Fact {number}", index=False)
    next(backlog.work_off(vault.pk))
    assert backlog.count_waiting(vault.pk) == 3
    assert [advance.done for advance in backlog.work_off(vault.pk)] == [2, 3]
    assert sorted(slow.read) == [f"Fact {number}" for number in range(5)]  # none twice


def test_what_is_forgotten_while_the_model_works_gets_no_vector(slow, monkeypatch):
    vault = make_vault()
    keep = make_memory(vault, content="Bread needs flour", index=False)
    gone = make_memory(vault, content="The locker code is 4417", index=False)
    make_vectors = vectors.embedded

    def forget_meanwhile(rows: Any) -> Any:
        made = make_vectors(rows)
        api_of(vault).delete(f"memories/{gone.ref}")
        return made

    monkeypatch.setattr(vectors, "embedded", forget_meanwhile)
    assert backlog.embed(vault.pk, [keep.pk, gone.pk]) == 1
    assert embedded_texts(vault) == {"Bread needs flour"}
    assert vectors.holding("The locker code is 4417", vault_id=vault.pk) == 0


def test_a_slow_embedder_is_not_asked_again_for_what_was_forgotten(slow):
    vault = make_vault()
    memory = make_memory(vault, content="The locker code is 4417", index=False)
    backlog.embed(vault.pk, [memory.pk])
    assert vectors.holding(memory.content, vault_id=vault.pk, among=[memory.pk]) == 1
    slow.read.clear()
    told = api_of(vault).delete(f"memories/{memory.ref}").json()
    assert (told["erased"]["vectors"], told["probes"]["vectors"]) == (1, 0)
    assert slow.read == []


def test_a_memory_that_never_gets_its_vector_is_tried_once_a_run(slow, monkeypatch):
    vault = make_vault()
    make_memory(vault, index=False)
    monkeypatch.setattr(vectors, "keep", lambda made, *, vault_id: None)
    assert len(list(backlog.work_off(vault.pk))) == 1


def test_a_model_that_fails_half_way_keeps_what_is_done(slow, monkeypatch):
    monkeypatch.setattr(backlog, "SLOW_BATCH", 2)
    vault = make_vault()
    for number in range(5):
        make_memory(vault, content=f"Fact {number}", index=False)
    embed = slow.embed

    def fail_later(texts: Any) -> Any:
        if len(slow.read) >= 4:
            raise EmbedderUnavailable("the model is out")
        return embed(texts)

    monkeypatch.setattr(slow, "embed", fail_later)
    with pytest.raises(EmbedderUnavailable):
        list(backlog.work_off(vault.pk))
    assert backlog.count_waiting(vault.pk) == 1


@pytest.mark.django_db(transaction=True)
def test_two_do_not_work_at_the_same_time():
    inside, order = threading.Event(), []

    def second() -> None:
        inside.wait(5)
        try:
            with turn():
                order.append("second")
        finally:
            connection.close()

    thread = threading.Thread(target=second)
    thread.start()
    with turn():
        inside.set()
        thread.join(0.1)
        order.append("first")
    thread.join(5)
    assert order == ["first", "second"]


# -- The thread ----------------------------------------------------------------------------------


@contextmanager
def running() -> Iterator[EmbeddingWorker]:
    own = EmbeddingWorker()
    own.start()
    try:
        yield own
    finally:
        own.stop()


def until(holds: Any) -> None:
    ends_at = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < ends_at, "it did not come about"
        time.sleep(0.01)


@pytest.mark.django_db(transaction=True)
def test_the_thread_embeds_what_waits_and_what_it_is_told_of(slow):
    vault = make_vault()
    make_memory(vault, content="It was there before", index=False)
    with running() as own:
        until(lambda: embedded_texts(vault) == {"It was there before"})
        memory = make_memory(vault, content="It was written later", index=False)
        own.wake(vault.pk, [memory.pk])
        until(lambda: len(embedded_texts(vault)) == 2)
    make_memory(vault, content="It came after the end", index=False)
    own.wake(vault.pk, [memory.pk])
    assert own._thread is not None
    assert not own._thread.is_alive()
    assert len(embedded_texts(vault)) == 2


@pytest.mark.django_db(transaction=True)
def test_the_thread_outlives_a_model_that_fails(slow, monkeypatch):
    monkeypatch.setattr(workers, "FIRST_RETRY_SECONDS", 0.01)
    failures = iter([EmbedderUnavailable("the model is out")] * 2)
    embed_question = slow.embed_question

    def fail_first(text: str) -> Any:
        for failure in failures:
            raise failure
        return embed_question(text)

    monkeypatch.setattr(slow, "embed_question", fail_first)
    vault = make_vault()
    make_memory(vault, content="It waits", index=False)
    with running():
        until(lambda: embedded_texts(vault) == {"It waits"})


@pytest.mark.django_db(transaction=True)
def test_what_others_left_is_found_by_looking_again(slow, monkeypatch):
    monkeypatch.setattr(workers, "RESCAN_SECONDS", 0.05)
    monkeypatch.setattr(workers, "RESCAN_SHARE", 0)
    vault = make_vault()
    with running():
        make_memory(vault, content="Another process wrote it", index=False)
        until(lambda: embedded_texts(vault) == {"Another process wrote it"})


def test_no_thread_runs_where_none_was_started(slow):
    idle = EmbeddingWorker()
    idle.wake("vault", [1])
    assert idle._thread is None
    idle.stop()


def test_without_an_embedder_no_thread_is_started(settings):
    settings.CORTEX_EMBEDDER = "none"
    idle = EmbeddingWorker()
    idle.start()
    assert idle._thread is None


# -- manage.py embed -----------------------------------------------------------------------------


def run(*args: str) -> str:
    out = StringIO()
    call_command("embed", *args, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_command_embeds_every_vault_or_the_named_one(slow):
    first, second = make_vault("first"), make_vault("second")
    for vault in (first, second):
        make_memory(vault, content=f"Fact of {vault.slug}", index=False)
    assert run("--vault", "first").startswith("first: 1 memories embedded in ")
    assert backlog.count_waiting(second.pk) == 1
    told = run()
    assert "first: nothing waits." in told
    assert "second: 1 memories embedded" in told


def test_the_command_goes_on_with_what_is_written_later(slow, monkeypatch):
    vault = make_vault("first")
    naps = iter(["It was written later"])

    def sleep(seconds: float) -> None:
        for text in naps:
            make_memory(vault, content=text, index=False)
            return
        raise KeyboardInterrupt

    monkeypatch.setattr("memories.management.commands.embed.time.sleep", sleep)
    with pytest.raises(CommandError, match=r"Interrupted\. What is done is kept"):
        run("--watch")
    assert slow.read == ["It was written later"]


def test_the_command_says_why_it_cannot(slow, monkeypatch, settings):
    make_memory(index=False)

    def fail(texts: Any) -> Any:
        raise EmbedderUnavailable("the model is out")

    monkeypatch.setattr(slow, "embed", fail)
    with pytest.raises(CommandError, match=r"the model is out\. What is done is kept"):
        run()
    with pytest.raises(CommandError, match="no vault 'nope'"):
        run("--vault", "nope")


def test_the_command_needs_an_embedder(settings):
    settings.CORTEX_EMBEDDER = "none"
    with pytest.raises(CommandError, match="CORTEX_EMBEDDER is none"):
        run()
