from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextpack.core.folding import Claim, as_claim
from contextpack.core.knapsack import Purchase, pack_by_density, purchase_order
from contextpack.core.ladder import Step, rungs
from contextpack.core.packing import Packing, Tariff
from contextpack.core.profiles import PROFILES
from contextpack.core.types import RUNG_ORDER, Item, PackLayer, Rung
from memories.core.text import hash_terms, terms
from tests.core.packs import NOON, make_candidate, make_ref

PRIORS = dict.fromkeys(PackLayer, 1.0)
SENTENCE = "The export job of team {} failed and had to be started by hand. "


def by_length(item: Item) -> int:
    return len(item.text) // 4 + 20


def tariff(item: Any = by_length, section: int = 0) -> Tariff:
    return Tariff(item=item, headings=lambda candidate: {(candidate.layer,): section})


def claim(number: int, content: str, **changes: Any) -> Claim:
    term_ids = hash_terms(terms(content))
    return as_claim(make_candidate(number, content, **{"term_ids": term_ids, "relevance": 0.5, **changes}))


def short_claims(count: int, **changes: Any) -> list[Claim]:
    return [
        claim(n, f"Fact {n} about thing{n} and place{n} and day{n}.", **changes) for n in range(1, count + 1)
    ]


def order(claims: list[Claim], cost: Tariff | None = None, **changes: Any) -> list[Purchase]:
    settings = {"profile": PROFILES["claude"], "now": NOON, "priors": PRIORS, **changes}
    return list(purchase_order(claims, cost=cost or tariff(), **settings))


def pack(claims: list[Claim], budget: int, cost: Tariff | None = None, **changes: Any) -> Packing:
    settings = {"profile": PROFILES["claude"], "now": NOON, "priors": PRIORS, **changes}
    return pack_by_density(claims, budget, cost=cost or tariff(), **settings)


def refs(packing: Packing) -> list[str]:
    return [item.ref for item in packing.items]


# -- The law of nested packs ---------------------------------------------------------------------


@st.composite
def markets(draw: st.DrawFn) -> tuple[list[Claim], Tariff]:
    """Claims of all sizes, some hard rules, some in conflict, and prices that follow no rule."""
    numbers = range(draw(st.integers(0, 9)))
    claims = []
    for number in numbers:
        candidate = make_candidate(
            number,
            SENTENCE.format(draw(st.integers(0, 3))) * draw(st.sampled_from([1, 1, 2, 4, 30])),
            summary=draw(
                st.sampled_from([None, "It failed, and was started by hand, for want of anybody awake."])
            ),
            relevance=draw(st.none() | st.floats(0, 1)),
            layer=draw(st.sampled_from([PackLayer.CONSTRAINTS, PackLayer.FACTS, PackLayer.RECENCY])),
            protected=draw(st.booleans()),
            captured_at=NOON - timedelta(days=draw(st.integers(0, 90))),
            conflicts_with=frozenset(map(make_ref, draw(st.sets(st.sampled_from(numbers), max_size=2)))),
            term_ids=frozenset(draw(st.sets(st.integers(1, 12), max_size=8))),
        )
        claims.append(as_claim(candidate))
    prices = {
        (make_ref(number), rung): draw(st.integers(1, 20_000) | st.integers(1, 400))
        for number in numbers
        for rung in Rung
    }
    return claims, tariff(lambda item: prices[item.ref, item.rung], draw(st.integers(0, 30)))


def rungs_of(packing: Packing) -> Mapping[str, int]:
    return {item.ref: RUNG_ORDER[item.rung] for item in packing.items}


@given(markets(), st.lists(st.integers(0, 2_000) | st.integers(0, 40_000), min_size=2, max_size=6))
@settings(max_examples=100)
def test_a_larger_budget_packs_every_item_of_a_smaller_one_at_the_same_or_a_fuller_rung(market, budgets):
    claims, cost = market
    packings = [pack(claims, budget, cost) for budget in sorted(budgets)]
    for smaller, larger in pairwise(map(rungs_of, packings)):
        assert all(larger.get(ref, -1) >= rung for ref, rung in smaller.items())


