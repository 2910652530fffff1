"""Refs of memories are short, so two draws may meet: whoever stores one draws again."""

import re

import pytest

from memories import ids
from memories.models import Memory
from memories.writing import remember
from memories.writing.inputs import MemoryInput
from tests.factories import LONG_AGO, make_caller


def test_a_ref_of_a_memory_is_twelve_digits():
    assert re.fullmatch(r"mem_\d{12}", ids.new_memory_ref())


@pytest.mark.django_db
def test_a_ref_that_is_taken_is_drawn_again(monkeypatch):
    draws = iter(["mem_000000000001", "mem_000000000001", "mem_000000000002"])
    monkeypatch.setattr(Memory._meta.get_field("ref"), "_get_default", lambda: next(draws))
    caller = make_caller()
    first = remember(caller, MemoryInput(content="The site is blue"), now=LONG_AGO).memory
    second = remember(caller, MemoryInput(content="The office is open"), now=LONG_AGO).memory
    assert (first.ref, second.ref) == ("mem_000000000001", "mem_000000000002")
