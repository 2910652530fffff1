from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.folding import fold_claims
from contextpack.core.types import Candidate, PackLayer
from memories.core.text import hash_terms, terms
from tests.core.packs import NOON, make_candidate, make_ref

RESTATEMENTS = [
    "The staging database is restored from backup every Sunday night.",
    "Every Sunday night the staging database is restored from backup.",
    "Staging's database gets restored from the backup every Sunday night.",
    "We restore the staging database from backup every Sunday night.",
    "Reminder: the staging database is restored from backup every Sunday night.",
    "As discussed, the staging database gets restored from a backup each Sunday night.",
    "The staging database is being restored from backup on every Sunday night.",
    "Note that the staging database is restored from backup every Sunday night!",
    "On Sunday nights, the staging database is restored from backup.",
    "Remember that every Sunday night, staging's database is restored from backup",
    "Please note: the staging database is currently restored from backup every Sunday night.",
    "the staging database is restored from backup every sunday night, again",
    "FYI: the staging database is restored from backup every Sunday night.",
]
OTHER_FACTS = [
    "The office plants are watered on Fridays by whoever leaves last.",
    "Invoices above the limit need two signatures.",
    "The design review takes place in the small meeting room.",
    "Customer exports are deleted from the bucket after a month.",
    "The mobile app supports right-to-left languages.",
    "Our style guide prefers short sentences.",
    "The payment provider calls our webhook twice on timeouts.",
    "Search results are cached at the edge.",
    "New hires get a buddy from another team.",
    "The staging environment has no outgoing mail.",
]


def claim_of(number: int, content: str, **changes: Any) -> Candidate:
    term_ids = hash_terms(terms(content))
    return make_candidate(number, content, **{"term_ids": term_ids, "relevance": 0.5, **changes})


def claims_of(*texts: str, **changes: Any) -> list[Candidate]:
    return [claim_of(number, text, **changes) for number, text in enumerate(texts, start=1)]


def folds(*texts: str, **changes: Any) -> bool:
    return len(fold_claims(claims_of(*texts, **changes))) == 1


def test_one_claim_in_thirteen_wordings_becomes_one():
    claims = fold_claims(claims_of(*RESTATEMENTS, *OTHER_FACTS))
    assert sorted(len(claim.folded_refs) for claim in claims) == [0] * len(OTHER_FACTS) + [12]


def test_copies_of_one_text_become_one_claim_with_all_their_sources():
    copies = [
        claim_of(n, "Rate limit is 60 per minute.", source_urls=(f"https://example.org/{n}",))
        for n in range(49)
    ]
    (claim,) = fold_claims(copies)
    assert claim.occurrences == 49
    assert set(claim.source_urls) == {f"https://example.org/{n}" for n in range(49)}
    assert len(claim.folded_refs) == 48


def test_the_same_text_folds_even_where_it_has_no_terms():
    assert folds("So it is.", "so  it IS.", term_ids=frozenset())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rate limit is 60 per minute for every client", "Rate limit is 600 per minute for every client"),
        ("Rate limit is 60 per minute for every client", "Rate limit is not 60 per minute for every client"),
        ("The limit is two hundred requests for each client", "The limit is three hundred requests for each client"),
        ("Server srv1 hosts the staging database and cache", "Server srv2 hosts the staging database and cache"),
        ("Retries rise from 3 to 5 for the export job", "Retries rise from 5 to 3 for the export job"),
        ("The review happens on 2026-01-05 in the big room", "The review happens on 2026-01-06 in the big room"),
        ("The team meets every Tuesday in the large room", "The team meets every Wednesday in the large room"),
        ("The weekly review is at 10:30 in the large room", "The weekly review is at 11:30 in the large room"),
        ("The review with Ana is held in the small room", "The review with Bob is held in the small room"),
        ("Ana owns the billing service, its alerts and dashboards", "Bob owns the billing service, its alerts and dashboards"),
        ("Ana reports to Bob in the new platform team", "Bob reports to Ana in the new platform team"),
        ("The job sends all files to Paris each night", "The job sends all files to Berlin each night"),
        ("We don't deploy to production before the review", "We deploy to production before the review"),
        ("Wir deployen am Wochenende nicht in die Produktion", "Wir deployen am Wochenende in die Produktion"),
        ("Nous ne livrons jamais la veille de la paie", "Nous livrons la veille de la paie"),
        ("Is the staging database restored from backup?", "The staging database is restored from backup."),
        ("The cache is enabled for the public web page", "The cache is disabled for the public web page"),
        ("The cat sat on the red mat by the kitchen door", "The cat sat on the blue mat by the kitchen door"),
        ("The report goes out daily to the whole finance group", "The report goes out weekly to the whole finance group"),
        ("设备清单在左边的抽屉里", "设备清单在右边的抽屉里"),
        ("李娜负责数据库的迁移计划和测试", "王强负责数据库的迁移计划和测试"),
        ("설비 목록은 왼쪽 서랍 안에 있습니다", "설비 목록은 오른쪽 서랍 안에 있습니다"),
    ],
)  # fmt: skip
def test_it_never_folds_over_a_number_a_date_a_name_or_a_negation(one, other):
    assert not folds(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("设备清单在抽屉里", "设备清单在抽屉里。"),
        (
            "Das Team trifft sich donnerstags im großen Raum.",
            "Das Team trifft sich donnerstags im großen Raum!",
        ),
        ("Ana prefers the window seat on long flights.", "On long flights Ana prefers a window seat."),
    ],
)
def test_it_folds_what_differs_in_wording_alone(one, other):
    assert folds(one, other)


