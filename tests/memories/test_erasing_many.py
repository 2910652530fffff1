"""Forgetting costs what is forgotten: not what was decided about other memories, and any number goes in one request."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from memories.core import passages
from memories.core.text import content_hash
from memories.models import Capture, Decision, KeptRef, Memory, Source, Tombstone
from memories.writing.erasing import erase
from tests.clients import api_of
from tests.factories import make_vault
from tests.wire.test_statements import counting

pytestmark = pytest.mark.django_db

PAST = datetime(2026, 1, 1, tzinfo=UTC)
ABSENT = {"fts": 0, "vectors": 0, "database": 0}


def stored(vault, count):
    """Store bare memories; more of them than an expression may have terms."""
    texts = [f"Ledger {n} is blue" for n in range(count)]
    return Memory.objects.bulk_create(
        [
            Memory(
                vault=vault,
                content=text,
                content_hash=content_hash(text),
                kind="claim",
                layer="semantic",
                status="approved",
                expires_at=PAST,
                true_since=PAST,
            )
            for text in texts
        ]
    )


def read(monkeypatch):
    """Note each text that is taken apart to look for a passage in it."""
    seen = []
    reader = passages._read

    def noting(text):
        seen.append(text)
        return reader(text)

    monkeypatch.setattr(passages, "_read", noting)
    return seen


# -- Many at once --------------------------------------------------------------------------------


def test_more_memories_than_an_expression_has_terms_are_erased_at_once():
    vault = make_vault()
    rows = stored(vault, 1_100)
    with counting() as statements:
        erased = erase(vault, rows, actor="a", now=timezone.now())
    assert erased["memories"] == Tombstone.objects.filter(vault=vault).count() == 1_100
    assert len(statements) < 250


def test_evidence_that_memories_of_several_batches_share_goes_with_the_last_of_them():
    vault = make_vault()
    rows = stored(vault, 401)
    capture = Capture.objects.create(vault=vault, content=" ".join(row.content + "." for row in rows))
    Source.objects.bulk_create([Source(vault=vault, memory=row, capture=capture, url="x:y") for row in rows])
    erase(vault, rows[:-1], actor="a", now=timezone.now())
    assert Capture.objects.get(vault=vault).content.endswith("[forgotten]. Ledger 400 is blue.")
    erase(vault, rows[-1:], actor="a", now=timezone.now())
    assert not Capture.objects.filter(vault=vault).exists()


# -- Beside many decisions ---------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["Nobody needs this any more", "We keep another book"])
def test_it_reads_no_reason_of_a_decision_about_something_else(monkeypatch, reason):
    api = api_of()
    refs = [api.remember(text)["ref"] for text in ("Zebulon hid it", "Yolanda won it")]
    reads = []
    for ref, count in zip(refs, (3, 60), strict=True):
        Decision.objects.bulk_create(
            [
                Decision(vault=api.vault, memory=f"mem_{n:012}", verb="archive", actor="a", reason=reason)
                for n in range(count)
            ]
        )
        with monkeypatch.context() as patch:
            seen = read(patch)
            assert api.delete(f"memories/{ref}").json()["probes"] == ABSENT
        reads.append(len(seen))
        assert reason not in seen
    assert reads[0] == reads[1]


@pytest.mark.parametrize(
    ("text", "reason", "left"),
    [
        ("The ledger", "Why, the LEDGER of course", "Why, [forgotten] of course"),
        ("The ledger", "Why, thé lédger of course", "Why, [forgotten] of course"),
        ("Thé lédger", "Why, the ledger of course", "Why, [forgotten] of course"),
        ("Ｔｈｅ ｌｅｄｇｅｒ", "Why, the ledger of course", "Why, [forgotten] of course"),
        ("The led\u00adger", "Why, the ledger of course", "Why, [forgotten] of course"),
        ("张伟的工资", "因为张伟的工资", "因为[forgotten]"),
        ("100% sure_thing", "It is 100% sure_thing", "It is [forgotten]"),
    ],
)
def test_it_cuts_the_text_out_of_any_reason_however_it_is_written(text, reason, left):
    api = api_of()
    ref = api.remember(text)["ref"]
    Decision.objects.create(
        vault=api.vault, memory="mem_000000000000", verb="archive", actor="a", reason=reason
    )
    api.delete(f"memories/{ref}")
    assert Decision.objects.get(vault=api.vault, memory="mem_000000000000").reason == left


def test_what_a_decision_keeps_of_a_forgotten_memory_goes_wherever_it_names_it():
    api = api_of()
    first = api.remember("The office is in Porto", author="user")["ref"]
    proposed = {"name": "supersede_memory", "arguments": {"ref": first, "content": "The office is in Lisbon"}}
    second = api.post("tools/call", proposed).json()["result"]["ref"]
    assert api.post(f"memories/{second}/approve").status_code == 200
    decision = Decision.objects.get(vault=api.vault, memory=second)
    assert list(KeptRef.objects.filter(vault=api.vault).values_list("ref", flat=True)) == [first]
    api.delete(f"memories/{first}")
    decision.refresh_from_db()
    assert decision.kept is None
    assert not KeptRef.objects.filter(vault=api.vault).exists()
