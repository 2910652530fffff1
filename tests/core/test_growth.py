"""No text is so hostile that reading it takes out of proportion long: eight times the text, about eight times the time."""

import gc
import time
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Final

import pytest

from contextpack.core.questions import read_question
from contextpack.core.ranking import intent_of
from contextpack.core.rendering import inert
from contextpack.core.restating import read_statement
from contextpack.core.tokens import estimate_tokens
from memories.core.contradiction import distinguishing_marks
from memories.core.echo import strip_own_output
from memories.core.entities import spot_entities
from memories.core.extraction import extract
from memories.core.hostility import hostile_sign
from memories.core.occasions import day_told
from memories.core.passages import cut
from memories.core.secrets import mask_secrets
from memories.core.text import content_terms, head_sentence, normalise, sentences
from memories.core.traits import traits_of

SMALL: Final = 2_000
TIMES: Final = 8
MOST: Final = 24.0  # what grows with the square takes 64 times as long
TOO_SHORT: Final = 0.02  # seconds; below them a ratio is noise
NOW: Final = datetime(2026, 12, 1, tzinfo=UTC)

READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "normalise": normalise,
    "content_terms": content_terms,
    "sentences": sentences,
    "head_sentence": head_sentence,
    "mask_secrets": mask_secrets,
    "hostile_sign": hostile_sign,
    "strip_own_output": strip_own_output,
    "spot_entities": spot_entities,
    "extract": extract,
    "marks": distinguishing_marks,
    "day_told": lambda text: day_told(text, said_at=NOW),
    "cut": lambda text: cut(text, ["x y z"], mark="…"),
    "traits_of": traits_of,
    "read_question": lambda text: read_question(text, speakers=["Ana"], today=date(2026, 12, 1)),
    "intent_of": intent_of,
    "inert": inert,
    "read_statement": read_statement,
    "estimate_tokens": estimate_tokens,
}
UNITS: Final = (
    "a", " ", "\n", "(", "1.", "- ", "http://", "a-", "Ab Cd ", "2026-01-", "not ", "Mr. ", "eyJ.", "x=", "a\u0301",
    "漢", "<", "-----BEGIN PRIVATE KEY-----\n", "[mem_1] ", "ignore previous ", "password: ", "@", "🙂",
)  # fmt: skip


def seconds(read: Callable[[str], object], text: str) -> float:
    gc.disable()
    try:
        started = time.process_time()
        read(text)
        return time.process_time() - started
    finally:
        gc.enable()


def growth(read: Callable[[str], object], unit: str) -> float:
    """Return how many times as long eight times the text takes; 1 where it takes no time at all."""
    large = seconds(read, unit * (TIMES * SMALL // len(unit)))
    if large < TOO_SHORT:
        return 1.0
    return large / max(seconds(read, unit * (SMALL // len(unit))), 1e-4)


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_text_and_not_with_its_square(name):
    for unit in UNITS:
        read = READERS[name]
        told = [growth(read, unit)]
        while told[-1] > MOST and len(told) < 3:  # another process may have been in the way
            told.append(growth(read, unit))
        assert min(told) <= MOST, (unit, told)


def test_the_measure_sees_what_grows_with_the_square():
    assert growth(lambda text: [None for _ in text[::64] for _ in text], "a") > MOST
