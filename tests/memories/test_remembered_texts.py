"""A process keeps no text of a memory in mind once it is forgotten."""

import gc
from typing import Any

import pytest

from memories.core import contradiction
from memories.core.contradiction import contradicts, distinguishing_marks
from tests.clients import api_of

pytestmark = pytest.mark.django_db

SECRET = "zebulon keeps 60 blue ledgers under the stairs of the old house in the wood"


def held_texts():
    """Every text in the process's memory that has the secret, but for those of this test."""
    gc.collect()
    found: set[str] = set()
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            found.update(key for key in thing if isinstance(key, str) and SECRET[:30] in key.lower())
        if isinstance(thing, contradiction._Statement):
            found.update({thing.plain} if SECRET[:30] in thing.plain else ())
    return found


def test_no_text_outlives_its_comparison():
    api = api_of()
    ref = api.remember(f"{SECRET}.")["ref"]
    other = api.remember(f"{SECRET.replace('60', '70')}.")["ref"]
    assert len(api.get("conflicts").json()["results"]) <= 1
    for gone in (ref, other):
        api.delete(f"memories/{gone}")
    assert held_texts() == set()


def test_marks_are_remembered_by_digest_and_within_a_bound():
    known = contradiction._KnownMarks(size=3)
    told = [known.of(f"Ana has {number} cats") for number in range(10)]
    assert [marks.numbers for marks in told] == [(str(number),) for number in range(10)]
    assert len(known._known) == 3
    assert all(isinstance(key, bytes) for key in known._known)
    assert known.of("Ana has 9 cats") is told[-1]


def test_what_is_read_is_handed_from_pair_to_pair():
    read: dict[str, Any] = {}
    assert contradicts("The port is 80", "The port is 81", read=read) == "number"
    assert contradicts("The port is 80", "The port is 82", read=read) == "number"
    assert set(read) == {"The port is 80", "The port is 81", "The port is 82"}
    assert distinguishing_marks("The port is 80").numbers == ("80",)
