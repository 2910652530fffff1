"""An answer fits what a client takes, and says what had to go."""

from hypothesis import given, settings
from hypothesis import strategies as st

from contextpack.core.fitting import TRUNCATED, answer_tokens, fitted

LIMIT = 2_000


def item(content: str) -> dict[str, object]:
    return {
        "ref": "mem_0123456789ab",
        "content": content,
        "entities": ["Ana"],
        "source_url": "https://example.org",
    }


def test_what_fits_is_left_alone():
    answer = {"items": [item("Oak is hard.")], "cursor": None}
    assert fitted(answer, limit=LIMIT) is answer


def test_long_texts_are_cut_at_their_ends_and_told():
    answer = {"document": item("oak " * 5_000), "cursor": "mqlc:" + "a" * 300}
    cut = fitted(answer, limit=LIMIT)
    assert answer_tokens(cut) <= LIMIT
    assert cut["document"]["content"].startswith("oak oak")
    assert "more characters]" in cut["document"]["content"]
    assert cut["cursor"] == answer["cursor"]
    assert "texts are cut" in cut[TRUNCATED]


def test_short_texts_stay_whole_beside_a_long_one():
    cut = fitted({"items": [item("Oak is hard."), item("elm " * 5_000)]}, limit=LIMIT)
    assert cut["items"][0]["content"] == "Oak is hard."


def test_where_cutting_texts_is_not_enough_lists_are_cut():
    cut = fitted({"memories": [item("Oak is hard.") for _ in range(500)]}, limit=LIMIT)
    assert answer_tokens(cut) <= LIMIT
    assert 0 < len(cut["memories"]) < 500
    assert "lists after" in cut[TRUNCATED]


@settings(max_examples=10)  # each is measured many times over
@given(st.lists(st.text(max_size=600), max_size=10))
def test_whatever_is_answered_fits(contents):
    assert answer_tokens(fitted({"items": [item(text) for text in contents]}, limit=1_000)) <= 1_000
