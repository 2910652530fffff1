from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.core.extraction import DRAFTS_PER_CAPTURE, LONGEST_DRAFT, extract
from memories.core.kinds import Kind

# Pieces out of which notes, lists, transcripts and code are made.
pieces = st.lists(
    st.sampled_from(
        ["Ana: hi.", "Bob (10:32): ok!", "\n", "\n\n", "1. stop", "2) start", "- item", "```", "# Head", "| a | b |",
         "We decided.", "    indented", "---", "设备在抽屉里。", " ", "word", "3 May 2024", "Steps:", "x" * 70]
    )
    | st.text(max_size=30),
    max_size=30,
).map("".join)  # fmt: skip


def told(text):
    return [(draft.content, draft.kind.value) for draft in extract(text)]


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("We decided to use PostgreSQL.", Kind.DECISION),
        ("We'll go with option B.", Kind.DECISION),
        ("Decision: ship on Linux only", Kind.DECISION),
        ("The team agreed on two reviewers.", Kind.DECISION),
        ("I prefer short answers.", Kind.PREFERENCE),
        ("I don't like meetings before ten.", Kind.PREFERENCE),
        ("Ana likes green tea.", Kind.PREFERENCE),
        ("My favourite editor is Vim.", Kind.PREFERENCE),
        ("Never deploy on Fridays.", Kind.NEGATIVE),
        ("Do not edit the generated files.", Kind.NEGATIVE),
        ("Releases must always have a changelog.", Kind.NEGATIVE),
        ("You must not share the key.", Kind.NEGATIVE),
        ("What is the port?", Kind.QUESTION),
        ("端口是多少？", Kind.QUESTION),
        ("TODO: renew the certificate", Kind.ACTION),
        ("We need to renew the certificate.", Kind.ACTION),
        ("Bob will send the report by Friday.", Kind.ACTION),
        ("Don't forget to call Ana.", Kind.ACTION),
        ("We met the auditors on 3 May 2024.", Kind.EVENT),
        ("Answer in British English.", Kind.STYLE),
        ("TL;DR the release is late", Kind.SUMMARY),
        ("The standup takes place on Mondays.", Kind.CLAIM),
        ("The port is 8766.", Kind.CLAIM),
        ("It looks like rain.", Kind.CLAIM),
        ("We do not have a car.", Kind.CLAIM),
        ("Don't worry about it.", Kind.CLAIM),
    ],
)
def test_it_types_a_sentence_by_how_it_is_phrased(sentence, kind):
    assert told(sentence) == [(sentence, kind.value)]


def test_it_makes_one_claim_of_each_sentence():
    assert told("The port is 8766. The host is 127.0.0.1!") == [
        ("The port is 8766.", "claim"),
        ("The host is 127.0.0.1!", "claim"),
    ]


def test_it_keeps_the_steps_of_a_procedure_together_with_what_leads_in():
    text = "To release:\n1. Tag it.\n   Sign the tag.\n2. Push it.\n\n3. Tell everyone.\nThe port is 8766."
    first, second = extract(text)
    assert first.kind is Kind.PROCEDURE
    assert first.content == "To release:\n1. Tag it.\n   Sign the tag.\n2. Push it.\n3. Tell everyone."
    assert second.content == "The port is 8766."


def test_it_gives_each_bullet_its_own_memory_and_the_heading_to_the_first():
    assert told("## Notes\n- We decided to wait.\n- The port is 8766.") == [
        ("## Notes\n- We decided to wait.", "decision"),
        ("- The port is 8766.", "claim"),
    ]


def test_it_lets_a_heading_say_what_its_list_holds():
    text = "Rules:\n- All migrations are reversible.\n- Never deploy late.\n\nThe port is 80.\n# Open questions\n- the port of the cache"
    assert [kind for _, kind in told(text)] == ["negative", "negative", "claim", "question"]


