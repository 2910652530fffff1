"""The year that `manage.py demo_vault` writes: what is in it, that it comes out the same, and that it harms nothing."""

from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from contextpack.demo.year.filling import fill
from contextpack.demo.year.script import Note, year_until
from contextpack.models import Pin, Probe, Receipt
from contextpack.probing import run_probe
from cortex.errors import StateConflict
from memories.ids import repeatable_ids
from memories.models import Capture, Conflict, Memory, ProposedSupersession, Supersession, Tombstone, Vault
from sessions.models import WorkingSession
from tests.factories import make_memory, make_vault

END = datetime(2026, 12, 1, 18, tzinfo=UTC)


def test_equal_seeds_and_moments_give_the_same_year():
    assert year_until(END, seed="a") == year_until(END, seed="a")
    assert year_until(END, seed="a") != year_until(END, seed="b")


def test_nothing_happens_after_the_year_ends_or_before_it_begins():
    for end in (END, datetime(2027, 3, 4, 0, 5, tzinfo=UTC), datetime(2024, 2, 29, 12, tzinfo=UTC)):
        steps = year_until(end, seed="a")
        assert steps == sorted(steps, key=lambda step: step.at)
        assert all(0 <= (end - step.at).days <= 366 for step in steps)
        assert steps[-1].at < end


def test_no_two_notes_say_the_same_and_none_has_a_hole_left_in_it():
    texts = [step.text for step in year_until(END, seed="a") if isinstance(step, Note)]
    assert len(set(texts)) == len(texts)
    assert not [text for text in texts if "{" in text or "  " in text or not text[0].isupper()]


@pytest.mark.django_db
def test_the_year_holds_some_of_everything_that_the_admin_shows():
    vault = make_vault("brightwater")
    with repeatable_ids("demo"):  # ids break ties in a pack
        counts = fill(vault, until=END)
    memories = Memory.objects.filter(vault_id=vault.pk)
    assert counts["memories"] >= 400
    assert memories.count() + Tombstone.objects.filter(vault_id=vault.pk).count() == counts["memories"]
    assert WorkingSession.objects.filter(vault_id=vault.pk).count() >= 30
    assert Receipt.objects.filter(vault_id=vault.pk).count() == counts["questions"]
    outcomes = {
        probe.name: run_probe(vault, probe, now=END) for probe in Probe.objects.filter(vault_id=vault.pk)
    }
    assert {name: outcome.verdict for name, outcome in outcomes.items()} == {
        "Battery of the Kelp 3": "passed",
        "Customers apart": "passed",
        "Our stand in Trondheim": "failed",
    }
    assert [gap.reason for gap in outcomes["Our stand in Trondheim"].missing] == ["superseded"]
    assert memories.filter(status="pending").count() >= 6
    assert memories.filter(withheld=True).count() >= 2
    assert memories.filter(status="archived").exists()
    assert memories.filter(redacted_at__isnull=False).exists()
    assert memories.filter(expires_at__lt=END).count() >= 3
    assert {layer for (layer,) in memories.values_list("layer")} >= {
        "semantic", "episodic", "style", "decision", "preference", "negative", "procedural",
    }  # fmt: skip
    for model in (Capture, Pin, ProposedSupersession, Supersession, Tombstone):
        assert model._default_manager.filter(vault_id=vault.pk).exists(), model
    packed = [
        item
        for items in Receipt.objects.filter(vault_id=vault.pk).values_list("items", flat=True)
        for item in items
    ]
    assert {item["rung"] for item in packed} == {"full", "summary", "head"}
    assert any(item["folded_refs"] for item in packed)
    assert Conflict.objects.filter(vault_id=vault.pk, resolved_at__isnull=True).count() >= 4
    with pytest.raises(StateConflict):
        fill(vault, until=END)


@pytest.mark.django_db
def test_a_vault_that_holds_anything_is_refused_and_left_as_it_is():
    vault = make_vault("mine")
    make_memory(vault)
    with pytest.raises(CommandError, match="not empty"):
        call_command("demo_vault", vault="mine", stdout=StringIO())
    assert Memory.objects.filter(vault_id=vault.pk).count() == 1
    assert Vault.objects.count() == 1


def test_a_moment_without_its_offset_is_refused():
    with pytest.raises(CommandError, match="offset"):
        call_command("demo_vault", "--until", "2026-12-01 12:00", stdout=StringIO())
