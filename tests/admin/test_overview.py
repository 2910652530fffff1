"""The overview of a vault tells in figures what stands in its rows, in as many statements for many as for few."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from contextpack import figures
from memories.models import SearchDocument
from memories.writing.superseding import supersede
from tests.admin.rows import make_conflict, make_everything, make_receipt, make_session, served
from tests.factories import make_caller, make_memory, make_vault


def _told(page: Client, vault: Any, **more: Any) -> Any:
    response = page.get(reverse("admin:overview"), {"vault": vault.pk, **more})
    assert response.status_code == 200
    return response.context


def test_growth_is_summed_up_from_the_first_day_to_today(page, vault):
    now = timezone.now()
    old = make_memory(vault, content="The tide gauge is on the pier.", at=now - timedelta(days=100))
    make_memory(vault, content="Herons nest in March.", at=now - timedelta(days=50))
    supersede(make_caller(vault), old.ref, content="The tide gauge is on the buoy.", reason="", now=now)
    growth = figures.growth(vault.pk, until=now.date(), places=11)
    assert growth.written == (1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3)
    assert growth.replaced == (0,) * 10 + (1,)
    told = _told(page, vault)
    assert (told["total"], told["replaced"], told["current"]) == (3, 1, 2)


def test_ages_are_counted_from_when_it_was_true(vault):
    now = timezone.now()
    make_memory(vault, content="A", at=now, occurred_at=now - timedelta(days=100))
    make_memory(vault, content="B", at=now - timedelta(days=2))
    make_memory(vault, content="C", at=now - timedelta(days=900))
    counts = figures.ages(figures.current(vault.pk, now=now), now=now)
    assert {name: count for name, count in counts.items() if count} == {"1 w": 1, "6 mo": 1, "older": 1}


def test_what_packs_carried_is_ranked_and_the_rest_was_never_served(page, vault):
    often, once, folded, never = (make_memory(vault, content=text) for text in "ABCD")
    make_receipt(vault, items=[served(often.ref), served(once.ref)])
    make_receipt(vault, items=[served(often.ref, folded_refs=[folded.ref])])
    make_receipt(make_vault("other"), items=[served(never.ref)])
    told = _told(page, vault)
    assert next((row["ref"], row["count"]) for row in told["most_served"]) == (often.ref, 2)
    assert {row["ref"] for row in told["most_served"]} == {often.ref, once.ref, folded.ref}
    assert [row["ref"] for row in told["never"]] == [never.ref]
    assert told["never_count"] == 1


def test_what_may_not_be_served_is_no_memory_that_was_never_served(page, vault):
    make_memory(vault, content="A", status="pending")
    make_memory(vault, content="B", withheld=True)
    assert _told(page, vault)["never_count"] == 0


def test_open_conflicts_and_saved_tokens_are_told(page, vault):
    left, right = make_memory(vault, content="60"), make_memory(vault, content="600")
    make_conflict(left, right)
    make_session(vault, left.ref)
    make_session(vault, left.ref, question="q2")
    told = _told(page, vault)
    assert told["conflicts"]["count"] == 1
    assert told["saved_chart"] is not None


def test_an_index_that_lacks_a_memory_is_out_of_step(page, vault):
    memory = make_memory(vault)
    assert _told(page, vault)["health"].searchable
    SearchDocument.objects.filter(vault_id=vault.pk, memory_id=memory.pk).delete()
    response = page.get(reverse("admin:overview"), {"vault": vault.pk})
    assert not response.context["health"].searchable
    assert "manage.py reindex" in response.content.decode()


def test_an_embedder_that_is_not_installed_is_said_to(page, vault, monkeypatch):
    def missing() -> None:
        raise ImproperlyConfigured("minilm needs onnxruntime")

    monkeypatch.setattr(figures, "active_embedder", missing)
    assert _told(page, vault)["health"].trouble == "minilm needs onnxruntime"


def test_the_last_backup_is_told_where_the_database_is_a_file(page, vault, settings, tmp_path):
    if connection.vendor != "sqlite":
        assert _told(page, vault)["backup"] is None
        return
    settings.VAR_DIR, now = tmp_path, timezone.now()
    assert _told(page, vault)["backup"].made_at is None
    folder = tmp_path / "backups"
    folder.mkdir()
    for made_at in (now - timedelta(days=30), now - timedelta(days=9)):
        (folder / f"cortex-{made_at:%Y%m%dT%H%M%S.%f}Z.sqlite3").touch()
    (folder / "cortex-by-hand.sqlite3").touch()
    backup = _told(page, vault)["backup"]
    assert (backup.made_at, backup.late) == (now - timedelta(days=9), True)


def test_a_full_vault_costs_no_more_statements(page, vault):
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            _told(page, vault)
        tenant = [one["sql"] for one in seen if '"memories_' in one["sql"] or '"contextpack_' in one["sql"]]
        assert [sql for sql in tenant if "vault_id" not in sql and "memories_vault" not in sql] == []
        return len(seen)

    make_everything(vault, 0)
    statements()
    few = statements()
    for number in range(1, 25):
        make_everything(vault, number)
    assert statements() == few


def test_the_overview_stands_empty_and_without_a_vault(page, vault):
    assert _told(page, vault)["current"] == 0
    vault.delete()
    assert page.get(reverse("admin:overview")).status_code == 200