def test_it_reads_a_transcript_turn_by_turn():
    text = "Meeting notes\nAna: I moved to Lisbon on 3 May 2024.\nIt is warm.\n\nBob: We decided to visit.\nAna: When?\nBob: Soon."
    drafts = extract(text, occurred_at=datetime(2024, 5, 8, tzinfo=UTC))
    assert [(draft.speaker, draft.kind) for draft in drafts] == [
        (None, Kind.CLAIM),
        ("Ana", Kind.EVENT),
        ("Bob", Kind.DECISION),
        ("Ana", Kind.QUESTION),
        ("Bob", Kind.OBSERVATION),
    ]
    assert drafts[1].content == "Ana: I moved to Lisbon on 3 May 2024.\nIt is warm."
    assert drafts[1].entities == ("Ana", "Lisbon")
    assert [draft.position for draft in drafts] == [0, 1, 2, 3, 4]
    told_on, said_on = datetime(2024, 5, 3, tzinfo=UTC), datetime(2024, 5, 8, tzinfo=UTC)
    assert [draft.occurred_at for draft in drafts] == [said_on, told_on, said_on, said_on, said_on]


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        ("User: Hello there\nAssistant: Hi!\nUser: Bye", ["User", "Assistant", "User"]),
        ("[10:32] Ana: hi.\n[10:33] Bob Ray: hello.", ["Ana", "Bob Ray"]),
        ("**Ana:** hi.\n**Bob:** hello.", ["Ana", "Bob"]),
        ("小明：你好。\n小红：你好！", ["小明", "小红"]),
        ("Анна: Привет.\nИван: Привет!", ["Анна", "Иван"]),
        ("Port: 80\nHost: localhost", [None, None]),
        ("Note: it rains.\nWarning: it pours.", [None, None]),
        ("Ana: hi.", [None]),
    ],
)
def test_it_knows_a_transcript_from_a_list_of_fields(text, speakers):
    assert [draft.speaker for draft in extract(text)] == speakers


def test_it_keeps_code_and_tables_whole():
    assert told("Run this:\n```sh\nmake demo\nmake test\n```\n| a | b |\n| 1 | 2 |") == [
        ("Run this:\n```sh\nmake demo\nmake test\n```", "claim"),
        ("| a | b |\n| 1 | 2 |", "claim"),
    ]


def test_it_joins_a_sentence_that_was_wrapped_by_hand():
    text = "The staging server stands in Lisbon and is\nreachable from the office network only.\nAsk Ana."
    assert [draft.content for draft in extract(text)] == [
        "The staging server stands in Lisbon and is reachable from the office network only.",
        "Ask Ana.",
    ]


def test_it_makes_claims_of_other_languages():
    drafts = extract("Wir warten noch. Der Port ist 80. 设备在抽屉里。", language="german")
    assert [draft.kind for draft in drafts] == [Kind.CLAIM] * 3


def test_it_types_of_other_languages_what_is_plain():
    drafts = extract("Wir haben beschlossen zu warten. ¿Quién viene? 我们决定等待。", language="german")
    assert [draft.kind for draft in drafts] == [Kind.DECISION, Kind.QUESTION, Kind.DECISION]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Jonas repairs clocks. He has a shop in Bern.", {"Jonas", "Bern"}),
        ("Jonas works in Bern. His shop is small.", {"Jonas"}),
        ("Jonas met Piet. He has a shop.", set()),  # two may be meant
        ("Jonas likes his brother. He has a shop.", set()),
        ("Jonas repairs clocks. It rains. He has a shop.", set()),  # not the sentence before
        ("Atlas shipped late. He was angry.", set()),  # perhaps no person
        ("Jonas repairs clocks. He told Piet.", {"Piet"}),
        ("Jonas repairs clocks. They are old.", set()),
    ],
)
def test_a_pronoun_is_tied_to_whom_it_means_only_where_that_is_certain(text, meant):
    drafts = extract(text)
    assert set(drafts[-1].entities) == meant
    assert " ".join(draft.content for draft in drafts) == text  # and no word is changed


