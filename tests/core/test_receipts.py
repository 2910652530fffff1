import json
from dataclasses import replace

import pytest

from contextpack.core.receipts import (
    fate_of,
    fates_as_wire,
    fates_from_wire,
    mark_of,
    pool_as_wire,
    pool_from_wire,
    pool_without_words,
    receipt_items,
)
from contextpack.core.types import Candidate, Fate, PackLayer
from memories.core.kinds import Kind
from tests.core.packs import make_item, make_pack, make_ref

FATES = (
    Fate(ref=make_ref(1), outcome="packed", utility=0.5, density=0.025, tokens=20),
    Fate(ref=make_ref(2), outcome="folded_into", into=make_ref(1)),
    Fate(ref=make_ref(3), outcome="outbid", utility=0.1, density=0.0025, tokens=40, short_by=12),
    Fate(ref=make_ref(4), outcome="already_sent"),
)


class TestReceiptItems:
    def test_it_tells_what_was_served_and_why_without_its_text(self):
        pack = make_pack(
            make_item(
                1,
                "secret plan",
                retrievers=("fts",),
                matched_terms=("plan",),
                fused_rank=1,
                channels={"pair": 1.0},
            )
        )
        assert receipt_items(pack) == [
            {
                "ref": make_ref(1),
                "layer": "facts",
                "rung": "full",
                "tokens": 20,
                "relevance": None,
                "relevance_basis": None,
                "utility": 0.5,
                "density": 0.025,
                "why": {"retrievers": ["fts"], "matched_terms": ["plan"], "fused_rank": 1},
                "channels": {"pair": 1.0},
                "folded_refs": [],
            }
        ]
        assert "secret" not in json.dumps(receipt_items(pack))


class TestFateOf:
    @pytest.mark.parametrize(
        ("number", "told"),
        [
            (1, None),
            (2, {"reason": "folded_into", "into": make_ref(1)}),
            (3, {"reason": "outbid", "short_by": 12, "tokens": 40, "utility": 0.1, "density": 0.0025}),
            (4, {"reason": "already_sent"}),
            (5, None),
        ],
    )
    def test_it_names_the_one_reason_with_its_figures(self, number, told):
        assert fate_of(make_ref(number), FATES) == told

    def test_a_receipt_that_was_kept_tells_the_same(self):
        kept = json.loads(json.dumps(fates_as_wire(FATES)))
        assert fates_from_wire(kept) == FATES


def candidate(number: int, *words: str, **fields) -> Candidate:
    return replace(
        make_item(number, f"text {number}").candidate,
        **{"matched_terms": words, "relevance": 0.25, "fused_rank": number, "retrievers": ("fts",), **fields},
    )


POOL = (
    candidate(1, "oak", "barn"),
    candidate(2, "barn", layer=PackLayer.CONSTRAINTS),
    candidate(3, relevance=None, fused_rank=None, retrievers=("recency",)),
)


class TestPool:
    def test_what_was_kept_makes_the_same_candidates_again(self):
        kept = json.loads(json.dumps(pool_as_wire(POOL)))
        bare = [
            replace(one, relevance=None, matched_terms=(), fused_rank=None, retrievers=()) for one in POOL
        ]
        matched = pool_from_wire(kept)
        assert [match.again(one, layer=match.layer) for match, one in zip(matched, bare, strict=True)] == [
            *POOL
        ]

    def test_no_text_is_kept(self):
        assert "text" not in json.dumps(pool_as_wire(POOL))

    def test_the_words_of_the_forgotten_go_unless_others_had_them(self):
        blanked = pool_without_words(pool_as_wire(POOL), {make_ref(1)})
        assert blanked["words"] == ["barn"]
        assert [match.words for match in pool_from_wire(blanked)] == [(), ("barn",), ()]

    @pytest.mark.parametrize(
        "changed",
        [
            {"summary": "another"},
            {"kind": Kind.EVENT},
            {"confidence": 0.1},
            {"entities": ("Ana",)},
            {"occurrences": 7},
            {"source_urls": ("https://example.org/other",)},
            {"conflicts_with": frozenset({"mem_x"})},
        ],
    )
    def test_the_mark_shows_that_something_was_changed(self, changed):
        one = candidate(1)
        assert mark_of(one) == mark_of(
            replace(one, relevance=0.9, matched_terms=("x",), layer=PackLayer.ENTITY)
        )
        assert mark_of(one) != mark_of(replace(one, **changed))
