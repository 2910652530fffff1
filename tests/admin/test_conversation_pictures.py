"""A conversation's pictures say what its log says: what each answer brought and took, what the client held when."""

from datetime import timedelta

import pytest

from memories.access import operator_of
from memories.core.kinds import Kind
from memories.models import Vault
from memories.writing import MemoryInput, forget, remember, supersede
from sessions.core.delta import Served
from sessions.drawing import (
    FULLER,
    HELD,
    NEW,
    NOT_HELD,
    ROWS_DRAWN,
    SERVED,
    held_map,
    news_of_turns,
    savings_of_turns,
)
from sessions.models import WorkingSession
from sessions.stepping import Turn, advance, remembered
from tests.admin.rows import NOW, shown

TEXTS = ("One stays", "Two comes later", "Three goes cold")


@pytest.fixture
def talk(vault):
    """Answer some turns, each with the refs that it serves; returns the session with its log."""

    def answer(*turns: dict[str, int], content: bool = False) -> WorkingSession:
        for number, served in enumerate(turns, start=1):
            advance(
                operator_of(vault),
                Turn(
                    session_id="chat",
                    now=NOW + timedelta(minutes=number),
                    request_digest=f"q{number}",
                    task_terms=("launch", "paint"),
                    tokens=50,
                    content_travels_once=content,
                ),
                served=[Served(ref=ref, rung=rung, item_tokens=10) for ref, rung in served.items()],
            )
        return WorkingSession.objects.get(vault_id=vault.pk, session_id="chat")

    return answer


def _write(vault: Vault, *texts: str) -> list[str]:
    caller = operator_of(vault)
    return [
        remember(caller, MemoryInput(content=text, kind=Kind.EVENT), now=NOW).memory.ref for text in texts
    ]


def _courses(session: WorkingSession, refs: list[str]) -> dict[str, list[int]]:
    """Return the rows of the map, as heats, by the memory's name."""
    chart, _ = held_map(remembered(session), named=refs, texts={})
    words = {
        "new": NEW,
        "held": HELD,
        "served again": SERVED,
        "sent in a fuller form": FULLER,
        "not held": NOT_HELD,
    }
    return {str(row[0]): [words.get(str(cell), NOT_HELD) for cell in row[1:]] for row in chart.rows}


def test_the_map_follows_a_memory_from_new_to_cold(vault, talk):
    one, two, three = refs = _write(vault, *TEXTS)
    session = talk({one: 2, three: 2}, {one: 2, two: 0}, {one: 2, two: 2}, {one: 2}, {one: 2})
    assert _courses(session, refs) == {
        one: [NEW, SERVED, SERVED, SERVED, SERVED],
        three: [NEW, HELD, HELD, HELD, NOT_HELD],
        two: [NOT_HELD, NEW, FULLER, HELD, HELD],
    }


def test_the_map_says_what_took_a_memory_back(vault, talk):
    one, two, _ = refs = _write(vault, *TEXTS)
    talk({one: 2, two: 2})
    supersede(operator_of(vault), one, content="One left", now=NOW + timedelta(seconds=90))
    session = talk({}, {two: 2})
    chart, _ = held_map(remembered(session), named=refs, texts={})
    assert "superseded" in next(row for row in chart.rows if row[0] == one)


def test_what_may_not_be_named_is_not_in_the_map(vault, talk):
    one, two, _ = _write(vault, *TEXTS)
    chart, _ = held_map(remembered(talk({one: 2, two: 2})), named=[two], texts={two: "Two"})
    assert [row[0] for row in chart.rows] == ["Two"]


def test_a_long_conversation_draws_what_was_served_most_and_counts_the_rest(vault, talk):
    refs = _write(vault, *(f"Event number {number}" for number in range(ROWS_DRAWN + 7)))
    session = talk(dict.fromkeys(refs, 2), {refs[-1]: 2})
    chart, undrawn = held_map(remembered(session), named=refs, texts={})
    assert len(chart.rows) == ROWS_DRAWN
    assert undrawn == 7
    assert refs[-1] in {row[0] for row in chart.rows}


def test_the_columns_count_what_each_answer_told(vault, talk):
    one, two, three = _write(vault, *TEXTS)
    session = talk({one: 2, three: 2}, {one: 2, two: 2})
    chart = news_of_turns(remembered(session))
    assert chart.head[:3] == ("Turn", "new", "carried")
    assert [row[:3] for row in chart.rows] == [("1", "2", "0"), ("2", "1", "1")]
    assert savings_of_turns(remembered(session)) == [0.0, 10.0]


def test_the_page_draws_both_and_names_nothing_that_was_forgotten(page, vault, talk):
    one, two, _ = _write(vault, *TEXTS)
    session = talk({one: 2, two: 2}, {one: 2})
    html = shown(page, session, "pk")
    for name in ("turns", "held", "centroid"):
        drawn = html[html.index(f'id="{name}"') :]
        assert "<svg" in drawn[: drawn.index("</section>")], name
    assert "One stays" in html
    forget(operator_of(vault), two, now=NOW + timedelta(hours=1))
    session.refresh_from_db()
    html = shown(page, session, "pk")
    assert "Two comes later" not in html
    assert two not in html
