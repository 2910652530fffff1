"""Days at the edges of the calendar: whatever a text says and whenever it is said, it is read, and no day is made up."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextpack.core.questions import read_question, spans_in
from memories.core.days import day_after, end_of_month
from memories.core.occasions import day_due, day_told, tells_of_a_day

EDGES = (date.min, date.max, date.min + timedelta(days=1), date.max - timedelta(days=1))
SAYINGS = (
    "Ana arrived yesterday.",
    "Ana arrived the day before yesterday.",
    "Ana arrives tomorrow.",
    "Send it by tomorrow.",
    "Send it by Friday.",
    "She left 2 weeks ago.",
    "She left 999 weeks ago.",
    "Sie ging vor 3 Wochen.",
    "We met last Friday.",
    "We met last month.",
    "We moved last year.",
    "It began on 29 February.",
    "It will end on 31 December.",
    "It was 0001-01-01, then 9999-12-31.",
    "It was in 9999-12 and 0001-01.",
    "It was 0000-00-00, 9999年12月.",
    "What did Ana do last week?",
    "What did Ana do this month?",
    "Was hat Ana letzten Monat gemacht, im Dezember?",
    "What happened in January, on 1 January, on 31 December?",
)
days = st.dates() | st.sampled_from(EDGES)


@given(day=days, by=st.integers())
def test_a_day_so_many_days_later_is_that_or_none(day, by):
    later = day_after(day, by)
    is_there = date.min.toordinal() <= day.toordinal() + by <= date.max.toordinal()
    assert (later is not None) is is_there
    assert later is None or (later - day).days == by


@given(day=days)
def test_a_month_ends_the_day_before_the_next_begins(day):
    last = end_of_month(day)
    following = day_after(last, 1)
    assert (last.year, last.month) == (day.year, day.month)
    assert following is None or following.day == 1


@given(day=days, text=st.sampled_from(SAYINGS))
@example(day=date.min, text="Ana arrived yesterday.")
@example(day=date.max, text="Send it by tomorrow.")
@example(day=date(1, 1, 2), text="She left 2 weeks ago.")
def test_a_text_is_read_whenever_it_is_said(day, text):
    said_at = datetime.combine(day, time.min, tzinfo=UTC)
    tells_of_a_day(text)
    day_due(text, said_at=said_at)
    told = day_told(text, said_at=said_at)
    assert told is None or told.tzinfo is UTC


@given(today=days, held=days, text=st.sampled_from(SAYINGS))
@example(today=date.min, held=date.min, text="What did Ana do yesterday?")
@example(today=date.max, held=date.min, text="It was 0001-01-01, then 9999-12-31.")
@example(today=date.max, held=date.min, text="It was in 9999-12 and 0001-01.")
@example(today=date.min, held=date.min, text="What happened in January, on 1 January?")
def test_a_question_is_read_whenever_it_is_asked(today, held, text):
    read_question(text, speakers=["Ana"], today=today)
    for span in spans_in(text, today=today):
        assert span.first <= span.last
        assert 0 <= span.closeness(held) <= 1


@pytest.mark.parametrize(
    ("text", "spans"), [("yesterday", []), ("today", [(date.min, date.min)]), ("last week", [])]
)
def test_what_lies_before_the_first_day_is_no_day(text, spans):
    assert [(span.first, span.last) for span in spans_in(text, today=date.min)] == spans
