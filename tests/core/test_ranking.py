import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.profiles import PROFILES
from contextpack.core.ranking import (
    Intent,
    absolute_relevances,
    fuse,
    intent_of,
    layer_priors,
    layer_shares,
    recency_decay,
    utility,
)
from contextpack.core.types import PackLayer
from tests.core.packs import NOON, make_candidate

REFS = st.lists(st.sampled_from("abcdefgh"), unique=True)
SCORES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 9))


def test_fusion_adds_reciprocal_ranks():
    scores = fuse({"fts": {"a": 9.0, "b": 3.0}, "vector": {"c": 0.1, "b": 0.8}}, k=60, weights={})
    assert scores == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})


def test_fusion_weighs_its_channels():
    scores = fuse({"fts": {"a": 1.0}, "entity": {"b": 1.0}}, k=60, weights={"entity": 0.5})
    assert scores == pytest.approx({"a": 1 / 61, "b": 0.5 / 61})


def test_equal_scores_share_a_place_whatever_their_order():
    one, other = {"a": 2.0, "b": 2.0, "c": 1.0}, {"c": 1.0, "b": 2.0, "a": 2.0}
    assert fuse({"fts": one}) == fuse({"fts": other})
    assert fuse({"fts": one}, k=60)["a"] == fuse({"fts": one}, k=60)["b"] == pytest.approx(1 / 61)
    assert fuse({"fts": one}, k=60)["c"] == pytest.approx(1 / 63)


@given(st.dictionaries(st.sampled_from(["fts", "vector", "entity"]), SCORES))
def test_fusion_scores_every_ref_that_a_channel_found(channels):
    scores = fuse(channels)
    assert set(scores) == {ref for found in channels.values() for ref in found}
    assert all(score > 0 for score in scores.values())


@given(REFS, st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 2)))
def test_relevance_never_rises_as_the_rank_falls(order, strength):
    relevances = absolute_relevances(order, strength)
    values = list(relevances.values())
    assert list(relevances) == order
    assert values == sorted(values, reverse=True)
    assert all(0 <= value <= 1 for value in values)


def test_strengths_that_agree_with_the_order_stay_as_they_are():
    assert absolute_relevances(["a", "b", "c"], {"a": 0.9, "b": 0.5}) == {"a": 0.9, "b": 0.5, "c": 0.0}


def test_neighbours_that_disagree_with_the_order_share_their_mean():
    assert absolute_relevances(["a", "b", "c"], {"a": 0.2, "b": 0.6, "c": 0.1}) == {
        "a": 0.4,
        "b": 0.4,
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


def test_the_fused_order_tells_matches_of_one_strength_apart():
    worths = [
        utility(make_candidate(relevance=0.4, fused_rank=rank), profile=PROFILES["gpt"], now=NOON, prior=1)
        for rank in (1, 2, 50)
    ]
    assert worths == sorted(set(worths), reverse=True)
    assert all(math.isfinite(worth) for worth in worths)
