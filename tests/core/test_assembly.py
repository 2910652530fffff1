from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextpack.core.assembly import assemble
from contextpack.core.profiles import PROFILES, clamp_budget
from contextpack.core.rendering import headings_of, item_text
from contextpack.core.tokens import estimate_tokens, family_of
from contextpack.core.types import (
    RUNG_ORDER,
    Candidate,
    ContextRequest,
    Pack,
    PackFormat,
    PackLayer,
    Pool,
    Rung,
)
from memories.core.kinds import Kind
from memories.core.text import hash_terms, terms
from tests.core.packs import NOON, make_candidate, make_ref, make_request

LONG = (
    "The export job failed twice this week. "
    + "Each time the disk was full, and somebody cleaned it by hand. " * 40
)
TEXTS = [
    "Ana prefers the window seat on long flights.",
    "On long flights Ana prefers a window seat.",
    "We use two approvals for every change of the billing service.",
    "数据库在六月迁移，王强负责测试。",
    "The launch is planned for the ninth of May. "
    + "Marketing needs the final texts two weeks earlier. " * 8,
    LONG,
    "Great job everyone! 🎉 See you tomorrow 😀.",
]


def candidate(number: int, content: str, **changes: Any) -> Candidate:
    term_ids = hash_terms(terms(content))
    return make_candidate(number, content, **{"term_ids": term_ids, "relevance": 0.5, **changes})


def facts(count: int, **changes: Any) -> tuple[Candidate, ...]:
    texts = (f"Fact {n} tells of thing{n}, of place{n} and of person{n}." for n in range(1, count + 1))
    return tuple(candidate(n, text, **changes) for n, text in enumerate(texts, start=1))


def request(name: str = "claude", budget: int | None = None, **changes: Any) -> ContextRequest:
    profile = PROFILES[name]
    model = None if name == "generic" else name
    return make_request(profile=profile, model=model, budget=clamp_budget(budget, profile), **changes)


def pack(
    *candidates: Candidate,
    name: str = "claude",
    budget: int | None = None,
    relevant: bool = True,
    **changes: Any,
) -> Pack:
    return assemble(Pool(candidates=candidates, relevant=relevant), request(name, budget, **changes))


def outcomes(packed: Pack) -> dict[str, str]:
    return {fate.ref: fate.outcome for fate in packed.fates}


# -- The budget ----------------------------------------------------------------------------------


@st.composite
def pools(draw: st.DrawFn) -> tuple[Candidate, ...]:
    numbers = range(draw(st.integers(0, 10)))
    return tuple(
        candidate(
            number,
            draw(st.sampled_from(TEXTS)),
            layer=draw(st.sampled_from(PackLayer)),
            relevance=draw(st.none() | st.floats(0, 1)),
            fused_rank=draw(st.none() | st.integers(1, 200)),
            protected=draw(st.booleans()),
            captured_at=NOON - timedelta(days=draw(st.integers(0, 60))),
            conflicts_with=frozenset(map(make_ref, draw(st.sets(st.sampled_from(numbers), max_size=1)))),
            entities=tuple(draw(st.sets(st.sampled_from(["Ana", "Billing", "Atlas"])))),
            source_urls=tuple(
                f"https://example.org/{'x' * draw(st.integers(0, 400))}/{n}" for n in range(1, 3)
            ),
        )
        for number in numbers
    )


@given(pools(), st.sampled_from(sorted(PROFILES)), st.sampled_from(PackFormat), st.integers(300, 4_000))
@settings(max_examples=60)
def test_what_is_sent_fits_the_budget_in_every_format(candidates, name, fmt, budget):
    asked = request(name, budget, format=fmt)
    packed = assemble(Pool(candidates=candidates), asked)
    headings = {
        heading.path: heading.text for item in packed.items for heading in headings_of(item.candidate, fmt)
    }
    parts = [
        *headings.values(),
        *(item_text(item, fmt) for item in packed.items),
    ]
    family = family_of(asked.profile, asked.model)
    # Part by part and as a whole: the two differ, since a text in plain English is counted otherwise than another.
    costs = (sum(estimate_tokens(part, family) for part in parts), estimate_tokens("".join(parts), family))
    assert packed.budget.used == min(costs)
    assert costs[0] <= asked.budget
    assert packed.budget.tokens == asked.budget
    assert packed.budget.used <= asked.budget
    assert packed.budget.content_tokens <= max(packed.budget.used, 1) * 1.1


