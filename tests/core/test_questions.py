"""What a task names beside its words: people, days, and whether it asks when."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.questions import DaySpan, read_question, spans_in

TODAY = date(2026, 3, 18)


def read(task, *speakers):
    return read_question(task, speakers=speakers, today=TODAY)


def test_those_who_speak_are_taken_out_of_the_words():
    question = read("What did Ana's brother tell Bogdan?", "Ana", "Bogdan", "Cem")
    assert question.speakers == {"ana", "bogdan"}
    assert "Ana" not in question.text
    assert "Bogdan" not in question.text
    assert "brother" in question.text


def test_a_name_inside_a_word_is_no_name():
    assert read("How is the banana?", "Ana").speakers == frozenset()


def test_a_task_that_is_a_name_keeps_it():
    assert read("Ana", "Ana").text == "Ana"


def test_a_capital_inside_a_sentence_makes_a_name_and_one_that_opens_it_does_not():
    assert read("Where does Mira keep the Atlas files? Under Linden's desk?").names == {
        "mira",
        "atlas",
        "linden",
    }
    assert read("Should I go? Perhaps. What then").names == frozenset()


@pytest.mark.parametrize(
    ("text", "first", "last", "has_year"),
    [
        ("on 2026-02-03", date(2026, 2, 3), date(2026, 2, 3), True),
        ("on 3 May, 2023", date(2023, 5, 3), date(2023, 5, 3), True),
        ("on the 3rd of May 2023", date(2023, 5, 3), date(2023, 5, 3), True),
        ("May 3rd, 2023", date(2023, 5, 3), date(2023, 5, 3), True),
        ("am 3. Mai 2023", date(2023, 5, 3), date(2023, 5, 3), True),
        ("am 3.5.2023", date(2023, 5, 3), date(2023, 5, 3), True),
        ("le 3 mai 2023", date(2023, 5, 3), date(2023, 5, 3), True),
        ("el 3 de mayo de 2023", date(2023, 5, 3), date(2023, 5, 3), True),
        ("in October 2023", date(2023, 10, 1), date(2023, 10, 31), True),
        ("in 2023-02", date(2023, 2, 1), date(2023, 2, 28), True),
        ("in June", date(2024, 6, 1), date(2024, 6, 30), False),
        ("what did we decide yesterday", date(2026, 3, 17), date(2026, 3, 17), True),
    ],
)
def test_a_date_is_read(text, first, last, has_year):
    assert spans_in(text, today=TODAY) == (DaySpan(first=first, last=last, has_year=has_year),)


@pytest.mark.parametrize(
    "text", ["it may march on", "31 February 2023", "version 3.14", "7 dogs", "room 2023"]
)
def test_what_is_no_date_is_not_read(text):
    assert spans_in(text, today=TODAY) == ()


def test_a_day_is_told_on_it_or_soon_after():
    span = DaySpan(first=date(2023, 5, 3), last=date(2023, 5, 3))
    assert span.closeness(date(2023, 5, 3)) == 1.0
    assert 0 < span.closeness(date(2023, 5, 12)) < span.closeness(date(2023, 5, 5)) < 1
    assert span.closeness(date(2023, 5, 30)) == 0.0
    assert span.closeness(date(2023, 4, 20)) == 0.0


def test_a_day_without_a_year_is_meant_in_the_year_that_lies_behind():
    span = DaySpan(first=date(2024, 12, 28), last=date(2024, 12, 28), has_year=False)
    assert span.closeness(date(2025, 12, 28)) == 1.0
    assert span.closeness(date(2026, 1, 2)) > 0.5
    assert span.closeness(date(2026, 6, 1)) == 0.0


def test_29_february_is_near_in_every_year():
    span = DaySpan(first=date(2024, 2, 29), last=date(2024, 2, 29), has_year=False)
    assert span.closeness(date(2023, 3, 1)) > 0.5


@pytest.mark.parametrize("task", ["When did it break?", "Wann war das?", "¿Cuándo fue?", "What year was it?"])
def test_it_notices_that_a_time_is_asked_for(task):
    assert read(task).asks_when


def test_it_asks_for_no_time_where_when_is_a_part_of_a_word():
    assert not read("Describe Wenceslas and the whenua").asks_when


@given(task=st.text(min_size=1, max_size=300))
def test_any_text_can_be_read(task):
    question = read(task, "Ana", "o'neil", "(")
    assert question.text
    assert len(question.spans) <= 8


@pytest.mark.parametrize(
    ("task", "sure"),
    [
        ("Wie viel Gewicht hält die neue Bühne aus?", set()),
        ("Was ergab die Zählung vor der Bäckerei?", set()),
        ("Was hatte das Tropfen im Oberlicht verursacht?", set()),
        ("Welche Impfung braucht man für Kenia?", {"kenia"}),
        ("Hat Bülent in Ankara studiert?", {"bülent", "ankara"}),
    ],
)
def test_a_thing_that_german_writes_with_a_capital_is_not_surely_a_name(task, sure):
    question = read_question(task, speakers=(), today=TODAY, language="german")
    assert question.sure_names == sure
    assert question.sure_names <= question.names
    assert read(task).sure_names == question.names
