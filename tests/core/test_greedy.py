from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.folding import Claim, as_claim
from contextpack.core.greedy import MOST_BYTES_PER_TOKEN, pack_by_layer
from contextpack.core.packing import Packing, Tariff
from contextpack.core.profiles import PROFILES
from contextpack.core.tokens import TokenFamily, estimate_tokens
from contextpack.core.types import Item, PackLayer, Rung
from tests.core.packs import NOON, make_candidate, make_ref

PRIORS = dict.fromkeys(PackLayer, 1.0)
EVEN = dict.fromkeys(PackLayer, 1 / len(PackLayer))


def by_words(item: Item) -> int:
    return len(item.text.split()) + 10


def claim(number: int, words: int = 10, layer: PackLayer = PackLayer.FACTS, **changes: Any) -> Claim:
    return as_claim(make_candidate(number, "word " * words, layer=layer, **{"relevance": 0.5, **changes}))


def pack(claims: list[Claim], budget: int, *, section: int = 0, **changes: Any) -> Packing:
    settings = {"shares": EVEN, "profile": PROFILES["generic"], "now": NOON, "priors": PRIORS, **changes}
    cost = Tariff(item=by_words, headings=lambda candidate: {(candidate.layer,): section})
    return pack_by_layer(claims, budget, cost=cost, **settings)


def refs(packing: Packing) -> list[str]:
    return [item.ref for item in packing.items]


def test_each_layer_has_its_share_before_others_take_what_is_left():
    facts = [claim(n, relevance=0.9) for n in range(1, 40)]
    decision = claim(90, layer=PackLayer.DECISIONS, relevance=0.1)
    packing = pack([*facts, decision], 240)
    assert make_ref(90) in refs(packing)
    assert len(packing.items) == 240 // 20


def test_a_layer_is_filled_best_first():
    claims = [claim(n, relevance=n / 10) for n in range(1, 6)]
    assert refs(pack(claims, 60)) == [make_ref(5), make_ref(4), make_ref(3)]


def test_equals_go_to_the_smaller_ref():
    assert refs(pack([claim(n) for n in (3, 1, 2)], 40)) == [make_ref(1), make_ref(2)]


def test_an_item_larger_than_the_share_of_its_layer_is_no_obstacle():
    large = claim(1, words=120, relevance=1.0)
    packing = pack([large, *(claim(n, relevance=0.2) for n in range(2, 5))], 300)
    assert set(refs(packing)) == {make_ref(n) for n in range(1, 5)}


def test_an_item_larger_than_the_budget_is_passed_over_and_told():
    huge = claim(1, words=5_000, relevance=1.0)
    packing = pack([huge, *(claim(n, relevance=0.2) for n in range(2, 11))], 600)
    assert set(refs(packing)) == {make_ref(n) for n in range(2, 11)}
    (missed,) = packing.missed
    assert missed.claim.ref == make_ref(1)
    assert missed.tokens == pytest.approx(5_010, rel=0.3)  # nobody counted it: it is far too long
    assert missed.short_by == packing.used + missed.tokens - 600


def test_a_long_text_of_short_words_is_no_measure_for_the_others():
    log = as_claim(make_candidate(1, "x " * 30_000, layer=PackLayer.FACTS, relevance=1.0))
    packing = pack([log, *(claim(n, relevance=0.2) for n in range(2, 11))], 600)
    assert set(refs(packing)) == {make_ref(n) for n in range(2, 11)}


WORDS = st.lists(
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12), min_size=1, max_size=40
)


@given(WORDS, st.sampled_from(TokenFamily))
def test_words_are_never_so_cheap_that_one_is_passed_over_which_would_fit(words, family):
    text = " ".join(words)
    assert estimate_tokens(text, family) >= int(
        len(text.encode("utf-8", "surrogatepass")) / MOST_BYTES_PER_TOKEN
    )


def test_the_best_hard_rule_comes_first_whatever_it_matches():
    rules = [
        claim(n, layer=PackLayer.CONSTRAINTS, protected=True, relevance=None, trust=trust)
        for n, trust in ((80, 0.2), (81, 0.9))
    ]
    packing = pack(
        [*(claim(n, relevance=1.0) for n in range(1, 9)), *rules],
        40,
        shares={**EVEN, PackLayer.CONSTRAINTS: 0},
    )
    assert refs(packing)[0] == make_ref(81)


def test_it_sends_full_texts_alone_and_folds_nothing():
    long = claim(1, words=200, summary="Short.")
    same = claim(2, words=200, summary="Short.")
    packing = pack([long, same], 1_000)
    assert [(item.rung, item.folded_refs) for item in packing.items] == [(Rung.FULL, ()), (Rung.FULL, ())]


def test_the_first_item_of_a_layer_pays_for_its_heading():
    packing = pack([claim(1), claim(2), claim(3, layer=PackLayer.DECISIONS)], 100, section=5)
    assert packing.used == 3 * 20 + 2 * 5


@st.composite
def pools(draw: st.DrawFn) -> list[Claim]:
    return [
        claim(
            number,
            words=draw(st.sampled_from([1, 8, 30, 400, 6_000])),
            layer=draw(st.sampled_from(PackLayer)),
            relevance=draw(st.none() | st.floats(0, 1)),
            protected=draw(st.booleans()),
            captured_at=NOON - timedelta(days=draw(st.integers(0, 60))),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


@given(pools(), st.integers(0, 8_000), st.integers(0, 9))
def test_a_pack_never_costs_more_than_its_budget_and_loses_nothing_silently(claims, budget, section):
    packing = pack(claims, budget, section=section)
    layers = {item.candidate.layer for item in packing.items}
    assert packing.used == sum(map(by_words, packing.items)) + section * len(layers)
    assert packing.used <= budget
    missed = [missed.claim.ref for missed in packing.missed]
    assert sorted(refs(packing) + missed) == sorted(claim.ref for claim in claims)


@given(pools(), st.integers(0, 3_000), st.randoms())
def test_the_order_of_the_claims_does_not_matter(claims, budget, random):
    shuffled = list(claims)
    random.shuffle(shuffled)
    assert pack(claims, budget) == pack(shuffled, budget)


@pytest.mark.parametrize("budget", [0, 300])
def test_no_claims_make_an_empty_pack(budget):
    assert pack([], budget) == Packing(items=(), used=0)