@given(
    pools(),
    st.sampled_from(["claude", "gpt", "cursor"]),
    st.sampled_from(PackFormat),
    st.lists(st.integers(0, 4_000), min_size=2, max_size=5),
)
@settings(max_examples=60)
def test_a_larger_budget_sends_every_item_of_a_smaller_one_at_the_same_or_a_fuller_rung(
    candidates, name, fmt, budgets
):
    packs = [
        assemble(Pool(candidates=candidates), request(name, budget, format=fmt)) for budget in sorted(budgets)
    ]
    rungs = [{item.ref: RUNG_ORDER[item.rung] for item in packed.items} for packed in packs]
    for smaller, larger in pairwise(rungs):
        assert all(larger.get(ref, -1) >= rung for ref, rung in smaller.items())


@given(pools(), st.sampled_from(sorted(PROFILES)), st.integers(300, 2_000), st.randoms())
@settings(max_examples=40)
def test_equal_pools_give_equal_packs_in_whatever_order_they_come(candidates, name, budget, random):
    shuffled = list(candidates)
    random.shuffle(shuffled)
    asked = request(name, budget)
    one = assemble(Pool(candidates=candidates), asked)
    other = assemble(Pool(candidates=tuple(shuffled)), asked)
    assert replace(one, fates=()) == replace(other, fates=())
    assert set(one.fates) == set(other.fates)


@pytest.mark.parametrize("fmt", PackFormat)
def test_a_huge_best_memory_comes_short_beside_nine_small_ones(fmt):
    huge = candidate(
        99, "The migration plan is long. " + "It has many steps, each with an owner. " * 520, relevance=1.0
    )
    budget = 600 if fmt is PackFormat.MARKDOWN else 2_500
    packed = pack(huge, *facts(9, relevance=0.3), budget=budget, format=fmt)
    assert len(packed.items) == 10
    assert next(item.rung for item in packed.items if item.ref == huge.ref) is Rung.HEAD


@pytest.mark.parametrize("fmt", PackFormat)
@pytest.mark.parametrize(
    "sentence",
    ["It has many steps, each of them with an owner. ", "每一步都有一个负责人，而且必须在六月底之前完成。"],
)
def test_the_smallest_budget_holds_the_head_of_a_huge_only_memory(fmt, sentence):
    packed = pack(candidate(1, sentence * 400, relevance=1.0), budget=300, format=fmt)
    assert [item.rung for item in packed.items] == [Rung.HEAD]
    assert packed.budget.used <= 300


PARTS = {
    "thai": "ระบบสำรองข้อมูลทำงานทุกคืนวันอาทิตย์และต้องมีคนตรวจสอบผลลัพธ์ในเช้าวันจันทร์ก่อนเริ่มประชุมประจำสัปดาห์ของทีม",
    "amharic": "የመጠባበቂያ ስርዓቱ በየሳምንቱ እሁድ ማታ ይሰራል እና ውጤቱ ሰኞ ጠዋት ከስብሰባው በፊት መፈተሽ አለበት ይህ ግዴታ ነው ለሁሉም አባላት",
    "german": "Die Datensicherungsverantwortlichen der Verwaltungsgemeinschaft überprüfen die Wiederherstellungsprotokolle "
    "der Buchhaltungsdatenbank spätestens am darauffolgenden Arbeitstag, bevor die Abteilungsbesprechung beginnt, und "
    "dokumentieren sämtliche Unregelmäßigkeiten im Qualitätssicherungshandbuch der Hauptgeschäftsstelle.",
    "one word": "x7Kq" * 2_250,
    "rule": "Never send invoices, offers or reminders to customers without a second pair of eyes on the figures, on the "
    "address and on the date, since two of the last ten letters had to be called back, which cost us a long week "
    "and one of our oldest customers.",
    "emoji": "🎉🚀" * 200,
}  # fmt: skip


