"""Which memory answers better, and whether any answers at all."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.matching import (
    Signals,
    evidence,
    first_hits,
    lift_over_baseline,
    match_rows,
    strengths_of,
    with_hop,
)
from contextpack.core.threads import lay_out
from contextpack.core.weights import HOP_WEIGHT, RELEVANT_FROM

TALK = [(1, "talk", 1), (2, "talk", 2), (3, "talk", 3), (4, None, None), (5, None, None)]


def signals(gains, **changes):
    """Signals of a layout of five rows, silent but for the gains of two terms of equal weight."""
    rows = np.array(gains, dtype=np.float64)
    silent = np.zeros(len(rows))
    plain = Signals(
        gains=rows,
        weights=np.array([0.5, 0.5]),
        date_terms=np.zeros(2, dtype=bool),
        lift=None,
        person=silent,
        named=silent,
        date=silent,
        time=silent,
        question=silent,
        model="",
        known_name=False,
        unknown_name=False,
    )
    given: dict[str, Any] = {
        name: np.array(value) if isinstance(value, list) else value for name, value in changes.items()
    }
    return replace(plain, **given)


def match(gains, **changes):
    return match_rows(lay_out(TALK), signals(gains, **changes))


def test_an_answer_profits_from_the_question_before_it():
    scores = match([[2, 2], [0, 0], [0, 0], [0, 0], [0, 0]]).scores
    assert scores[0] == scores[1] > scores[2] > 0
    assert scores[3] == scores[4] == 0


def test_a_memory_alone_loses_nothing_to_one_in_a_thread():
    scores = match([[0, 0], [0, 0], [0, 0], [2, 2], [1, 1]]).scores
    assert scores[3] > scores[4] > scores[0] == 0


def test_what_a_named_person_said_comes_before_what_others_said():
    equal = [[1, 1], [0, 0], [0, 0], [1, 1], [1, 1]]
    scores = match(equal, person=[0.0, 0.0, 0.0, 1.0, 0.0]).scores
    assert scores.argmax() == 3


def test_a_time_decides_between_equals_and_a_question_is_no_answer():
    equal = [[0, 0], [0, 0], [0, 0], [1, 1], [1, 1]]
    assert match(equal, time=[0.0, 0.0, 0.0, 0.0, 1.0]).scores.argmax() == 4
    assert match(equal, question=[0.0, 0.0, 0.0, 1.0, 0.0]).scores.argmax() == 4


def test_nothing_that_only_modifies_makes_a_match():
    silent = [[0, 0]] * 5
    assert not match(silent, time=[1.0] * 5, question=[1.0] * 5).found.any()
    assert match(silent, date=[0.0, 0.0, 0.0, 0.0, 1.0]).found.tolist() == [False] * 4 + [True]


def test_chance_likeness_is_not_scaled_up():
    near = match([[0, 0]] * 5, lift=[0.0, 0.0, 0.0, 0.01, 0.0]).channels["meaning"]
    assert near.max() <= 0.1


def test_likeness_counts_from_what_anything_has_in_common_with_the_task():
    many = np.array([0.3] * 30 + [0.9])
    assert lift_over_baseline(many).max() == pytest.approx(0.6)
    assert lift_over_baseline(np.array([0.9, 0.9, 0.9])).min() > 0.7  # three like it: the median is a match
    assert lift_over_baseline(np.zeros(0)).tolist() == []


def test_a_word_of_a_date_is_had_by_a_memory_of_that_day():
    layout = lay_out(TALK)
    dated = signals([[0, 1]] + [[0, 0]] * 4, date_terms=[True, False], date=[1.0, 0.0, 0.0, 0.0, 0.0])
    assert evidence(layout, dated)[0, 0] == pytest.approx(1.0)
    assert evidence(layout, replace(dated, date=np.zeros(5)))[0, 0] == pytest.approx(0.5)


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.integers(0, 2),
    st.floats(0, 1),
)
def test_more_evidence_never_makes_a_match_weaker(features, which, more):
    before = np.array([features])
    after = before.copy()
    after[0, which] = max(after[0, which], more)
    weaker, stronger = (
        strengths_of(table, model="hash-1", known_name=False, unknown_name=False)[0]
        for table in (before, after)
    )
    assert 0 <= weaker <= stronger <= 1


def test_a_whole_match_is_relevant_and_no_match_is_not():
    whole, none = strengths_of(
        np.array([[1.0, 1.0, 0.3], [0.0, 0.0, 0.0]]), model="hash-1", known_name=False, unknown_name=False
    )
    assert whole > 0.5 > RELEVANT_FROM > none


def test_a_name_that_the_vault_has_never_heard_makes_a_match_doubtful():
    half = np.array([[0.5, 0.5, 0.1]])
    unknown, nameless, known = (
        strengths_of(half, model="hash-1", known_name=known, unknown_name=unknown)[0]
        for known, unknown in ((False, True), (False, False), (True, False))
    )
    assert unknown < nameless < known


# -- The second hop ------------------------------------------------------------------------------


def test_a_hop_starts_at_a_few_good_hits_and_ends_where_none_are():
    matching = match([[0, 0], [0, 0], [0, 0], [2, 2], [0.1, 0]])
    assert first_hits(matching).tolist() == [3]
    assert first_hits(match([[0, 0]] * 5)).tolist() == []


def test_a_hop_brings_what_shares_something_with_the_first_hits_behind_them():
    matching = match([[0, 0], [0, 0], [0, 0], [2, 2], [0, 0]])
    hopped = with_hop(matching, np.array([0.0, 0.0, 0.0, 0.0, 2.0]))
    assert hopped.scores[4] == pytest.approx(HOP_WEIGHT)
    assert hopped.scores.argmax() == 3
    assert hopped.channels["hop"].tolist() == [0, 0, 0, 0, 1]
    assert np.array_equal(hopped.strengths, matching.strengths)


def test_no_hop_changes_nothing():
    matching = match([[1, 0]] * 5)
    assert with_hop(matching, np.zeros(5)) is matching
