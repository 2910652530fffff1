"""What of a captured envelope may change without the documentation changing."""

import copy
from datetime import UTC, datetime, timedelta

import pytest

from contextpack.demo.examples import SHOWN_AT, made_stable, tell_the_same, write_examples

BEGAN_AT = datetime(2027, 3, 1, 12, 30, tzinfo=UTC)


def item(ref, source, *, relevance=0.5, rank=1, days_ago=1):
    return {
        "ref": ref,
        "content": f"About {source}.",
        "relevance": relevance,
        "why": {"retrievers": ["fts"], "matched_terms": [], "fused_rank": rank},
        "source_url": f"https://notes.example/{source}",
        "occurred_at": (BEGAN_AT - timedelta(days=days_ago)).isoformat(),
    }


def envelope(*items, receipt="rcp_0123456789ab", new=()):
    return {
        "model": {"requested": "claude"},
        "budget": {"tokens": 3_000, "used": 123},
        "items": list(items),
        "follow_ups": [],
        "working_memory": {"new": list(new), "evicted": [], "superseded": [], "cursor": "1"},
        "receipt": {"id": receipt, "assembled_at": "2027-03-01T12:31:07+00:00", "pack_digest": "sha256:00"},
    }


ONE = envelope(
    item("mem_q3q3q3q3q3q3", "a", rank=1),
    item("mem_zzzzzzzzzzzz", "b", rank=2),
    new=[{"ref": "mem_zzzzzzzzzzzz", "delta_relevance": 0.5}],
)


def test_refs_are_numbered_as_they_appear_and_point_to_the_same_items():
    stable = made_stable(ONE, began_at=BEGAN_AT)
    assert [found["ref"] for found in stable["items"]] == ["mem_000000000001", "mem_000000000002"]
    assert stable["working_memory"]["new"][0]["ref"] == "mem_000000000002"
    assert stable["receipt"]["id"] == "rcp_000000000001"


def test_moments_move_to_the_fixed_day():
    stable = made_stable(ONE, began_at=BEGAN_AT)
    assert stable["items"][0]["occurred_at"] == (SHOWN_AT - timedelta(days=1)).isoformat()
    assert stable["receipt"]["assembled_at"] == SHOWN_AT.isoformat()


def test_ids_and_the_clock_leave_no_trace():
    later = BEGAN_AT + timedelta(days=40)
    other = envelope(
        item("mem_hhhhhhhhhhhh", "a", days_ago=-39),
        item("mem_2222222222kk", "b", rank=2, days_ago=-39),
        receipt="rcp_ffffffffffff",
        new=[{"ref": "mem_2222222222kk", "delta_relevance": 0.5}],
    )
    assert made_stable(other, began_at=later) == made_stable(ONE, began_at=BEGAN_AT)


def test_equals_may_change_places():
    swapped = envelope(item("mem_1", "b", rank=1), item("mem_2", "a", rank=2, relevance=0.51))
    assert tell_the_same(ONE, swapped)


@pytest.mark.parametrize(
    "other",
    [
        envelope(item("mem_1", "a")),
        envelope(item("mem_1", "a"), item("mem_2", "c")),
        envelope(item("mem_1", "a", relevance=0.9), item("mem_2", "b")),
        envelope(item("mem_1", "a", relevance=None), item("mem_2", "b")),
    ],
    ids=["an item less", "another item", "another relevance", "no relevance"],
)
def test_another_answer_is_not_the_same(other):
    assert not tell_the_same(ONE, other)


def test_a_file_that_tells_the_same_is_left_alone(tmp_path):
    (path,) = write_examples({"one": ONE}, began_at=BEGAN_AT, folder=tmp_path)
    before = path.read_text()
    swapped = copy.deepcopy(ONE)
    swapped["items"].reverse()
    write_examples({"one": swapped}, began_at=BEGAN_AT, folder=tmp_path)
    assert path.read_text() == before
    write_examples({"one": envelope(item("mem_1", "c"))}, began_at=BEGAN_AT, folder=tmp_path)
    assert path.read_text() != before