@given(markets(), st.integers(0, 20_000))
@settings(max_examples=100)
def test_a_pack_never_costs_more_than_its_budget(market, budget):
    claims, cost = market
    packing = pack(claims, budget, cost)
    headings = {
        path: tokens for item in packing.items for path, tokens in cost.headings(item.candidate).items()
    }
    real = sum(cost.item(item) for item in packing.items) + sum(headings.values())
    assert real <= packing.used <= budget


@given(markets())
@settings(max_examples=100)
def test_every_claim_is_bought_to_its_full_text_in_the_end(market):
    claims, cost = market
    bought: dict[str, list[int]] = {}
    for purchase in order(claims, cost):
        for item in purchase.items:
            bought.setdefault(item.ref, []).append(RUNG_ORDER[item.rung])
    assert set(bought) == {claim.ref for claim in claims}
    assert all(steps == sorted(set(steps)) for steps in bought.values())
    assert all(steps[-1] == RUNG_ORDER[Rung.FULL] for steps in bought.values())


@given(markets(), st.integers(0, 3_000), st.randoms())
@settings(max_examples=50)
def test_the_order_of_the_claims_does_not_matter(market, budget, random):
    claims, cost = market
    shuffled = list(claims)
    random.shuffle(shuffled)
    assert pack(claims, budget, cost) == pack(shuffled, budget, cost)


@given(markets(), st.integers(0, 3_000))
@settings(max_examples=50)
def test_what_is_not_packed_is_missed(market, budget):
    claims, cost = market
    packing = pack(claims, budget, cost)
    missed = [missed.claim.ref for missed in packing.missed]
    assert sorted(refs(packing) + missed) == sorted(claim.ref for claim in claims)
    assert all(missed.short_by > 0 and missed.tokens > 0 for missed in packing.missed)


def test_a_pack_is_a_prefix_of_the_purchase_order():
    claims = [claim(n, SENTENCE.format(f"a{n}") * n, relevance=n / 10) for n in range(1, 10)]
    totals = list(accumulate(purchase.tokens for purchase in order(claims)))
    for budget in (0, 50, totals[3], totals[3] - 1, 10_000):
        expected = max((total for total in totals if total <= budget), default=0)
        assert pack(claims, budget).used == expected


# -- Nothing starves -----------------------------------------------------------------------------


def test_a_huge_best_item_comes_in_short_form_and_the_small_ones_still_come():
    huge = claim(
        99, "The migration plan is long. " + "It has many steps, each with an owner. " * 520, relevance=1.0
    )
    packing = pack([huge, *short_claims(9, relevance=0.3)], 600)
    assert set(refs(packing)) == {make_ref(99), *(make_ref(n) for n in range(1, 10))}
    (item,) = (item for item in packing.items if item.ref == make_ref(99))
    assert (item.rung, item.text) == (Rung.HEAD, "The migration plan is long.")
    assert packing.used <= 600


def test_the_smallest_budget_holds_the_head_of_the_only_item():
    huge = claim(1, "The plan is long. " + "It has many steps. " * 900, relevance=1.0)
    packing = pack([huge], 300)
    assert [item.rung for item in packing.items] == [Rung.HEAD]
    assert packing.used <= 300


def test_what_cannot_be_shortened_waits_for_a_larger_budget_and_blocks_nobody():
    stubborn = claim(99, "x" * 150, relevance=1.0)
    cost = tariff(lambda item: 5_000 if item.ref == make_ref(99) else 40)
    claims = [stubborn, *short_claims(9, relevance=0.1)]
    small = pack(claims, 600, cost)
    assert set(refs(small)) == {make_ref(n) for n in range(1, 10)}
    assert [missed.claim.ref for missed in small.missed] == [make_ref(99)]
    assert set(refs(pack(claims, 6_000, cost))) == {claim.ref for claim in claims}


