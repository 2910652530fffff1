"""What a proposed text changes, word by word: nothing is lost, nothing is slow."""

from itertools import pairwise
from time import perf_counter

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from memories.core.diffing import Op, diff

WORDS = st.lists(
    st.sampled_from(("a", "b", "tea", " ", "\n", ",", "日", "本", "é", "\u0301")), max_size=30
).map("".join)


def told(old, new):
    return [(str(change.op), change.text) for change in diff(old, new)]


@given(old=WORDS | st.text(max_size=60), new=WORDS | st.text(max_size=60))
@example(old="", new="")
def test_the_stretches_add_up_to_both_texts(old, new):
    changes = diff(old, new)
    assert "".join(change.text for change in changes if change.op is not Op.INSERT) == old
    assert "".join(change.text for change in changes if change.op is not Op.DELETE) == new
    assert all(change.text for change in changes)
    assert all(one.op is not other.op for one, other in pairwise(changes))


def test_a_word_is_the_smallest_change():
    assert told("The rate limit is 60 per minute", "The rate limit is 600 per minute") == [
        ("equal", "The rate limit is "),
        ("delete", "60"),
        ("insert", "600"),
        ("equal", " per minute"),
    ]


def test_in_a_script_without_spaces_it_is_a_character():
    assert told("会議は三階です", "会議は四階です") == [
        ("equal", "会議は"),
        ("delete", "三"),
        ("insert", "四"),
        ("equal", "階です"),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x " + "a b " * 25_000 + "y", "z " + "b a " * 25_000 + "w"),
        ("x " + "a b " * 98 + "y", "z " + "b a " * 98 + "w"),
        ("a " * 197 + "b", "c " + "a " * 150 + "b " * 40 + "d"),
    ],
)
def test_long_and_repetitive_texts_take_no_time(old, new):
    begun = perf_counter()
    diff(old, new)
    assert perf_counter() - begun < 1
