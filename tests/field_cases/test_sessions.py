"""What a client holds is what it was sent and kept, whatever became of the answers (E1, E2, E3, E11)."""

import pytest

from tests.clients import api_of
from tests.wire.asking import ask, contents, fill, new_refs, ok, refs, smp

pytestmark = pytest.mark.django_db

TOPIC = "harbour"
TEXTS = tuple(f"The harbour has a {thing}" for thing in ("bell", "flag", "crane", "ladder", "lamp"))


@pytest.fixture
def api():
    return api_of()


@pytest.fixture
def made(api):
    return set(fill(api, *TEXTS))


def turn(api, task=TOPIC, **asked):
    return smp(api, task, model="claude", session_id="chat", **asked)


class TestCompaction:
    """E1: the client lost its context; what was once sent is sent again, once."""

    @pytest.mark.parametrize("mode", ["ids", "content"])
    def test_everything_comes_again_after_a_fresh_start(self, api, made, mode):
        for _ in range(3):
            turn(api, delta=mode)
        fresh = turn(api, delta=mode, since=0)
        assert set(new_refs(fresh)) == made
        assert set(contents(fresh)) == set(TEXTS)
        assert new_refs(turn(api, delta=mode)) == []

    def test_what_was_dropped_comes_again_in_full_once(self, api, made):
        turn(api, delta="content")
        lost = sorted(made)[:2]
        again = turn(api, delta="content", dropped=lost)
        assert set(refs(again)) == set(new_refs(again)) == set(lost)
        assert set(again["working_memory"]["carried"]) == made - set(lost)
        assert refs(turn(api, delta="content")) == []

    def test_dropping_what_was_never_held_changes_nothing(self, api, made):
        turn(api)
        assert new_refs(turn(api, dropped=["mem_zzzzzzzzzzzz", "x"])) == []


class TestLostAnswers:
    """E2: an answer that never arrived was not read."""

    @pytest.mark.parametrize("mode", ["ids", "content"])
    def test_the_next_answer_holds_what_the_lost_one_carried(self, api, made, mode):
        first = turn(api, delta=mode, since=0)
        (extra,) = fill(api, "The harbour has a lighthouse")
        lost = turn(api, "harbour lighthouse", delta=mode, since=first["working_memory"]["cursor"])
        again = turn(api, "harbour lighthouse", delta=mode, since=first["working_memory"]["cursor"])
        assert new_refs(lost) == new_refs(again) == [extra]
        assert extra in refs(again)
        settled = turn(api, "harbour lighthouse", delta=mode, since=again["working_memory"]["cursor"])
        assert new_refs(settled) == []

    def test_many_lost_answers_in_a_row(self, api, made):
        for _ in range(5):
            assert set(new_refs(turn(api, since=0))) == made
        assert new_refs(turn(api, since=5)) == []


class TestShortForms:
    """E3: a head sentence is not the text; the rest is news when there is room for it."""

    @pytest.fixture
    def long(self, api):
        text = "The harbour is old. " + "Its quays were built by the masons of the northern valley. " * 30
        (ref,) = fill(api, text)
        return ref

    def test_a_fuller_form_counts_as_new_content(self, api, long):
        thin = turn(api, delta="content", token_budget=300)
        assert refs(thin) == [long]
        full = turn(api, delta="content", token_budget=4_000)
        assert (full["working_memory"]["changed"], refs(full)) == ([long], [long])
        assert len(contents(full)[0]) > len(contents(thin)[0])
        assert new_refs(full) == []

    def test_a_thinner_form_is_no_news(self, api, long):
        turn(api, delta="content", token_budget=4_000)
        thin = turn(api, delta="content", token_budget=300)
        assert (refs(thin), thin["working_memory"]["changed"]) == ([], [])
        assert thin["working_memory"]["carried"] == [long]

    def test_a_fuller_form_that_was_lost_comes_again(self, api, long):
        first = turn(api, delta="content", token_budget=300)
        since = first["working_memory"]["cursor"]
        for _ in range(2):
            again = turn(api, delta="content", token_budget=4_000, since=since)
            assert again["working_memory"]["changed"] == [long]
            assert refs(again) == [long]


class TestToolSteps:
    """E11: an agent asks the same at every step of one turn."""

    @pytest.mark.parametrize("mode", ["ids", "content"])
    def test_fourteen_equal_questions_are_one_turn(self, api, made, mode):
        asked = {"model": "claude", "session_id": "chat", "format": "smp", "delta": mode, "legend": False}
        answers = [ask(api, TOPIC, **asked) for _ in range(14)]
        session = ok(api.get("sessions/chat"))
        assert (session["turn"], session["cursor"], len(session["trajectory"])) == (1, "14", 1)
        assert [new_refs(answer.json()) for answer in answers[1:]] == [[]] * 13
        sizes = {len(answer.content) for answer in answers[1:]}
        assert max(sizes) - min(sizes) <= 2
        if mode == "content":
            assert max(sizes) < len(answers[0].content) / 2

    def test_nothing_grows_cold_meanwhile(self, api, made):
        (other,) = fill(api, "A quite different remark on bicycles")
        smp(api, "bicycles remark", session_id="chat", model="claude", layers=["semantic"])
        for _ in range(14):
            assert turn(api, entities=None)["working_memory"]["evicted"] == []
        assert other in ok(api.get("sessions/chat"))["known"]
