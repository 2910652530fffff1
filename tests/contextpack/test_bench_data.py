"""The histories that come with the repository are whole: a wrong id would count as evidence that is never found."""

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from contextpack.evaluation.loading import LOCOMO_CATEGORIES, load
from memories.core.text import content_terms

FOLDER = Path(__file__).parents[2] / "bench" / "data"
HISTORIES = sorted(path for path in FOLDER.glob("*.json") if path.stem != "off_topic")
LEAST_QUESTIONS = 45
LEAST_TURNS = 160
OFF_TOPIC = 30

each_history = pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)


def _sessions(path):
    content = json.loads(path.read_text())
    count = sum(re.fullmatch(r"session_\d+", key) is not None for key in content)
    return content, [content[f"session_{number}"] for number in range(1, count + 1)]


@each_history
def test_turns_are_numbered_by_session_and_place(path):
    _, sessions = _sessions(path)
    for number, turns in enumerate(sessions, start=1):
        assert [turn["dia_id"] for turn in turns] == [f"D{number}:{place + 1}" for place in range(len(turns))]
    assert sum(map(len, sessions)) >= LEAST_TURNS


@each_history
def test_no_turn_is_said_twice_and_each_has_a_length_as_people_speak(path):
    _, sessions = _sessions(path)
    said = [turn["text"] for turns in sessions for turn in turns]
    assert len(set(said)) == len(said)
    assert [text for text in said if not 6 <= len(text.split()) <= 48] == []


@each_history
def test_sessions_follow_one_another(path):
    content, sessions = _sessions(path)
    moments = [
        datetime.strptime(content[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")  # noqa: DTZ007
        for number in range(1, len(sessions) + 1)
    ]
    assert moments == sorted(set(moments))


@each_history
def test_each_question_has_an_answer_and_evidence_that_exists(path):
    content, sessions = _sessions(path)
    known = {turn["dia_id"] for turns in sessions for turn in turns}
    for asked in content["qa"]:
        assert asked["question"].endswith("?")
        assert asked["answer"]
        assert asked["category"] in LOCOMO_CATEGORIES
        assert asked["evidence"], asked["question"]
        assert set(asked["evidence"]) <= known
        assert len(set(asked["evidence"])) == len(asked["evidence"])
    texts = [asked["question"] for asked in content["qa"]]
    assert len(set(texts)) == len(texts) >= LEAST_QUESTIONS


@each_history
def test_every_kind_of_question_is_asked_and_each_can_be_scored(path):
    (history,) = load([path]).histories
    assert {question.category for question in history.questions} == set(LOCOMO_CATEGORIES.values())
    assert history.left_out == 0
    across = [asked for asked in history.questions if asked.category == "multi-hop"]
    assert all(len({turn.partition(":")[0] for turn in asked.evidence}) > 1 for asked in across)


def test_each_history_has_questions_that_it_does_not_answer():
    material = load([FOLDER])
    assert set(material.off_topic) == {history.name for history in material.histories}
    for history in material.histories:
        beside = material.off_topic[history.name]
        assert len(set(beside)) == len(beside) == OFF_TOPIC
        assert not set(beside) & {question.text for question in history.questions}


def test_half_of_what_is_off_topic_shares_a_word_with_its_history():
    material = load([FOLDER])
    for history in material.histories:
        said = {
            word
            for turn in history.turns
            for word in content_terms(f"{turn.speaker} {turn.text}", history.language)
        }
        near = [
            asked
            for asked in material.off_topic[history.name]
            if said & set(content_terms(asked, history.language))
        ]
        assert len(near) >= OFF_TOPIC / 2