def test_a_turn_is_split_around_what_is_decided_or_to_be_done_in_it():
    text = (
        "Ana: Lovely day. We decided to paint the fence white. Bo needs to buy the paint. See you!\nBo: Ok."
    )
    assert [(draft.kind.value, draft.content, draft.speaker) for draft in extract(text)] == [
        ("observation", "Ana: Lovely day.", "Ana"),
        ("decision", "We decided to paint the fence white.", "Ana"),
        ("action", "Bo needs to buy the paint.", "Ana"),
        ("observation", "See you!", "Ana"),
        ("observation", "Bo: Ok.", "Bo"),
    ]


def test_what_points_back_stays_in_its_turn():
    assert told("Ana: The fence is grey. We decided to paint it.\nBo: Ok.")[0] == (
        "Ana: The fence is grey. We decided to paint it.",
        "decision",
    )


@pytest.mark.parametrize(
    ("text", "owner", "due"),
    [
        ("Ana will send the report by Friday.", "Ana", date(2026, 6, 12)),
        ("Ana will send the report by Wednesday.", "Ana", None),  # today, or in a week
        ("Ana to send the report by 2026-07-01.", "Ana", date(2026, 7, 1)),
        ("TODO(ana): send the report", "ana", None),
        ("We need to send the report by 4/5/2026.", None, None),
        ("@ana needs to send the report tomorrow.", "@ana", date(2026, 6, 11)),
    ],
)
def test_an_action_says_who_and_until_when_where_the_text_does(text, owner, due):
    (draft,) = extract(text, occurred_at=datetime(2026, 6, 10, tzinfo=UTC))
    assert (draft.kind, draft.owner, draft.due) == (Kind.ACTION, owner, due)


@pytest.mark.parametrize(
    "text",
    [
        "## Log of 3 May 2024\nYesterday the pump failed.",
        "[2024-05-03 10:00] Ana: The pump failed yesterday.\n[2024-05-03 10:01] Bo: Ok.",
    ],
)
def test_a_day_is_not_measured_from_the_capture_where_its_text_has_dates_of_its_own(text):
    said_at = datetime(2026, 6, 10, tzinfo=UTC)
    assert {draft.occurred_at for draft in extract(text, occurred_at=said_at)} == {said_at}


def test_without_a_moment_no_day_is_reckoned():
    (draft,) = extract("Yesterday the pump failed.")
    assert (draft.kind, draft.occurred_at) == (Kind.EVENT, None)


def test_it_splits_endless_sentences_between_words():
    drafts = extract("word " * 1_500)
    assert all(len(draft.content) <= LONGEST_DRAFT for draft in drafts)
    assert " ".join(draft.content for draft in drafts).split() == ["word"] * 1_500


def test_it_splits_a_long_speech_between_sentences_and_keeps_its_speaker():
    drafts = extract("Ana: " + "This is a sentence. " * 100 + "\nBob: ok.")
    assert {draft.speaker for draft in drafts[:-1]} == {"Ana"}
    assert all(draft.content.endswith(".") and len(draft.content) <= 600 for draft in drafts)


def test_it_never_makes_more_drafts_than_the_cap():
    drafts = extract("One is here. " * 5_000)
    assert len(drafts) == DRAFTS_PER_CAPTURE
    assert drafts[0].content == "One is here."
    assert sum(draft.content.count("One") for draft in drafts) == 5_000


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_it_makes_nothing_of_nothing(text):
    assert extract(text) == ()


@given(pieces, st.sampled_from(["english", "german", "chinese"]))
def test_it_loses_nothing(text, language):
    drafts = extract(text, language=language)
    assert "".join("".join(draft.content.split()) for draft in drafts) == "".join(text.split())
    assert all(draft.content == draft.content.strip() for draft in drafts)
    assert [draft.position for draft in drafts] == list(range(len(drafts)))


@pytest.mark.parametrize(
    "piece", ["a. ", "1. a\n", "Ana: hi\n", "x", "\n", "- a\n", "```\n", "---\n", "A:\n", "1. a\n  b\n"]
)
def test_it_answers_hostile_text_in_linear_time(piece):
    assert len(extract(piece * (200_000 // len(piece)))) <= DRAFTS_PER_CAPTURE