def test_little_of_any_budget_is_left_unused():
    claims = [claim(n, SENTENCE.format(f"b{n}") * (n % 9 + 1), relevance=n / 60) for n in range(1, 60)]
    total = sum(purchase.tokens for purchase in order(claims))
    for budget in range(300, total, 170):
        assert budget - pack(claims, budget).used < max(240, budget / 4)


# -- What is worth its tokens --------------------------------------------------------------------


def test_a_relevant_longer_memory_beats_fresh_small_talk():
    small_talk = [
        claim(n, f"Hello number {n}!", relevance=None, trust=0.6, captured_at=NOON) for n in range(1, 9)
    ]
    answer = claim(
        50,
        "Caroline went to the support group in Oslo on the ninth of May and met two old friends of hers there.",
        relevance=0.8,
        captured_at=NOON - timedelta(days=900),
    )
    assert refs(pack([*small_talk, answer], 100))[0] == make_ref(50)


def test_of_equally_useful_claims_the_shorter_is_bought_first():
    short, long = (
        claim(2, "The site moved to Oslo."),
        claim(1, "The site moved to Oslo, " + "as was planned, " * 7),
    )
    assert order([long, short])[0].items[0].ref == make_ref(2)


def test_likeness_to_what_was_bought_makes_room_for_something_else():
    first = claim(1, "The web team owns the marketing site and the blog.", relevance=0.9)
    like = claim(2, "The web team owns the marketing site and its blog.", relevance=0.8)
    other = claim(3, "The mobile team releases on the first day of each month.", relevance=0.79)
    bought = [purchase.items[0].ref for purchase in order([first, like, other])]
    assert bought == [make_ref(1), make_ref(3), make_ref(2)]


def test_equal_offers_go_to_the_smaller_ref():
    claims = [claim(n, "Same size here.", term_ids=frozenset()) for n in (3, 1, 2)]
    assert [purchase.items[0].ref for purchase in order(claims)] == [make_ref(1), make_ref(2), make_ref(3)]


def test_the_first_item_of_a_layer_pays_for_its_heading():
    claims = [
        claim(1, "One fact of two.", relevance=0.9),
        claim(2, "Another fact, the second.", relevance=0.8),
        claim(3, "A decision.", relevance=0.1, layer=PackLayer.DECISIONS),
    ]
    extras = [purchase.tokens - purchase.items[0].tokens for purchase in order(claims, tariff(section=7))]
    assert extras == [7, 0, 7]


# -- The floor and conflicts ---------------------------------------------------------------------


def rule(number: int, **changes: Any) -> Claim:
    content = f"Never touch system{number} on day{number}."
    return claim(
        number, content, **{"layer": PackLayer.CONSTRAINTS, "protected": True, "relevance": None, **changes}
    )


def test_the_best_hard_rule_is_bought_first_although_it_matches_nothing():
    claims = [*short_claims(5, relevance=1.0), rule(90, trust=0.4), rule(91, trust=1.0)]
    assert refs(pack(claims, 60))[0] == make_ref(91)
    assert make_ref(90) not in refs(pack(claims, 60))


def test_a_rule_that_matches_the_task_is_the_best_rule():
    assert refs(pack([rule(90, trust=1.0), rule(91, trust=0.4, relevance=0.9)], 30)) == [make_ref(91)]


def test_further_rules_take_turns_with_the_best_claims():
    claims = [*short_claims(6, relevance=1.0), *(rule(n) for n in range(90, 96))]
    layers = [purchase.items[0].candidate.layer for purchase in order(claims)][:6]
    assert layers == [PackLayer.CONSTRAINTS, PackLayer.FACTS] * 3


