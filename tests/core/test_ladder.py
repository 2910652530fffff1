from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.ladder import SHORT_TEXT_BYTES, WORTHWHILE_SAVING, rungs
from contextpack.core.types import RUNG_ORDER, Rung
from tests.core.packs import make_candidate

HEAD = "The export job failed twice this week."
LONG = f"{HEAD} " + "Each time the disk was full, and somebody had to clean it up by hand. " * 6


def test_a_short_text_has_one_rung():
    (step,) = rungs(make_candidate(content="Short. But two sentences.", summary="Short."))
    assert (step.rung, step.text, step.share) == (Rung.FULL, "Short. But two sentences.", 1.0)


def test_a_long_text_steps_down_to_its_head_sentence():
    assert [(step.rung, step.text) for step in rungs(make_candidate(content=LONG))] == [
        (Rung.HEAD, HEAD),
        (Rung.FULL, LONG),
    ]


def test_a_stored_summary_stands_between_head_and_full_text():
    summary = "The export job failed twice since the disk was full; it needs a clean-up job."
    steps = rungs(make_candidate(content=LONG, summary=summary))
    assert [step.rung for step in steps] == [Rung.HEAD, Rung.SUMMARY, Rung.FULL]
    assert steps[1].text == summary


@pytest.mark.parametrize("summary", ["", LONG[:-20], LONG * 2])
def test_a_summary_that_saves_nothing_is_no_rung(summary):
    steps = rungs(make_candidate(content=LONG, summary=summary))
    assert Rung.SUMMARY not in {step.rung for step in steps}


def test_a_summary_shorter_than_the_head_takes_its_place():
    assert [step.rung for step in rungs(make_candidate(content=LONG, summary="Disk full."))] == [
        Rung.SUMMARY,
        Rung.FULL,
    ]


def test_one_long_sentence_is_cut_at_a_word():
    head, full = rungs(make_candidate(content="word " * 400))
    assert head.text.endswith("word…")
    assert len(head.text) <= 240 < len(full.text)


def test_a_head_without_the_words_that_matched_is_worth_less():
    here, there = (
        rungs(make_candidate(content=LONG, matched_terms=(word,)))[0].share for word in ("export", "disk")
    )
    assert there < here < 1


@given(st.text(max_size=600), st.none() | st.text(max_size=300))
def test_rungs_grow_in_every_respect_and_end_with_the_full_text(content, summary):
    steps = rungs(make_candidate(content=content, summary=summary))
    assert (steps[-1].rung, steps[-1].text) == (Rung.FULL, content)
    assert len(steps) == 1 or steps[-1].size > SHORT_TEXT_BYTES
    for thinner, fuller in pairwise(steps):
        assert RUNG_ORDER[thinner.rung] < RUNG_ORDER[fuller.rung]
        assert 0 < thinner.size * WORTHWHILE_SAVING <= fuller.size
        assert 0 < thinner.share < fuller.share
