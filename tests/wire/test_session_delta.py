"""The session's delta, line by line: what is told, what never is, and what a lost answer costs (docs/wire.md, Session delta; CMP §8)."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from memories.models import Memory
from tests.clients import Api, api_of
from tests.wire.asking import Body, ask, fill, markdown, new_refs, ok, pack, refs, smp, use
from tests.wire.corpora import TASK, make_corpus

pytestmark = pytest.mark.django_db

IDS = {"new", "evicted", "superseded", "cursor"}
CONTENT = IDS | {"carried", "changed", "retracted", "tokens_saved"}
TOPICS = ("oak", "ash", "elm", "fir", "yew")


@pytest.fixture
def api():
    return api_of()


@pytest.fixture
def trees(api):
    """Two memories about each of five topics."""
    parts = ("wood", "leaves")
    return {topic: {remember_of(api, topic, f"{topic} {part}") for part in parts} for topic in TOPICS}


def remember_of(api: Api, topic: str, content: str) -> str:
    return str(api.remember(content, entities=[topic])["ref"])


def turn(api: Api, topics: str, session: str = "chat", **asked: Any) -> Body:
    """Ask for what is known of some topics, and of nothing else, however recent."""
    return smp(api, topics, session_id=session, entities=topics.split(), **asked)


def pages(api: Api, topic: str, **asked: Any) -> Iterator[Body]:
    """Ask for what is known of a topic, and read on to the end."""
    body = smp(api, topic, entities=[topic], **asked)
    yield body
    while body["cursor"]:
        body = smp(api, topic, entities=[topic], cursor=body["cursor"], **asked)
        yield body


def told(body: Body) -> Body:
    return dict(body["working_memory"])


def supersede(api: Api, ref: str, content: str, *topics: str) -> str:
    response = api.post(f"memories/{ref}/supersede", {"content": content, "entities": [*topics]})
    assert response.status_code == 201, response.content
    return str(response.json()["ref"])


def known(api: Api, session: str = "chat") -> set[str]:
    return set(ok(api.get(f"sessions/{session}"))["known"])


class TestIds:
    def test_it_is_null_without_a_session(self, api, trees):
        assert smp(api, "oak")["working_memory"] is None
        assert pack(api, "oak")["working_memory"] is None

    def test_it_has_exactly_the_four_keys_of_the_protocol(self, api, trees):
        assert told(turn(api, "oak")).keys() == IDS
        assert pack(api, "ash", session_id="chat")["working_memory"].keys() == IDS

    def test_a_fresh_session_is_told_all_of_it_with_its_relevance(self, api, trees):
        body = turn(api, "oak")
        assert new_refs(body) == refs(body)
        assert [entry["delta_relevance"] for entry in told(body)["new"]] == [
            item["relevance"] for item in body["items"]
        ]
        assert (told(body)["evicted"], told(body)["superseded"], told(body)["cursor"]) == ([], [], "1")

    def test_a_wider_second_turn_tells_only_what_it_adds_and_a_third_nothing(self, api):
        make_corpus(api.vault, 80)
        asked = {"model": "claude", "session_id": "chat"}
        tight = smp(api, TASK, **asked, token_budget=1_200)
        roomy = smp(api, TASK, **asked, token_budget=11_000)
        again = smp(api, TASK, **asked, token_budget=11_000)
        assert set(refs(tight)) < set(refs(roomy))
        assert set(new_refs(roomy)) == set(refs(roomy)) - set(refs(tight))
        assert (new_refs(again), refs(again)) == ([], refs(roomy))
        assert [told(body)["cursor"] for body in (tight, roomy, again)] == ["1", "2", "3"]

    def test_a_known_ref_is_never_new_again(self, api, trees):
        turn(api, "oak")
        turn(api, "ash")
        assert new_refs(turn(api, "oak ash")) == []

    def test_what_was_unseen_for_four_turns_may_be_forgotten(self, api, trees):
        turn(api, "oak")
        for topic in ("ash", "elm", "fir"):
            assert told(turn(api, topic))["evicted"] == []
        cold = turn(api, "yew")
        assert set(told(cold)["evicted"]) == trees["oak"]
        assert set(new_refs(turn(api, "oak"))) == trees["oak"]

    def test_what_comes_back_in_time_is_not_evicted(self, api, trees):
        for topic in ("oak", "ash", "elm", "oak", "fir", "yew"):
            assert told(turn(api, topic))["evicted"] == ([] if topic != "yew" else sorted(trees["ash"]))

    def test_a_superseded_memory_is_told_with_the_head_that_is_served(self, api, trees):
        turn(api, "oak")
        old = sorted(trees["oak"])[0]
        head = supersede(api, supersede(api, old, "oak bark", "oak"), "oak roots", "oak")
        body = turn(api, "oak")
        assert told(body)["superseded"] == [{"ref": old, "replacement": head}]
        assert new_refs(body) == [head]
        assert told(turn(api, "oak"))["superseded"] == []

    def test_a_head_that_was_not_served_is_not_named(self, api, trees):
        turn(api, "oak")
        old = sorted(trees["oak"])[0]
        supersede(api, old, "something else")
        assert told(turn(api, "ash"))["superseded"] == [{"ref": old, "replacement": None}]

    @pytest.mark.parametrize("verb", ["redact", "forget"])
    @pytest.mark.parametrize("mode", ["ids", "content"])
    def test_no_withdrawn_text_and_no_redacted_id_is_told(self, api, trees, verb, mode):
        turn(api, "oak", delta=mode)
        gone = sorted(trees["oak"])[0]
        if verb == "redact":
            assert api.post(f"memories/{gone}/redact").status_code == 200
        else:
            assert api.delete(f"memories/{gone}").status_code == 200
        body = turn(api, "oak", delta=mode)
        memory = told(body)
        assert memory.get("retracted", [gone]) == [gone]
        assert gone not in [*refs(body), *new_refs(body), *memory["evicted"]]
        assert gone not in known(api)

    def test_it_carries_ids_and_never_text(self, api, trees):
        body = turn(api, "oak")
        assert "wood" not in str(told(body))

    def test_the_json_format_tells_it_among_its_warnings_too(self, api, trees):
        body = pack(api, "oak", session_id="chat")
        (warning,) = [warning for warning in body["warnings"] if warning["code"] == "working_memory"]
        assert warning["working_memory"] == body["working_memory"]
        assert pack(api, "oak")["warnings"] == []

    def test_the_tool_steps_the_same_session(self, api, trees):
        turn(api, "oak")
        body = use(api, "get_context", task="oak", format="smp", session_id="chat", entities=["oak"])
        assert (new_refs(body), told(body)["cursor"]) == ([], "2")

    def test_a_session_is_one_vaults(self, api, trees):
        turn(api, "oak")
        other = api_of()
        fill(other, "oak wood")
        assert told(turn(other, "oak"))["cursor"] == "1"
        assert other.get("sessions/chat").json()["cursor"] == "1"

    @pytest.mark.parametrize("mode", ["ids", "content"])
    def test_the_known_set_is_capped_at_512_and_says_what_falls_out(self, api, mode):
        made: list[set[str]] = []
        held: set[str] = set()
        for topic in ("oak", "ash", "elm"):
            written = [{"content": f"{topic} {number:03d}", "entities": [topic]} for number in range(180)]
            results = ok(api.post("memories/bulk", {"memories": written}))["results"]
            made.append({result["ref"] for result in results})
            for body in pages(api, topic, session_id="chat", model="claude", delta=mode):
                held = (held | set(new_refs(body))) - set(told(body)["evicted"])
                assert not set(told(body)["evicted"]) & set(refs(body))
        assert held == known(api)
        assert len(held) == 512
        assert made[1] | made[2] <= held
        again = [ref for body in pages(api, "oak", session_id="chat", delta=mode) for ref in new_refs(body)]
        assert set(again) >= made[0] - held


class TestSince:
    def test_a_lost_answer_loses_nothing(self, api, trees):
        turn(api, "oak", since=0)
        lost = turn(api, "ash", since=1)
        again = turn(api, "ash", since=1)
        assert set(new_refs(lost)) == set(new_refs(again)) == trees["ash"]
        assert told(again)["cursor"] == "3"
        assert new_refs(turn(api, "ash", since=3)) == []

    def test_zero_is_a_fresh_start(self, api, trees):
        turn(api, "oak")
        fresh = turn(api, "oak", since=0)
        assert set(new_refs(fresh)) == trees["oak"]
        assert told(fresh)["cursor"] == "2"

    @pytest.mark.parametrize("since", [7, 99_999, "7"])
    def test_an_unknown_cursor_is_a_full_resync(self, api, trees, since):
        turn(api, "oak")
        response = ask(api, "oak", format="smp", session_id="chat", entities=["oak"], since=since)
        assert response["Cortex-Delta"] == "reset"
        assert set(new_refs(response.json())) == trees["oak"]
        fine = ask(api, "oak", format="smp", session_id="chat", entities=["oak"], since=2)
        assert "Cortex-Delta" not in fine

    def test_a_cursor_that_is_too_old_is_a_full_resync(self, api, trees):
        for _ in range(70):
            turn(api, "oak")
        response = ask(api, "oak", format="smp", session_id="chat", entities=["oak"], since=1)
        assert response["Cortex-Delta"] == "reset"
        assert set(new_refs(response.json())) == trees["oak"]

    def test_what_a_compaction_dropped_comes_again_and_nothing_else(self, api, trees):
        turn(api, "oak ash")
        gone = sorted(trees["oak"])[0]
        assert new_refs(turn(api, "oak ash", dropped=[gone])) == [gone]
        assert new_refs(turn(api, "oak ash")) == []

    def test_a_cursor_travels_as_it_was_told(self, api, trees):
        cursor = told(turn(api, "oak"))["cursor"]
        assert new_refs(turn(api, "oak", since=cursor)) == []
        assert (
            ok(api.get(f"context?task=oak&entities=oak&session_id=chat&since={cursor}"))["working_memory"][
                "cursor"
            ]
            == "3"
        )


class TestContent:
    def test_only_what_is_new_travels(self, api, trees):
        first = turn(api, "oak", delta="content")
        assert told(first).keys() == CONTENT
        assert set(refs(first)) == trees["oak"]
        second = turn(api, "oak ash", delta="content")
        assert set(refs(second)) == set(new_refs(second)) == trees["ash"]
        assert set(told(second)["carried"]) == trees["oak"]
        assert told(second)["tokens_saved"] > 0

    def test_the_pack_is_carried_new_and_changed_in_its_order(self, api):
        make_corpus(api.vault, 80)
        now = datetime(2026, 6, 1, tzinfo=UTC)
        with time_machine.travel(now, tick=False):
            asked = {"model": "claude", "session_id": "chat", "delta": "content"}
            smp(api, TASK, **asked, token_budget=1_200)
            whole = smp(api, TASK, model="claude", token_budget=4_000)
            body = smp(api, TASK, **asked, token_budget=4_000)
        memory = told(body)
        assert {*memory["carried"], *memory["changed"], *new_refs(body)} == set(refs(whole))
        held = set(memory["carried"])
        assert memory["carried"] == [ref for ref in refs(whole) if ref in held]
        assert body["items"] == [item for item in whole["items"] if item["ref"] not in held]

    def test_a_repetition_costs_refs_only(self, api):
        make_corpus(api.vault, 60)
        asked = {"model": "claude", "session_id": "chat", "delta": "content", "legend": False}
        first = ask(api, TASK, format="smp", **asked)
        again = ask(api, TASK, format="smp", **asked)
        assert again.json()["items"] == []
        assert again.json()["budget"]["used"] == 0
        assert len(again.content) * 5 < len(first.content)

    def test_what_is_saved_is_measured_on_the_items_as_sent(self, api):
        make_corpus(api.vault, 60)
        asked = {"model": "claude", "session_id": "chat", "delta": "content"}
        used = smp(api, TASK, **asked)["budget"]["used"]
        saved = told(smp(api, TASK, **asked))["tokens_saved"]
        assert used * 0.9 <= saved <= used * 1.2

    def test_what_was_sent_travels_once_however_long_nobody_asked_for_it(self, api, trees):
        turn(api, "oak", delta="content")
        for topic in (*TOPICS[1:], *TOPICS[1:]):
            assert told(turn(api, topic, delta="content"))["evicted"] == []
        again = turn(api, "oak", delta="content")
        assert (refs(again), set(told(again)["carried"])) == ([], trees["oak"])

    def test_a_fuller_rung_travels_as_changed(self, api):
        long = "Oak is hard. " + "It grows slowly in the valley behind the mill. " * 40
        ref = remember_of(api, "oak", long)
        thin = turn(api, "oak", model="claude", token_budget=300, delta="content")
        assert refs(thin) == [ref]
        assert thin["items"][0]["content"] != long.strip()
        full = turn(api, "oak", model="claude", token_budget=4_000, delta="content")
        assert (told(full)["changed"], new_refs(full), refs(full)) == ([ref], [], [ref])
        assert len(full["items"][0]["content"]) > len(thin["items"][0]["content"])
        assert told(turn(api, "oak", model="claude", token_budget=300, delta="content"))["carried"] == [ref]

    def test_the_head_of_a_superseded_memory_travels_with_the_notice(self, api, trees):
        turn(api, "oak", delta="content")
        old = sorted(trees["oak"])[0]
        head = supersede(api, old, "a quite different remark")
        body = turn(api, "ash", delta="content")
        assert told(body)["superseded"] == [{"ref": old, "replacement": head}]
        assert head in refs(body)
        assert head in new_refs(body)

    def test_a_retirement_waits_while_its_successor_does_not_fit(self, api, trees):
        turn(api, "oak", delta="content")
        old = sorted(trees["oak"])[0]
        head = supersede(api, old, "a quite different remark " * 400)
        tight = turn(api, "ash", delta="content", token_budget=300)
        assert told(tight)["superseded"] == []
        assert old in known(api)
        roomy = turn(api, "ash", delta="content", token_budget=6_000)
        assert told(roomy)["superseded"] == [{"ref": old, "replacement": head}]

    @pytest.mark.parametrize(
        "withdraw",
        [
            lambda api, ref: api.delete(f"memories/{ref}"),
            lambda api, ref: api.post(f"memories/{ref}/redact"),
            lambda api, ref: api.post(f"memories/{ref}/archive"),
            lambda api, ref: Memory.objects.filter(ref=ref).update(
                expires_at=datetime(2026, 1, 6, tzinfo=UTC)
            ),
        ],
    )
    def test_what_was_withdrawn_is_retracted_once(self, api, trees, withdraw: Callable[[Api, str], Any]):
        turn(api, "oak", delta="content")
        gone = sorted(trees["oak"])[0]
        withdraw(api, gone)
        assert told(turn(api, "ash", delta="content"))["retracted"] == [gone]
        assert told(turn(api, "oak", delta="content"))["retracted"] == []

    def test_its_legend_describes_its_keys(self, api, trees):
        legend = turn(api, "oak", delta="content")["legend"]
        assert legend["working_memory"].keys() == CONTENT - IDS
        assert "working_memory" not in turn(api, "oak")["legend"]

    def test_markdown_names_what_is_held_and_what_to_drop(self, api, trees):
        asked = {"session_id": "chat", "delta": "content", "entities": ["oak"]}
        first = markdown(api, "oak", **asked)
        assert all(f"[{ref}]" in first for ref in trees["oak"])
        gone, kept = sorted(trees["oak"])
        api.delete(f"memories/{gone}")
        second = markdown(api, "oak", **asked)
        assert "wood" not in second
        assert kept in second
        assert gone in second

    def test_markdown_carries_the_head_of_what_it_retires(self, api, trees):
        asked = {"session_id": "chat", "delta": "content"}
        markdown(api, "oak", **asked, entities=["oak"])
        old, kept = sorted(trees["oak"])
        head = supersede(api, old, "a quite different remark")
        text = markdown(api, "oak", **asked, entities=["oak"])
        *lines, notice = text.strip().splitlines()
        assert [line for line in lines if line.startswith("- ")] == [f"- a quite different remark [{head}]"]
        assert notice == f"Still held: {kept}. Drop: {old} (now {head})."
        again = markdown(api, "oak", **asked, entities=["oak"])
        assert again.strip().splitlines()[-1].startswith("Still held: ")
        assert ("remark" in again, old in again) == (False, False)

    def test_the_budget_of_what_travels_is_never_exceeded(self, api):
        make_corpus(api.vault, 60)
        for budget in (300, 900, 300, 2_000):
            body = smp(api, TASK, model="claude", session_id="chat", delta="content", token_budget=budget)
            assert body["budget"]["used"] <= body["budget"]["tokens"] == budget


class TestTurns:
    def test_identical_calls_are_one_turn_with_a_cursor_each(self, api, trees):
        answers = [turn(api, "oak") for _ in range(14)]
        assert [told(body)["cursor"] for body in answers] == [str(number) for number in range(1, 15)]
        session = ok(api.get("sessions/chat"))
        assert (session["turn"], session["cursor"]) == (1, "14")
        assert all(new_refs(body) == [] for body in answers[1:])

    def test_sessions_can_be_looked_at_and_ended(self, api, trees):
        turn(api, "oak")
        (listed,) = ok(api.get("sessions"))["results"]
        assert listed["session_id"] == "chat"
        session = ok(api.get("sessions/chat"))
        assert set(session["known"]) == trees["oak"]
        assert [step["ids"] for step in session["trajectory"]] == [[*session["trajectory"][0]["ids"]]]
        assert set(session["trajectory"][0]["ids"]) == trees["oak"]
        assert len(session["deltas"]) == 1
        assert api.delete("sessions/chat").status_code == 204
        assert api.get("sessions/chat").status_code == 404
        assert set(new_refs(turn(api, "oak"))) == trees["oak"]

    def test_the_trajectory_keeps_eight_turns(self, api, trees):
        for number in range(11):
            turn(api, TOPICS[number % 5])
        session = ok(api.get("sessions/chat"))
        assert [step["turn"] for step in session["trajectory"]] == list(range(4, 12))
        assert all(set(step) == {"turn", "tokens", "ids"} for step in session["trajectory"])