@pytest.mark.parametrize("budget", [300, 301, 340, 420, 600])
@pytest.mark.parametrize("fmt", PackFormat)
@pytest.mark.parametrize("name", sorted(PROFILES))
@pytest.mark.parametrize("part", sorted(PARTS))
def test_no_budget_is_too_small_for_the_best_rule_or_for_the_only_memory(part, name, fmt, budget):
    alone = pack(candidate(1, PARTS[part], relevance=0.9), name=name, budget=budget, format=fmt)
    assert alone.refs == (make_ref(1),)
    best = candidate(
        1, PARTS[part], kind=Kind.NEGATIVE, layer=PackLayer.CONSTRAINTS, protected=True, relevance=None
    )
    packed = pack(best, *facts(4, relevance=0.9), name=name, budget=budget, format=fmt)
    assert best.ref in packed.refs
    assert packed.budget.used <= packed.budget.tokens == budget


@pytest.mark.parametrize("fmt", PackFormat)
def test_a_memory_with_many_names_and_sources_is_cut_so_that_all_fits(fmt):
    names = tuple(f"Person {n}" for n in range(12))
    packed = pack(
        candidate(1, PARTS["german"], entities=names, relevance=0.9), name="claude", budget=300, format=fmt
    )
    assert packed.refs == (make_ref(1),)


def test_more_copies_do_not_make_a_larger_pack():
    def copies(count: int) -> tuple[Candidate, ...]:
        return tuple(candidate(n, TEXTS[0]) for n in range(1, count + 1))

    few, many = pack(*copies(2)), pack(*copies(49))
    assert len(few.items) == len(many.items) == 1
    assert many.budget.used == few.budget.used
    assert many.items[0].occurrences == 49


# -- The order -----------------------------------------------------------------------------------


def test_the_most_useful_comes_first():
    packed = pack(
        *(candidate(n, f"Thing{n} is at place{n} since day{n}.", relevance=n / 10) for n in range(1, 8))
    )
    assert packed.refs == tuple(make_ref(n) for n in range(7, 0, -1))


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_the_sides_of_a_conflict_stand_side_by_side_the_newest_first(name):
    old = candidate(
        51,
        "Rate limit is 60.",
        relevance=0.9,
        captured_at=NOON - timedelta(days=9),
        conflicts_with=frozenset({make_ref(52), make_ref(53)}),
    )
    denial = candidate(
        53,
        "Rate limit is not 60.",
        relevance=0.1,
        captured_at=NOON - timedelta(days=2),
        conflicts_with=frozenset({old.ref}),
    )
    new = candidate(52, "Rate limit is 600.", relevance=0.2, conflicts_with=frozenset({old.ref}))
    packed = pack(*facts(5, relevance=0.6), old, denial, new, name=name)
    first = packed.refs.index(new.ref)
    assert packed.refs[first : first + 3] == (new.ref, denial.ref, old.ref)


# -- The account ---------------------------------------------------------------------------------


def test_an_empty_vault_gets_an_empty_pack():
    packed = pack()
    assert (packed.items, packed.fates, packed.left_out) == ((), (), ())
    assert packed.coverage.status == "empty"
    assert packed.budget.used == packed.distinct_facts_per_1k_tokens == 0


@pytest.mark.parametrize(
    ("relevant", "budget", "status"),
    [(True, None, "complete"), (True, 300, "usable"), (False, None, "weak"), (False, 300, "weak")],
)
def test_coverage_tells_how_complete_a_pack_is(relevant, budget, status):
    assert pack(*facts(30), budget=budget, relevant=relevant).coverage.status == status


def test_coverage_counts_what_is_there_what_was_folded_and_what_found_no_place():
    candidates = (
        *(candidate(n, TEXTS[n - 1]) for n in (1, 2)),
        candidate(3, "Never deploy on a Friday.", layer=PackLayer.CONSTRAINTS, protected=True),
        candidate(4, "x" * 5_000, layer=PackLayer.DECISIONS, relevance=0.9),
    )
    pool = Pool(
        candidates=candidates, excluded_uncited=2, pending_excluded=3, stated=("vectors are rebuilding",)
    )
    packed = assemble(pool, request(budget=2_000))
    assert packed.coverage.layers_with_evidence == (
        PackLayer.CONSTRAINTS,
        PackLayer.DECISIONS,
        PackLayer.FACTS,
    )
    assert packed.coverage.sections_omitted == ()
    assert packed.coverage.deduped == 1
    assert (packed.coverage.excluded_uncited, packed.coverage.pending_excluded) == (2, 3)
    assert packed.stated == ("vectors are rebuilding",)


