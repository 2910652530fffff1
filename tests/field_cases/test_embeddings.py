"""What narrows a search narrows it before the limit: one valid row behind thousands of nearer ones (K5)."""

from datetime import timedelta
from typing import Any

import pytest

from memories.core.kinds import Kind, Status, layer_of
from memories.core.text import content_hash, hash_terms, pack_hashes, terms
from memories.models import Memory, Source, Vault
from memories.search.facade import index_memories
from tests.clients import api_of
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
