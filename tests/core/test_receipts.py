import json

import pytest

from contextpack.core.receipts import fate_of, fates_as_wire, fates_from_wire, receipt_items
from contextpack.core.types import Fate
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
            make_item(1, "secret plan", retrievers=("fts",), matched_terms=("plan",), fused_rank=1)
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
