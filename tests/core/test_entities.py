import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.core.entities import ENTITIES_PER_TEXT, entity_key, spot_entities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana leads team red", ("Ana",)),
        ("Yesterday we met Ana Pereira in Lisbon.", ("Ana Pereira", "Lisbon")),
        ("The Atlas launch is on Monday, 3 May.", ("Atlas",)),
        ("We moved to PostgreSQL from MySQL.", ("PostgreSQL", "MySQL")),
        ("Rate limit is 60 per minute", ()),
        ("Deployments happen late. Running tests is slow.", ()),
        ("Invoices are due in May. Ana is late.", ("Ana",)),
        ("Deploying to Berlin. Berlin is slow.", ("Berlin",)),
        ("Use Redis for caching", ("Redis",)),
        ("Ask @ana_p or mail bob@example.org", ("@ana_p",)),
        ('The codename is "Blue Heron", not "the best one".', ("Blue Heron",)),
        ("Call `get_user` from retry_count_2 and userProfile", ("get_user", "retry_count_2", "userProfile")),
        ("See mem_74c8d142c370 for it", ()),
        ("Caroline: Hey, how are you?\nMelanie: Fine!", ("Caroline", "Melanie")),
        ("TODO: call Bob\nNote: it rains", ("Bob",)),
        ("Ana's bike belongs to J. Smith", ("Ana", "J. Smith")),
        ("The Bank of England and University of Porto", ("Bank of England", "University of Porto")),
        ("NEVER EVER TOUCH THE PRODUCTION DATABASE", ()),
        ("I'm sure I like it", ()),
        ("Встреча с Анной в Москве", ("Встреча", "Анной", "Москве")),
        ("我在读《三体》", ("三体",)),
        ("In May we ship. It may rain.", ()),
        ("Ana met Ana and ANA", ("Ana",)),
        ("", ()),
    ],
)
def test_it_spots_names_by_how_they_are_written(text, expected):
    assert spot_entities(text) == expected


@pytest.mark.parametrize("mark", ["[masked:openai_key]", "`[masked:openai_key]`", '"[masked:password]"'])
def test_the_mark_of_a_masked_secret_is_no_name(mark):
    assert spot_entities(f"Ana uses {mark} in Porto") == ("Ana", "Porto")
    assert spot_entities("The variable openai_key is unset") == ("openai_key",)


def test_it_stops_at_twenty():
    names = " met ".join(f"Person{chr(65 + n)}x" for n in range(30))
    assert len(spot_entities(f"we saw {names}")) == ENTITIES_PER_TEXT


@given(st.text(max_size=300))
def test_it_names_nothing_twice(text):
    keys = [entity_key(name) for name in spot_entities(text)]
    assert len(keys) == len(set(keys)) <= ENTITIES_PER_TEXT
    assert all(keys)


@pytest.mark.parametrize(
    ("first", "second"),
    [("Zoë", "ZOE"), ("Blue  Heron", "blue heron"), ("“Atlas”", "atlas"), ("Ana,", "ana")],
)
def test_it_gives_writings_of_one_name_one_key(first, second):
    assert entity_key(first) == entity_key(second)


@pytest.mark.parametrize(("first", "second"), [("C", "C++"), ("ana", "@ana"), ("Ana", "Anna")])
def test_it_gives_different_names_different_keys(first, second):
    assert entity_key(first) != entity_key(second)


@given(st.text(max_size=60))
def test_its_key_changes_nothing_the_second_time(name):
    assert entity_key(entity_key(name)) == entity_key(name)


@pytest.mark.parametrize(
    "hostile",
    ["A " * 300_000, "a_" * 300_000, '"A' * 300_000, "A.-" * 300_000, "A" * 1_000_000, "`" * 600_000],
)
def test_it_answers_hostile_text_in_linear_time(hostile):
    assert len(spot_entities(hostile)) <= ENTITIES_PER_TEXT
