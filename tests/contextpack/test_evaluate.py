"""The evaluation: what it reads, what it counts, what it says, and that it leaves the operator's database alone."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from contextpack.evaluation.comparing import compare, difference
from contextpack.evaluation.histories import sampled
from contextpack.evaluation.loading import Shape, UnreadableFile, load
from contextpack.evaluation.report import NoReport, Report, Setup, Written, keep, read
from contextpack.evaluation.running import Options, TurnRefused, evaluate, weights_digest
from contextpack.evaluation.scoring import (
    Answered,
    Served,
    Source,
    Stray,
    abstention,
    auc,
    figures,
    quantile,
    recall,
)
from contextpack.evaluation.tables import comparison_text, report_text
from contextpack.models import Receipt
from memories.models import Memory, Vault

TALK: dict[str, Any] = {
    "session_1_date_time": "4:04 pm on 9 March, 2025",
    "session_1": [
        {"dia_id": "D1:1", "speaker": "Ada", "text": "The lighthouse keeper sold me his brass telescope."},
        {"dia_id": "D1:2", "speaker": "Ben", "text": "My oven broke, so the birthday cake came from a shop."},
        {"dia_id": "D1:3", "speaker": "Ada", "text": "", "blip_caption": "a photo of a striped kite"},
    ],
    "session_2_date_time": "9:30 am on 2 April, 2025",
    "session_2": [
        {
            "dia_id": "D2:1",
            "speaker": "Ben",
            "text": "Nothing has arrived yet, and I am rather bored of waiting.",
        },
        {"dia_id": "D2:2", "speaker": "Ada", "text": "I looked at Saturn through the telescope for an hour."},
    ],
    "qa": [
        {
            "question": "Who sold the brass telescope?",
            "answer": "the keeper",
            "evidence": ["D1:1"],
            "category": 4,
        },
        {"question": "When did the oven break?", "answer": "9 March", "evidence": ["D1:2"], "category": 2},
        {
            "question": "Whose telescope showed Saturn?",
            "answer": "x",
            "evidence": ["D1:1; D2:2"],
            "category": 1,
        },
        {"question": "What is not there?", "answer": "x", "evidence": ["D1:1"], "category": 5},
        {"question": "What cites nothing?", "answer": "x", "evidence": ["D9:9"], "category": 4},
    ],
}
HAYSTACK: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "Which bread did I bake?",
    "answer": "rye",
    "question_date": "2025/05/30 (Fri) 23:40",
    "haystack_dates": ["2025/05/20 (Tue) 02:21", "2025/05/21 (Wed) 07:00"],
    "haystack_session_ids": ["a", "b"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "Which tyres suit gravel?"},
            {"role": "assistant", "content": "Wide ones."},
        ],
        [
            {"role": "user", "content": "I baked a rye bread today.", "has_answer": True},
            {"role": "assistant", "content": "Well done!", "has_answer": False},
        ],
    ],
    "answer_session_ids": ["b"],
}


def _file(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def _without(content, *path):
    """Return a copy that lacks one thing."""
    copy = json.loads(json.dumps(content))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return copy


# -- Reading -------------------------------------------------------------------------------------


def test_a_locomo_file_becomes_turns_and_the_questions_that_can_be_scored(tmp_path):
    (history,) = load([_file(tmp_path, "talk.json", TALK)]).histories
    assert (history.name, history.language, history.left_out) == ("talk", "english", 2)
    assert [turn.id for turn in history.turns] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2"]
    assert history.turns[1].said_at.isoformat() == "2025-03-09T16:04:20+00:00"
    assert (history.turns[4].session, history.turns[4].position) == ("session_2", 2)
    assert history.turns[2].text == " [shared a photo of a striped kite]"
    assert [asked.category for asked in history.questions] == ["single-hop", "temporal", "multi-hop"]
    assert history.questions[2].evidence == ("D1:1", "D2:2")


def test_the_published_file_of_all_conversations_is_read_too(tmp_path):
    talk = {key: value for key, value in TALK.items() if key != "qa"}
    samples = [{"sample_id": name, "conversation": talk, "qa": TALK["qa"]} for name in ("conv-1", "conv-2")]
    histories = load([_file(tmp_path, "all.json", samples)]).histories
    assert [history.name for history in histories] == ["conv-1", "conv-2"]


def test_a_longmemeval_file_becomes_a_history_for_each_question(tmp_path):
    broad = {**_without(HAYSTACK, "haystack_sessions", 1, 0, "has_answer"), "question_id": "q2"}
    nothing = {**HAYSTACK, "question_id": "q3_abs"}
    histories = load([_file(tmp_path, "mem.json", [HAYSTACK, broad, nothing])]).histories
    assert [history.name for history in histories] == ["q1", "q2", "q3_abs"]
    assert [[asked.evidence for asked in history.questions] for history in histories] == [
        [("S2:1",)],
        [("S2:1", "S2:2")],  # no turn is marked: all of the session that holds the answer
        [],
    ]
    (question,) = histories[0].questions
    assert question.as_of == datetime(2025, 5, 30, 23, 40, tzinfo=UTC)
    assert question.category == "single-session-user"
    assert histories[2].left_out == 1


def test_a_folder_is_read_whole_with_its_questions_off_topic(tmp_path):
    for name in ("one", "two"):
        _file(tmp_path, f"{name}.json", TALK)
    _file(tmp_path, "off_topic.json", {"one": ["Who won the regatta?"], "elsewhere": ["Who?"]})
    material = load([tmp_path])
    assert [history.name for history in material.histories] == ["one", "two"]
    assert material.off_topic == {"one": ("Who won the regatta?",)}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{]", "line 1, column 2: is not JSON"),
        ({"other": 1}, "is neither in the shape of LoCoMo nor in that of LongMemEval"),
        (_without(TALK, "session_1_date_time"), "session_1_date_time: is missing"),
        (
            {**TALK, "session_2_date_time": "yesterday"},
            "session_2_date_time: is 'yesterday', not a moment like",
        ),
        (_without(TALK, "session_1", 1, "speaker"), r"session_1\[1\].speaker: is missing"),
        ({**TALK, "session_2": TALK["session_1"]}, "dia_id: D1:1 is there twice"),
        ({**TALK, "qa": [{**TALK["qa"][0], "category": 7}]}, r"qa\[0\].category: is 7, not one of 1 to 5"),
        ({**TALK, "qa": [{**TALK["qa"][0], "evidence": "D1:1"}]}, r"qa\[0\].evidence: is not a list"),
        ({"qa": []}, "session_1: is missing"),
        ([{**HAYSTACK, "haystack_dates": []}], r"\[0\]: has 2 sessions, 0 dates and 2 ids"),
        (
            [_without(HAYSTACK, "haystack_sessions", 0, 1, "content")],
            r"\[0\].haystack_sessions\[0\]\[1\].content: is missing",
        ),
        ([HAYSTACK, HAYSTACK], "q1: there is a history of this name already"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_place(tmp_path, content, told):
    with pytest.raises(UnreadableFile, match=told) as refusal:
        load([_file(tmp_path, "bad.json", content)])
    assert str(refusal.value).startswith(f"{tmp_path}/bad.json: ")


def test_files_that_are_not_there_or_no_text_are_refused(tmp_path):
    (tmp_path / "latin.json").write_bytes(b'{"session_1": "\xe9"}')
    for path, told in (("gone.json", "cannot be read"), ("latin.json", "byte 15: is not UTF-8")):
        with pytest.raises(UnreadableFile, match=told):
            load([tmp_path / path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableFile, match=r"the folder holds no \.json file"):
        load([tmp_path / "empty"])


def test_questions_off_topic_for_other_histories_are_a_mistake(tmp_path):
    talk, beside = _file(tmp_path, "talk.json", TALK), _file(tmp_path, "beside.json", {"walk": ["Who?"]})
    with pytest.raises(UnreadableFile, match="names none of the histories talk"):
        load([talk], off_topic=[beside])
    with pytest.raises(UnreadableFile, match="is no object from"):
        load([talk], off_topic=[talk])


def test_a_shape_that_is_named_is_not_guessed(tmp_path):
    with pytest.raises(UnreadableFile, match="the file: is not a list"):
        load([_file(tmp_path, "talk.json", TALK)], shape=Shape.LONGMEMEVAL)


def test_a_limit_samples_each_group_and_always_the_same(tmp_path):
    many = [{**HAYSTACK, "question_id": f"q{number}"} for number in range(6)]
    paths = [_file(tmp_path, "talk.json", TALK), _file(tmp_path, "mem.json", many)]
    histories = load(paths).histories
    once, again = (sampled(histories, 2) for _ in range(2))
    assert once == again
    assert [len(history.questions) for history in once] == [2, 1, 1]
    assert sampled(histories, None) == histories


# -- Sums ----------------------------------------------------------------------------------------


def test_recall_is_the_share_of_the_evidence():
    assert recall(("a", "b", "c", "d"), {"a", "d", "z"}) == 0.5
    assert recall(("a",), ()) == 0.0


def test_auc_counts_pairs_and_ties_by_half():
    assert auc([0.9, 0.5], [0.5, 0.1]) == 0.875
    assert auc([0.2], [0.2]) == 0.5
    assert auc([], [0.1]) is None


def test_a_quantile_is_one_of_the_values():
    values = list(range(1, 21))
    assert [quantile(values, share) for share in (0.5, 0.95, 1.0)] == [10, 19, 20]
    assert quantile([7.0], 0.95) == 7.0


def _answered(number, recalls, *, history="talk", category="temporal", weak=False, relevance=0.5):
    served = tuple(
        Served(
            budget=budget, recall=found, tokens=budget // 2, characters=2 * budget, milliseconds=float(number)
        )
        for budget, found in zip((500, 1_000), recalls, strict=True)
    )
    return Answered(
        history=history,
        question_id=str(number),
        question=f"Question {number}?",
        category=category,
        evidence=2,
        served=served,
        weak=weak,
        relevance=relevance,
    )


def _report(*answered, strays=(), **setup):
    return Report(
        setup=Setup(
            **(
                {
                    "model": "claude",
                    "embedder": "hash-1",
                    "weights": "abc",
                    "asked_at": None,
                    "limit": None,
                    "seed": 0,
                }
                | setup
            )
        ),
        budgets=(500, 1_000),
        written=(Written(history="talk", language="english", turns=5, withheld=0, left_out=2, seconds=0.1),),
        answered=answered,
        strays=strays,
    )


def _stray(number, source, **fields):
    stated: dict[str, Any] = {"history": "talk", "weak": True, "relevance": 0.0} | fields
    return Stray(question=f"Stray {number}?", source=source, **stated)


REPORT = _report(
    _answered(1, (0.0, 0.5)),
    _answered(2, (1.0, 1.0)),
    _answered(3, (0.5, 1.0), category="multi-hop", weak=True, relevance=0.0),
    strays=(_stray(1, Source.OTHERS), _stray(2, Source.GIVEN, weak=False, relevance=0.7)),
)


def test_means_are_taken_over_the_questions():
    found = figures(REPORT.answered, 1_000)
    assert (found.questions, found.tokens, found.p50_ms, found.p95_ms) == (3, 500, 2.0, 3.0)
    assert found.recall == pytest.approx(2.5 / 3)
    assert found.complete == pytest.approx(2 / 3)
    told = abstention(REPORT.answered, REPORT.strays)
    assert told.on_topic_weak == pytest.approx(1 / 3)
    assert told.off_topic_weak == 0.5


def test_a_run_is_told_in_a_table():
    assert report_text(REPORT) == TABLE.strip("\n")


TABLE = """
1 history, 5 turns, 3 questions; model claude; embedder hash-1; weights abc; 2 questions left out, which cannot be scored

