import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.core.contradiction import (
    contradicts,
    dates,
    distinguishing_marks,
    names,
    numbers,
)

CONFLICTS = [
    ("Rate limit is 60 per minute", "Rate limit is 600 per minute", "number"),
    ("Rate limit is 60 per minute", "Rate limit is not 60 per minute", "negation"),
    ("Rate limit is 600 per minute", "Rate limit is not 60 per minute", "number"),
    ("The timeout is 30 seconds.", "The timeout is 45 seconds.", "number"),
    ("Upload limit: 10 MB", "Upload limit: 25 MB", "number"),
    ("max_retries = 3", "max_retries = 5", "number"),
    ("Ana has two children", "Ana has three children", "number"),
    ("The API listens on port 8080", "The API listens on port 9090", "number"),
    ("Deploys are allowed on Fridays", "Deploys are not allowed on Fridays", "negation"),
    ("Deploys are allowed on Fridays", "Deploys are forbidden on Fridays", "negation"),
    ("Ana likes green tea", "Ana doesn't like green tea", "negation"),
    ("Ana likes green tea", "Ana hates green tea", "negation"),
    ("Bob works with the Atlas team", "Bob no longer works with the Atlas team", "negation"),
    ("Feature flags are enabled in staging", "Feature flags are disabled in staging", "negation"),
    ("The cache is on", "The cache is off", "negation"),
    ("The repository is public", "The repository is private", "negation"),
    ("The launch is on 3 May", "The launch is on 5 May", "value"),
    ("Ana's birthday is 3 May", "Ana's birthday is 4 May", "value"),
    ("The project lead is Ana", "The project lead is Bob", "value"),
    ("Our primary database is PostgreSQL", "Our primary database is MySQL", "value"),
    ("Ana lives in Lisbon", "Ana lives in Porto", "value"),
    ("The office is located in Lisbon", "The office is located in Porto", "value"),
    ("Some background first. The timeout is 30 seconds.", "The timeout is 45 seconds now.", "number"),
]

COMPATIBLE = [
    ("Ana leads team red", "Ana likes tea"),
    ("Ana likes tea", "Ana likes coffee"),
    ("Ana likes tea", "Bob does not like tea"),
    ("Meeting on 3 May with Ana", "Meeting on 5 May with Bob"),
    ("Meeting on 3 May with Ana", "Meeting on 5 May with Ana"),
    ("The API is fast", "The API is stable"),
    ("Version 1.2 is out", "Version 1.3 is out"),
    ("Step 1 is to build", "Step 2 is to build"),
    ("Room 12 is booked", "Room 14 is booked"),
    ("Revenue in 2023 is 5 million", "Revenue in 2024 is 6 million"),
    ("Rate limit is 60 per minute", "The rate limit is 60 per minute."),
    ("Rate limit is 60 per minute", "Timeout is 60 seconds"),
    ("Rate limit is at least 60 per minute", "Rate limit is at least 50 per minute"),
    ("We never deploy on Fridays", "Deploys never happen on Fridays"),
    ("Ana reports no bugs", "Bob reports bugs"),
    ("Bob reports to Ana", "Ana does not report to Bob"),
    ("Is the limit 60?", "The limit is 600"),
    ("The limit was 60 per minute", "The limit is 600 per minute"),
    ("It is 60 now", "It is 600 now"),
    ("If the cache is on, the limit is 60", "The limit is 600"),
    ("We use Postgres", "We use Redis"),
    ("We do not use Redis in staging", "We use Redis in production"),
    ("The shop opens at 9 on Monday", "The shop closes at 9 on Monday"),
    ("Deploys are not allowed on Fridays", "Deploys are forbidden on Fridays"),
    ("Ana has ticket 12", "Ana has ticket 14"),
    ("设备在抽屉里", "钥匙在抽屉里"),
    ("", "The limit is 60"),
]


@pytest.mark.parametrize(("a", "b", "reason"), CONFLICTS)
def test_it_finds_what_cannot_both_hold_from_either_side(a, b, reason):
    assert contradicts(a, b) == contradicts(b, a) == reason