def test_a_layer_whose_candidates_found_no_place_is_omitted():
    late = candidate(
        80, "An older decision about nothing in particular.", layer=PackLayer.DECISIONS, relevance=None
    )
    packed = pack(*facts(20, relevance=0.9), late, budget=300)
    assert packed.coverage.sections_omitted == (PackLayer.DECISIONS,)


@pytest.mark.parametrize("name", ["claude", "generic"])
def test_every_candidate_has_one_fate(name):
    candidates = (*facts(30), candidate(60, TEXTS[0]), candidate(61, TEXTS[1]))
    packed = pack(*candidates, name=name, budget=500)
    assert sorted(fate.ref for fate in packed.fates) == sorted(candidate.ref for candidate in candidates)
    told = outcomes(packed)
    assert [ref for ref, outcome in told.items() if outcome == "packed"] != []
    assert {ref for ref, outcome in told.items() if outcome == "packed"} == set(packed.refs)
    assert [fate.ref for fate in packed.fates if fate.outcome == "outbid"] == list(packed.left_out)
    assert all(fate.short_by > 0 for fate in packed.fates if fate.outcome == "outbid")


def test_a_folded_memory_tells_into_which():
    (folded,) = (
        fate
        for fate in pack(*(candidate(n, TEXTS[n - 1]) for n in (1, 2))).fates
        if fate.outcome == "folded_into"
    )
    assert (folded.ref, folded.into) == (make_ref(2), make_ref(1))


def test_what_is_left_out_is_offered_best_first():
    packed = pack(
        *(candidate(n, f"Thing{n} is at place{n} since day{n}.", relevance=n / 40) for n in range(1, 40)),
        budget=400,
    )
    assert list(packed.left_out) == [make_ref(n) for n in range(39 - len(packed.items), 0, -1)]


def test_pages_carry_every_claim_once():
    candidates = (*facts(25), candidate(60, TEXTS[0]), candidate(61, TEXTS[1]), candidate(62, LONG))
    sent: list[str] = []
    for _ in range(30):
        page = pack(*candidates, budget=500, already_sent=frozenset(sent))
        sent += page.refs
        if not page.left_out:
            break
    assert sorted(sent) == sorted(candidate.ref for candidate in candidates if candidate.ref != make_ref(61))


def test_what_was_sent_before_is_neither_packed_nor_left_out():
    packed = pack(*facts(3), already_sent=frozenset({make_ref(1)}))
    assert set(packed.refs) == {make_ref(2), make_ref(3)}
    assert packed.left_out == ()
    assert outcomes(packed)[make_ref(1)] == "already_sent"


def test_distinct_facts_are_counted_per_thousand_tokens():
    packed = pack(*facts(4))
    assert packed.distinct_facts_per_1k_tokens == pytest.approx(4_000 / packed.budget.used, abs=0.01)


def test_recency_is_measured_from_the_moment_asked_for():
    old, new = (
        candidate(n, f"Thing{n} is at place{n}.", captured_at=NOON - timedelta(days=days))
        for n, days in ((1, 60), (2, 0))
    )
    then = pack(old, new, as_of=NOON)
    assert then.refs == (new.ref, old.ref)
    assert then.items[1].utility < then.items[0].utility
    later = pack(old, new, as_of=NOON + timedelta(days=3_000))
    assert later.items[0].utility == pytest.approx(later.items[1].utility)


def test_the_generic_pack_neither_folds_nor_shortens():
    packed = pack(candidate(1, TEXTS[0]), candidate(2, TEXTS[1]), candidate(3, LONG), name="generic")
    assert len(packed.items) == 3
    assert {item.rung for item in packed.items} == {Rung.FULL}
    assert packed.coverage.deduped == 0