def test_what_is_not_protected_has_no_place_on_the_floor():
    claims = [
        rule(90, protected=False, captured_at=NOON - timedelta(days=999)),
        *short_claims(2, relevance=1.0),
    ]
    assert [purchase.items[0].ref for purchase in order(claims)][-1] == make_ref(90)


def test_both_sides_of_a_conflict_are_bought_together():
    weak = claim(
        8,
        "Rate limit is 600.",
        relevance=None,
        conflicts_with=frozenset({make_ref(7)}),
        captured_at=NOON - timedelta(days=400),
    )
    strong = claim(7, "Rate limit is 60.", relevance=1.0, conflicts_with=frozenset({make_ref(8)}))
    first = order([*short_claims(5, relevance=0.6), weak, strong])[0]
    assert [item.ref for item in first.items] == [make_ref(7), make_ref(8)]


def test_a_conflict_with_what_is_not_in_the_pool_changes_nothing():
    lonely = claim(7, "Rate limit is 60.", conflicts_with=frozenset({make_ref(8)}))
    assert refs(pack([lonely], 300)) == [make_ref(7)]


@pytest.mark.parametrize("budget", [0, 300, 12_000])
def test_no_claims_make_an_empty_pack(budget):
    assert pack([], budget) == Packing(items=(), used=0)


def test_an_item_carries_what_was_folded_into_its_claim():
    folded = Claim(
        candidate=make_candidate(1),
        folded_refs=(make_ref(2),),
        source_urls=("https://example.org/notes", "https://example.org/2"),
        occurrences=3,
    )
    (item,) = pack([folded], 300).items
    assert (item.folded_refs, item.source_urls, item.occurrences) == (
        folded.folded_refs,
        folded.source_urls,
        3,
    )
    assert item.tokens == by_length(item)
    assert 0 < item.density < item.utility == round(item.utility, 6)


# -- The smallest budget -------------------------------------------------------------------------


@given(markets(), st.integers(300, 3_000))
@settings(max_examples=100)
def test_no_side_of_a_conflict_comes_alone_where_the_smallest_budget_holds_both(market, budget):
    claims, cost = market
    packed = set(refs(pack(claims, budget, cost)))
    for mine, other in ((a, b) for a in claims for b in claims if a.ref != b.ref):
        if not in_conflict(mine, other) or mine.ref not in packed:
            continue
        heads = [rungs(side.candidate)[0] for side in (mine, other)]
        tokens = sum(
            cost.item(make_item_of(side, head)) for side, head in zip((mine, other), heads, strict=True)
        )
        sections = sum(cost.opening(side.candidate) for side in (mine, other))
        if tokens + sections <= 300:
            sides = {side.ref for side in claims if in_conflict(mine, side)}
            assert packed & sides


def in_conflict(one: Claim, other: Claim) -> bool:
    return one.ref != other.ref and (
        other.ref in one.candidate.conflicts_with or one.ref in other.candidate.conflicts_with
    )


def make_item_of(side: Claim, step: Step) -> Item:
    (item,) = pack([as_claim(side.candidate)], 10**9, tariff()).items
    return replace(item, rung=step.rung, text=step.text)


def test_what_is_too_long_for_the_smallest_budget_is_cut_shorter():
    long = claim(1, "wort" * 2_000, relevance=1.0)
    cost = tariff(lambda item: len(item.text) + 180)
    (item,) = pack([long], 300, cost).items
    assert item.rung is Rung.HEAD
    assert cost.item(item) <= 280
    assert refs(pack([long, *short_claims(9)], 1_200, cost))


def test_the_best_rule_is_bought_before_a_shorter_fact_of_the_task():
    cost = tariff(lambda item: len(item.text) // 2 + 150, section=10)
    long = rule(90, term_ids=frozenset())
    long = replace(long, candidate=replace(long.candidate, content="Never touch the old system at all. " * 7))
    assert refs(pack([long, *short_claims(2, relevance=1.0)], 300, cost))[0] == make_ref(90)