@pytest.mark.parametrize(("a", "b"), COMPATIBLE)
def test_it_leaves_in_peace_what_can_both_hold(a, b):
    assert contradicts(a, b) is None
    assert contradicts(b, a) is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_it_is_symmetric_and_nothing_contradicts_itself(a, b):
    assert contradicts(a, a) is None
    assert (contradicts(a, b) is None) == (contradicts(b, a) is None)


class TestMarks:
    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ("Rate limit is 60 per minute", "Rate limit is 600 per minute"),
            ("Rate limit is 60 per minute", "Rate limit is not 60 per minute"),
            ("The launch of the site is on 3 May", "The launch of the site is on 4 May"),
            ("The weekly sync is on Monday", "The weekly sync is on Tuesday"),
            ("Ana leads the red team of the platform group", "Bob leads the red team of the platform group"),
            ("Ana reports to Bob", "Bob reports to Ana"),
            ("A costs 3, B costs 5", "A costs 5, B costs 3"),
            ("Deploys are enabled", "Deploys are disabled"),
            ("Ship before the freeze", "Ship after the freeze"),
            ("会议在三点", "会议在四点"),
            ("我喜欢茶", "我不喜欢茶"),
            ("お茶が好き", "お茶が好きではない"),
            ("Ich mag Tee", "Ich mag keinen Tee"),
            ("Я люблю чай", "Я не люблю чай"),
            ("There are two servers", "There are three servers"),
            ("The limit is ٦", "The limit is ٧"),
        ],
    )
    def test_they_differ_where_numbers_dates_names_or_negations_do(self, a, b):
        assert distinguishing_marks(a) != distinguishing_marks(b)

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ("The rate limit is 60 per minute", "Rate limit: 60 per minute"),
            ("The Atlas launch is owned by Ana", "Ana owns the Atlas launch"),
            ("We deploy Tuesday at 14:00", "Reminder: deploys are on Tuesdays at 14:00"),
            ("We launch on May 3rd", "The launch happens on 3 May"),
            ("It holds 1,000 rows", "it holds 1000 rows"),
            ("There are 3 servers", "We have three servers"),
            ("We don't deploy late", "We do not deploy late"),
        ],
    )
    def test_they_agree_between_wordings_of_one_claim(self, a, b):
        assert distinguishing_marks(a) == distinguishing_marks(b)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60 per minute, 1,000 in all, v1.2.3, 10ms", ("60", "1000", "1.2.3", "10")),
        ("On 3 May 2024 and 2024-05-03 we met 4 clients", ("4",)),
        ("Ubuntu 20.04 at 10:30", ("20.04", "10:30")),
        ("twenty of them", ("20",)),
        ("１２ 个", ("12",)),
        ("none", ()),
    ],
)
def test_it_reads_numbers(text, expected):
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 May 2024", ("2024-05-03",)),
        ("May 3rd, 2024", ("2024-05-03",)),
        ("2024-5-3", ("2024-05-03",)),
        ("on 3rd of May", ("-----05-03",)),
        ("next Monday or in 2025", ("monday", "2025")),
        ("it may rain", ()),
    ],
)
def test_it_reads_dates(text, expected):
    assert dates(text) == expected


def test_it_reads_names_who_acts_first():
    assert names("Ana pays Bob") == ("ana", "bob")
    assert names("Bob is paid by Ana") == ("ana", "bob")


@pytest.mark.parametrize(
    ("text", "negations"),
    [
        ("It works", 0),
        ("It does not work", 1),
        ("It doesn’t work", 1),
        ("It never does nothing", 2),
        ("Not only fast", 0),
    ],
)
def test_it_counts_negations(text, negations):
    assert distinguishing_marks(text).negations == negations


def test_it_reads_the_marks_of_long_texts_too():
    long = "The launch of the site goes well. " * 100
    assert distinguishing_marks(long + "It is on 3 May.") != distinguishing_marks(long + "It is on 4 May.")
