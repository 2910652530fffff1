from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.profiles import PROFILES
from contextpack.core.ranking import (
    Intent,
    absolute_relevances,
    intent_of,
    layer_priors,
    layer_shares,
    pertinence,
    recency_decay,
    utility,
)
from contextpack.core.types import PackLayer
from tests.core.packs import NOON, make_candidate

REFS = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(REFS, st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 2)))
def test_relevance_never_rises_as_the_rank_falls(order, strength):
    relevances = absolute_relevances(order, strength)
    values = list(relevances.values())
    assert list(relevances) == order
    assert values == sorted(values, reverse=True)
    assert all(0 <= value <= 1 for value in values)


def test_strengths_that_agree_with_the_order_stay_as_they_are():
    assert absolute_relevances(["a", "b", "c"], {"a": 0.9, "b": 0.5}) == {"a": 0.9, "b": 0.5, "c": 0.0}


def test_a_match_is_at_least_as_relevant_as_what_stands_behind_it():
    assert absolute_relevances(["a", "b", "c"], {"a": 0.2, "b": 0.6, "c": 0.1}) == {
        "a": 0.6,
        "b": 0.6,
        "c": 0.1,
    }


def test_a_weak_best_match_stays_weak():
    assert absolute_relevances(["a"], {"a": 0.03}) == {"a": 0.03}


@pytest.mark.parametrize(
    ("days", "decay"), [(0, 1.0), (-5, 1.0), (30, 0.5), (60, 0.25), (365, 2 ** (-365 / 30))]
)
def test_recency_halves_every_thirty_days_and_the_future_counts_as_now(days, decay):
    assert recency_decay(NOON - timedelta(days=days), NOON) == pytest.approx(decay)


@pytest.mark.parametrize(
    ("task", "intent"),
    [
        ("When did Caroline visit Oslo?", Intent.RECALL),
        ("How to rotate the signing key", Intent.HOWTO),
        ("Should we move to the new queue or stay?", Intent.DECIDE),
        ("Plan the launch week", Intent.PLAN),
        ("Who owns the billing service?", Intent.WHO),
        ("the planet's whole climate", Intent.RECALL),
        ("", Intent.RECALL),
    ],
)
def test_whole_cue_words_tell_the_intent(task, intent):
    assert intent_of(task) is intent


@pytest.mark.parametrize("task", ["recall it", "should we?", "how to", "plan", "who"])
def test_the_shares_of_every_intent_cover_all_layers_and_add_up(task):
    shares = layer_shares(task)
    assert set(shares) == set(PackLayer)
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) > 0


@pytest.mark.parametrize(
    ("task", "layer"),
    [
        ("when was that", PackLayer.FACTS),
        ("how to deploy", PackLayer.PROCEDURES),
        ("should we switch", PackLayer.DECISIONS),
    ],
)
def test_the_layer_that_the_task_is_after_has_the_highest_prior(task, layer):
    priors = layer_priors(task)
    assert priors[layer] == max(priors.values()) == 1
    assert min(priors.values()) >= 0.7


def test_utility_mixes_relevance_recency_and_authority_by_the_weights_of_the_profile():
    candidate = make_candidate(
        relevance=0.5, confidence=0.8, trust=0.1, occurred_at=NOON - timedelta(days=30)
    )
    expected = 0.9 * (0.58 * 0.5 + 0.27 * 0.5 + 0.15 * 0.8)
    assert utility(candidate, profile=PROFILES["claude"], now=NOON, prior=0.9) == pytest.approx(expected)


def test_what_has_no_score_counts_as_no_match_and_what_has_no_confidence_by_its_trust():
    candidate = make_candidate(relevance=None, confidence=None, trust=0.6)
    expected = 0.14 * 1 + 0.14 * 0.6
    assert utility(candidate, profile=PROFILES["cursor"], now=NOON, prior=1) == pytest.approx(expected)


def test_standing_tells_matches_of_one_strength_apart():
    worths = [
        utility(make_candidate(relevance=0.4, standing=standing), profile=PROFILES["gpt"], now=NOON, prior=1)
        for standing in (1.0, 0.8, 0.1)
    ]
    assert worths == sorted(set(worths), reverse=True)


def test_what_matched_nothing_competes_like_a_match_in_the_middle():
    idle, best, worst = (
        pertinence(make_candidate(relevance=relevance, standing=standing))
        for relevance, standing in ((None, None), (0.4, 1.0), (0.4, 0.41))
    )
    assert best == 1 > idle > worst > 0
