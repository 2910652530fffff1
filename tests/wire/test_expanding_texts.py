"""Characters that stand for many: what a request costs is bounded by what it is read as, not by what was typed."""

import pytest

from contextpack.core.questions import READ_OF_A_TASK
from memories.core import text as analysis
from memories.core.text import normalise, opening, terms
from tests.clients import api_of
from tests.wire.asking import ask, fill, query

pytestmark = pytest.mark.django_db

LIGATURE = "ﷺ"  # eighteen characters, once composed


@pytest.fixture
def read(monkeypatch):
    """Collect how many characters each analysis composes."""
    lengths: list[int] = []
    compose = analysis._compose

    def counting(text: str) -> str:
        composed = compose(text)
        lengths.append(len(composed))
        return composed

    monkeypatch.setattr(analysis, "_compose", counting)
    monkeypatch.setattr(analysis, "_cached_terms", analysis._cached_terms.__wrapped__)
    return lengths


@pytest.mark.parametrize("send", [ask, lambda api, task: query(api, find=task)], ids=["context", "query"])
@pytest.mark.parametrize("task", [LIGATURE * 8_000, f"{LIGATURE} " * 4_000], ids=["one token", "many"])
def test_a_task_of_ligatures_is_read_as_far_as_any_other(read, send, task):
    api = api_of()
    fill(api, "Oak beams hold the barn.")
    whole = len(normalise(task))
    read.clear()
    send(api, task)
    assert sum(length > READ_OF_A_TASK for length in read) <= 2  # only to see how long it is
    # Ten readings, each of the text and then of its words one by one; whole they would be a million characters.
    assert sum(read) < 2 * whole + 20 * READ_OF_A_TASK


def test_what_is_read_of_a_memory_grows_with_it_and_no_faster(read):
    api = api_of()
    told = []
    for size in (500, 1_000, 2_000):
        read.clear()
        assert api.post("memories", {"content": LIGATURE * size}).status_code == 201
        told.append(sum(read))
    assert told[1] < 2.2 * told[0]
    assert told[2] < 2.2 * told[1]


@pytest.mark.parametrize(
    "text", ["oak " * 3, LIGATURE * 3, "木" * 3, "e\u0301" * 20, "", f"a{LIGATURE}b{LIGATURE}"]
)
@pytest.mark.parametrize("limit", [0, 1, 18, 19, 37, 100])
def test_an_opening_is_a_beginning_that_fits(text, limit):
    kept = opening(text, limit=limit)
    assert text.startswith(kept)
    assert len(normalise(kept)) <= limit


def test_a_task_within_the_limit_is_read_whole():
    task = "Où est la poutre du chêne? " * 300
    assert terms(opening(task, limit=READ_OF_A_TASK)) == terms(task)