evidence served, %                         @500          @1000
(all of it)                    n   recall (all)   recall (all)
all                            3      50.0 (33)      83.3 (67)
multi-hop                      1       50.0 (0)    100.0 (100)
temporal                       2      50.0 (50)      75.0 (50)

tokens sent                                 250            500
characters sent                           1,000          2,000
milliseconds, p50                           2.0            2.0
milliseconds, p95                           3.0            3.0

marked weak, %                 n      off topic              n       on topic            AUC
others' questions              1          100.0              3           33.3          0.833
questions beside it            1            0.0              3           33.3          0.000
"""


def test_a_kept_run_is_read_as_it_was(tmp_path):
    keep(REPORT, tmp_path / "run.json")
    assert read(tmp_path / "run.json") == REPORT
    summary = json.loads((tmp_path / "run.json").read_text())["summary"]
    assert summary["categories"]["temporal"]["1000"]["recall"] == 0.75


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is not JSON"),
        ("[]", "was not written by evaluate"),
        ('{"format": 1, "setup": {}}', "is no whole report"),
    ],
)
def test_what_is_no_kept_run_is_refused(tmp_path, content, told):
    with pytest.raises(NoReport, match=told):
        read(_file(tmp_path, "run.json", content))


# -- Two runs ------------------------------------------------------------------------------------


def test_a_difference_that_most_questions_share_is_told_from_chance():
    better = difference([0.5] * 15 + [0.0] * 15)
    assert (better.better, better.worse, better.mean) == (15, 0, 0.25)
    assert 0 < better.low < better.mean < better.high
    assert better.is_told
    assert not difference([0.5, -0.5] * 15).is_told
    assert not difference([0.0] * 30).is_told


def test_only_the_same_question_is_compared():
    later = _report(_answered(1, (0.5, 0.5)), _answered(9, (1.0, 1.0)))
    found = compare(REPORT, later)
    assert [(before.key, after.key) for before, after in found.pairs] == [
        (("talk", "1", "Question 1?"), ("talk", "1", "Question 1?"))
    ]
    assert found.unpaired == 3


def test_the_difference_is_told_with_the_questions_that_moved():
    later = _report(
        _answered(1, (0.5, 0.0)),
        _answered(2, (1.0, 1.0)),
        _answered(3, (1.0, 1.0), category="multi-hop"),
        weights="def",
    )
    text = comparison_text(compare(REPORT, later), REPORT, later)
    assert text.startswith("3 questions asked in both; weights abc → def\n")
    assert (
        "recall @500                    n         change  95 % interval         better          worse\n"
        in text
    )
    assert (
        "\nmulti-hop                      1          +50.0    +50.0 +50.0              1              0\n"
        in text
    )
    assert "\nlost most @1000\n   50% →   0%  talk 1: Question 1?\n" in text
    assert "gained most" not in text
    assert (
        "\nall                            3          -16.7     -50.0 +0.0              0              1 (chance)\n"
        in text
    )
    assert text.endswith("on topic marked weak, %       33.3 → 0.0")


def test_runs_without_a_common_question_are_not_compared():
    later = _report(_answered(9, (1.0, 1.0)))
    assert comparison_text(compare(REPORT, later), REPORT, later).startswith("Nothing to compare")


# -- A run ---------------------------------------------------------------------------------------


def _histories(tmp_path):
    other = {
        "session_1_date_time": "1:00 pm on 1 March, 2025",
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Cem", "text": "The regatta was won by a wooden dinghy."}
        ],
        "qa": [
            {"question": "Which dinghy won the regatta?", "answer": "x", "evidence": ["D1:1"], "category": 4}
        ],
    }
    _file(tmp_path, "talk.json", TALK)
    _file(tmp_path, "other.json", other)
    return load([tmp_path]).histories


@pytest.mark.engine_free
@pytest.mark.django_db
def test_a_run_counts_what_the_packs_carry_and_leaves_the_database_alone(tmp_path):
    lines: list[str] = []
    before = connection.settings_dict["NAME"]
    report = evaluate(_histories(tmp_path), Options(budgets=(300, 1_000)), progress=lines.append)
    asked = {each.question: each for each in report.answered}
    assert asked["Who sold the brass telescope?"].at(1_000).recall == 1.0
    assert asked["Which dinghy won the regatta?"].at(300).complete
    assert all(each.at(300).tokens <= each.at(1_000).tokens < 1_000 for each in report.answered)
    assert [(each.history, each.turns) for each in report.written] == [("other", 1), ("talk", 5)]
    assert {(each.history, each.source) for each in report.strays} == {
        ("other", Source.OTHERS),
        ("talk", Source.OTHERS),
    }
    (beside,) = [each for each in report.strays if each.history == "talk"]
    assert (beside.weak, beside.relevance) == (True, 0.0)
    assert lines[0] == "1/2 other: 1 turns, 0 of 1 questions"
    assert Vault.objects.count() == Memory.objects.count() == Receipt.objects.count() == 0
    assert connection.settings_dict["NAME"] == before


@pytest.mark.engine_free
@pytest.mark.django_db
def test_a_question_of_longmemeval_is_asked_as_of_its_date_and_without_vectors_if_so_chosen(
    tmp_path, settings
):
    (history,) = load([_file(tmp_path, "mem.json", [HAYSTACK])]).histories
    (question,) = history.questions
    later = replace(
        history.turns[0], id="S3:1", said_at=datetime(2026, 1, 1, tzinfo=UTC), text="Rye bread burns."
    )
    history = replace(
        history,
        turns=(*history.turns, later),
        questions=(question, replace(question, id="q2", evidence=("S3:1",))),
    )
    report = evaluate([history], Options(budgets=(300,), embedder="none"))
    assert [asked.at(300).recall for asked in report.answered] == [1.0, 0.0]
    assert report.setup.embedder is None
    assert settings.CORTEX_EMBEDDER == "hash"


@pytest.mark.engine_free
@pytest.mark.django_db
def test_a_turn_that_cannot_be_stored_is_named(tmp_path):
    long = {**TALK, "session_1": [{**TALK["session_1"][0], "speaker": "A" * 300}, *TALK["session_1"][1:]]}
    histories = load([_file(tmp_path, "talk.json", long)]).histories
    with pytest.raises(TurnRefused, match=r"talk: D1:1: .*speaker"):
        evaluate(histories, Options())


@pytest.mark.engine_free
@pytest.mark.django_db
def test_the_command_reports_keeps_and_compares(tmp_path):
    talk, beside = (
        _file(tmp_path, "talk.json", TALK),
        _file(tmp_path, "beside.json", {"talk": ["Who won the regatta?"]}),
    )
    out, err, kept = StringIO(), StringIO(), tmp_path / "run.json"
    arguments = [
        "evaluate",
        str(talk),
        "--budgets",
        "1000,300",
        "--off-topic",
        str(beside),
        "--json",
        str(kept),
    ]
    call_command(*arguments, stdout=out, stderr=err)
    assert "1 history, 5 turns, 3 questions; model claude; embedder hash-1" in out.getvalue()
    assert "questions beside it            1" in out.getvalue()
    assert err.getvalue() == "1/1 talk: 5 turns, 0 of 3 questions\n"
    assert read(kept).budgets == (300, 1_000)
    assert read(kept).setup.weights == weights_digest()
    again, kept_again = StringIO(), tmp_path / "again.json"
    arguments[-1] = str(kept_again)
    call_command(*arguments, "--compare", str(kept), stdout=again, stderr=err)
    told = "all                            3           +0.0      +0.0 +0.0              0              0\n"
    assert "3 questions asked in both" in again.getvalue()
    assert told in again.getvalue()
    assert _without_times(read(kept_again)) == _without_times(read(kept))


def _without_times(report):
    """Return what has to be the same in a run that is repeated."""
    answered = [
        replace(each, served=tuple(replace(served, milliseconds=0.0) for served in each.served))
        for each in report.answered
    ]
    return answered, report.strays, report.setup


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["{talk}.gone"], "talk.json.gone: cannot be read: No such file"),
        (["{talk}", "--compare", "{talk}"], "was not written by evaluate"),
        (["{talk}", "--budgets", "many"], "'many' is no list of whole numbers"),
        (["{talk}", "--budgets", "0"], "at least 1"),
        (["{talk}", "--asked-at", "noon"], "'noon' is no moment"),
        (["{talk}", "--language", "klingon"], "invalid choice"),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path, arguments, told):
    talk = _file(tmp_path, "talk.json", TALK)
    with pytest.raises(CommandError, match=told):
        call_command("evaluate", *(argument.format(talk=talk) for argument in arguments))
