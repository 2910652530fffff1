"""Where one text stands within another, and what is left when it is cut out."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.core.passages import cut, quotes
from memories.core.text import normalise

SENTENCE = "Zebulon keeps the blue ledger under the stairs"


@pytest.mark.parametrize(
    "written",
    [
        SENTENCE,
        "Zebulon keeps the blue\nledger under the\r\n  stairs",
        "Zebulon  keeps\tthe blue ledger under the\u00a0stairs",
        "ZEBULON KEEPS THE BLUE LEDGER UNDER THE STAIRS",
        "Zébulon keeps the blue led\u00adger under the stairs",
        "Ｚｅｂｕｌｏｎ keeps the blue ledger under the stairs",
    ],
)
def test_a_passage_is_cut_out_however_it_was_written(written):
    assert cut(f"First. {written}, last.", [SENTENCE], mark="#") == "First. #, last."
    assert quotes(f"First. {written}, last.", SENTENCE)


@pytest.mark.parametrize(
    ("around", "passage", "left"),
    [
        ("会议在三楼。张伟的工资是九千元。散会。", "张伟的工资是九千元", "会议在三楼。#。散会。"),
        ("会议在三楼张伟的工资\n是九千元散会", "张伟的工资是九千元", "会议在三楼#散会"),
        ("会議は三階で田中さんの給料は九千円です終わり", "田中さんの給料は九千円です", "会議は三階で#終わり"),
        ("วันนี้สมชายได้เงินเดือนเก้าพันบาทจบ", "สมชายได้เงินเดือนเก้าพันบาท", "วันนี้#จบ"),
        ("김철수의 급여는\n구천 달러이다. 끝.", "김철수의 급여는 구천 달러이다.", "# 끝."),
        ("Он сказал: ЗАРПЛАТА девять\nтысяч!", "зарплата девять тысяч", "Он сказал: #!"),
        ("She said … and left", "said ... and", "She # left"),
        ("we keep e\u0301clairs here", "keep éclairs", "we # here"),
    ],
)
def test_every_script_is_cut(around, passage, left):
    assert cut(around, [passage], mark="#") == left


@pytest.mark.parametrize("text", ["Anabel likes tea", "Susana likes", "Ana_b", "ana1"])
def test_a_word_of_a_spaced_script_is_found_whole_or_not_at_all(text):
    assert cut(text, ["Ana"], mark="#") == text
    assert not quotes(text, "Ana")


def test_passages_that_overlap_leave_one_mark():
    assert cut("a b c d e", ["b c", "c d"], mark="#") == "a # e"
    assert cut("a b c d e", ["b c d", "c"], mark="#") == "a # e"


def test_a_passage_without_a_sign_is_nowhere():
    assert cut("anything", ["", " \n"], mark="#") == "anything"
    assert not quotes("anything", " ")


def test_a_separator_that_only_unicode_calls_white_parts_words_in_any_text():
    assert cut("it is\x1f so", ["is\x1f"], mark="#") == "it #\x1f so"
    assert cut("it is\x1f so, über", ["is\x1f"], mark="#") == "it #\x1f so, über"


@settings(max_examples=100)
@given(before=st.text(max_size=20), passage=st.text(max_size=20), after=st.text(max_size=20))
def test_what_was_put_in_apart_is_cut_out_again(before, passage, after):
    before, passage, after = (part.replace("\0", "") for part in (before, passage, after))
    if normalise(passage):
        assert "\0" in cut(f"{before}\n{passage}\n{after}", [passage], mark="\0")


def test_a_hostile_repetition_takes_no_longer():
    began = time.perf_counter()
    cut("ab " * 300_000, ["ab " * 30_000 + "a"], mark="#")
    cut("a" * 900_000, ["a" * 90_000], mark="#")
    cut("\u0301" * 300_000 + "x", ["x"], mark="#")
    assert time.perf_counter() - began < 5
