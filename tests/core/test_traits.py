"""What a text does beside saying something."""

import pytest

from memories.core.traits import Trait, traits_of


@pytest.mark.parametrize("text", ["Did you see it?", "你去吗？", "Yes. And you? Fine."])
def test_a_question_asks(text):
    assert Trait.ASKS in traits_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "I went last week",
        "Three days ago",
        "Seit Montag",
        "in 2019",
        "el próximo mes",
        "Yesterday!",
        "In October",
    ],
)
def test_a_time_is_told(text):
    assert Trait.TELLS_TIME in traits_of(text)


@pytest.mark.parametrize("text", ["", "Ana likes tea", "They may march on", "Port 20190 is open"])
def test_a_plain_statement_has_no_traits(text):
    assert traits_of(text) is Trait.NONE