def test_a_short_text_folds_only_with_nearly_the_same_words():
    assert not folds("Ana likes black tea", "Ana likes green tea")
    assert not folds("Ana likes tea", "Ana likes cake")


def test_two_speakers_never_become_one():
    one, other = claims_of("I love long walks by the sea.", "I love long walks by the sea!")
    apart = [one, claim_of(2, other.content, speaker="Ben")]
    assert len(fold_claims([claim_of(1, one.content, speaker="Ana"), apart[1]])) == 2
    assert len(fold_claims(apart)) == 1


def test_it_never_folds_across_an_open_conflict():
    texts = RESTATEMENTS[:3]
    flagged = claim_of(2, texts[1], conflicts_with=frozenset({make_ref(99)}))
    claims = fold_claims([claim_of(1, texts[0]), flagged, claim_of(3, texts[2])])
    assert {claim.ref: claim.folded_refs for claim in claims} == {
        make_ref(1): (make_ref(3),),
        make_ref(2): (),
    }


def test_what_agrees_with_both_sides_does_not_join_them():
    texts = [
        "The nightly report covers all open orders and goes to finance at 6",
        "The nightly report covers all open orders and goes to finance",
        "The nightly report covers all open orders and goes to finance at 7",
    ]
    for claim in fold_claims(claims_of(*texts)):
        assert not {make_ref(1), make_ref(3)} <= {claim.ref, *claim.folded_refs}


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({"relevance": 0.4}, {"relevance": 0.6}),
        ({"relevance": None}, {"relevance": 0.1}),
        ({"captured_at": NOON}, {"captured_at": NOON + timedelta(days=1)}),
        ({"relevance": 0.9}, {"protected": True, "layer": PackLayer.CONSTRAINTS}),
    ],
)
def test_the_survivor_is_the_rule_then_the_most_relevant_then_the_newest(worse, better):
    first, second = claim_of(1, RESTATEMENTS[0], **worse), claim_of(2, RESTATEMENTS[1], **better)
    assert [claim.ref for claim in fold_claims([first, second])] == [second.ref]


def test_between_equals_the_smaller_ref_survives_and_its_sources_come_first():
    mine, other = ("https://example.org/1",), ("https://example.org/2", "https://example.org/1")
    first = claim_of(1, RESTATEMENTS[0], source_urls=mine, occurrences=2)
    second = claim_of(2, RESTATEMENTS[1], source_urls=other, occurrences=3)
    (claim,) = fold_claims([second, first])
    assert (claim.ref, claim.folded_refs) == (make_ref(1), (make_ref(2),))
    assert claim.source_urls == ("https://example.org/1", "https://example.org/2")
    assert claim.occurrences == 5


@st.composite
def pools(draw: st.DrawFn) -> list[Candidate]:
    texts = draw(st.lists(st.sampled_from([*RESTATEMENTS, *OTHER_FACTS, "So it is."]), max_size=14))
    return [
        claim_of(
            number,
            text,
            relevance=draw(st.sampled_from([None, 0.2, 0.7])),
            conflicts_with=draw(st.sampled_from([frozenset(), frozenset(), frozenset({"mem_x"})])),
        )
        for number, text in enumerate(texts)
    ]


@given(pools())
def test_every_candidate_is_in_exactly_one_claim(pool):
    refs = Counter(ref for claim in fold_claims(pool) for ref in (claim.ref, *claim.folded_refs))
    assert refs == Counter(candidate.ref for candidate in pool)


@given(pools(), st.randoms())
def test_the_order_of_the_pool_does_not_matter(pool, random):
    shuffled = list(pool)
    random.shuffle(shuffled)
    assert fold_claims(pool) == fold_claims(shuffled)


@given(pools())
def test_occurrences_and_sources_add_up(pool):
    claims = fold_claims(pool)
    assert sum(claim.occurrences for claim in claims) == sum(candidate.occurrences for candidate in pool)
    assert {url for claim in claims for url in claim.source_urls} == {
        url for candidate in pool for url in candidate.source_urls
    }


@given(st.lists(st.integers(0, 3), max_size=9))
def test_what_restates_the_same_text_is_one_claim_however_many_there_are(numbers):
    leads = ("", "Reminder: ", "Note that ", "FYI: ")
    pool = [claim_of(n, f"{leads[number]}Ana waters the plants") for n, number in enumerate(numbers)]
    assert len(fold_claims(pool)) == min(1, len(pool))
