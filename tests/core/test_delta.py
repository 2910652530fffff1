"""The delta of a session: examples first, then the law that the client's set is the server's known-set."""

import os
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from sessions.core.delta import (
    SESSION_EVICTION_TTL_TURNS,
    SESSION_LOG_CAP,
    Base,
    Delta,
    LoggedDelta,
    Served,
    base_of,
    compute_delta,
    logged,
    needs_log,
    replay,
)
from sessions.core.state import Known, SessionState

HEAD, SUMMARY, FULL = 0, 1, 2


def pack(*refs: str, rung: int = FULL) -> list[Served]:
    return [Served(ref=ref, rung=rung, relevance=0.5, item_tokens=10) for ref in refs]


def turns(*packs: list[Served]) -> SessionState:
    """A session after these packs, each the answer to another question."""
    state = SessionState()
    for number, served in enumerate(packs):
        _, state = compute_delta(state, served, request_digest=f"q{number}")
    return state


# -- New, carried, changed ------------------------------------------------------------------------


def test_a_first_pack_is_all_new_with_its_relevance():
    delta, state = compute_delta(SessionState(), pack("b", "a"))
    assert delta.new == (("b", 0.5), ("a", 0.5))
    assert (delta.cursor, delta.turn) == (1, 1)
    assert state.known == {"a": Known(turn=1, rung=FULL), "b": Known(turn=1, rung=FULL)}


def test_an_unscored_item_has_no_relevance_rather_than_a_made_up_one():
    delta, _ = compute_delta(SessionState(), [Served(ref="a", rung=FULL)])
    assert delta.new == (("a", None),)


def test_it_never_resends_a_known_ref():
    delta, state = compute_delta(turns(pack("a", "b")), pack("c", "a", "b"), request_digest="wider")
    assert delta.new == (("c", 0.5),)
    assert delta.carried == ("a", "b")
    assert delta.tokens_saved == 20
    assert state.known["a"].turn == 2


def test_a_fuller_rung_is_changed_content():
    delta, state = compute_delta(turns(pack("a", rung=HEAD)), pack("a"), request_digest="roomy")
    assert (delta.new, delta.changed, delta.carried) == ((), ("a",), ())
    assert delta.tokens_saved == 0
    assert state.known["a"].rung == FULL


def test_a_thinner_rung_is_carried_and_the_fuller_one_stays_known():
    delta, state = compute_delta(turns(pack("a")), pack("a", rung=SUMMARY), request_digest="tight")
    assert (delta.changed, delta.carried) == ((), ("a",))
    assert state.known["a"] == Known(turn=2, rung=FULL)


# -- Eviction -------------------------------------------------------------------------------------


def test_a_memory_unseen_for_four_turns_is_evicted_once():
    state = turns(pack("a"), *[pack("b")] * (SESSION_EVICTION_TTL_TURNS - 1))
    delta, state = compute_delta(state, pack("b"), request_digest="fifth")
    assert delta.evicted == ("a",)
    assert "a" not in state.known
    delta, _ = compute_delta(state, pack("b"), request_digest="sixth")
    assert delta.evicted == ()


def test_a_memory_unseen_for_three_turns_is_not_evicted():
    delta, state = compute_delta(turns(pack("a"), pack("b"), pack("b")), pack("b"), request_digest="q")
    assert delta.evicted == ()
    assert "a" in state.known


def test_a_cold_memory_that_reappears_is_carried():
    state = turns(pack("a"), *[pack("b")] * 3)
    delta, _ = compute_delta(state, pack("a"), request_digest="again")
    assert (delta.evicted, delta.carried) == ((), ("a",))


def test_an_evicted_memory_can_be_new_again():
    state = turns(pack("a"), *[pack("b")] * 4)
    delta, _ = compute_delta(state, pack("a"), request_digest="again")
    assert delta.new == (("a", 0.5),)


def test_content_mode_evicts_nothing_while_there_is_room():
    state = turns(pack("a"))
    for number in range(20):
        delta, state = compute_delta(
            state, pack("b"), content_travels_once=True, known_cap=2, request_digest=f"b{number}"
        )
        assert delta.evicted == ()
    delta, _ = compute_delta(state, pack("a"), content_travels_once=True, known_cap=2, request_digest="again")
    assert (delta.new, delta.carried) == ((), ("a",))
    delta, _ = compute_delta(state, pack("c"), content_travels_once=True, known_cap=2, request_digest="more")
    assert delta.evicted == ("a",)


# -- Repeated calls -------------------------------------------------------------------------------


def test_fourteen_identical_calls_are_one_turn():
    state = SessionState()
    for call in range(14):
        delta, state = compute_delta(
            state, pack("a", "b"), request_digest="same", task_terms=["atlas"], tokens=50
        )
        assert delta.cursor == call + 1
        assert delta.repeated is (call > 0)
        assert delta.new == ((("a", 0.5), ("b", 0.5)) if call == 0 else ())
    assert (state.turn, state.delta_cursor, len(state.trajectory)) == (1, 14, 1)
    assert state.centroid == {"atlas": 0.25}


def test_another_question_with_the_same_answer_is_another_turn():
    delta, state = compute_delta(turns(pack("a")), pack("a"), request_digest="other")
    assert not delta.repeated
    assert state.turn == 2


def test_the_same_question_with_another_answer_is_another_turn():
    _, state = compute_delta(SessionState(), pack("a"), request_digest="same")
    delta, state = compute_delta(state, pack("a", "b"), request_digest="same")
    assert not delta.repeated
    assert delta.new == (("b", 0.5),)


def test_a_repeated_call_evicts_nobody():
    state = turns(pack("a"), *[pack("b")] * 3)
    for _ in range(10):
        delta, state = compute_delta(state, pack("b"), request_digest="q3")
        assert delta.repeated
        assert delta.evicted == ()


# -- Further pages --------------------------------------------------------------------------------


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3, unique=True), max_size=12))
def test_whoever_reads_on_is_told_to_forget_nothing_of_the_pages_before(further):
    opening, state = compute_delta(SessionState(), pack("a"), request_digest="q", tokens=5)
    read = {"a"}
    for refs in further:
        delta, state = compute_delta(state, pack(*refs), request_digest="q", continues=True, tokens=5)
        read |= set(refs)
        assert (delta.evicted, delta.turn) == ((), opening.turn)
        assert read == set(state.known) == set(state.trajectory[-1].ids)
    assert (state.turn, len(state.trajectory), len(state.centroid)) == (1, 1, 0)
    assert state.trajectory[-1].tokens == 5 * (1 + len(further))


def test_a_page_without_a_turn_before_it_opens_one():
    delta, state = compute_delta(SessionState(), pack("a"), request_digest="q", continues=True)
    assert (delta.turn, state.turn) == (1, 1)


def test_going_back_to_the_first_page_is_the_same_turn():
    _, state = compute_delta(SessionState(), pack("a", "b"), request_digest="q")
    _, state = compute_delta(state, pack("c"), request_digest="q", continues=True)
    delta, state = compute_delta(state, pack("b", "a"), request_digest="q")
    assert (delta.repeated, state.turn) == (True, 1)


def test_the_cap_lets_go_of_earlier_pages_first():
    _, state = compute_delta(SessionState(), pack("z"), request_digest="q", known_cap=2)
    _, state = compute_delta(state, pack("a"), request_digest="q", continues=True, known_cap=2)
    _, state = compute_delta(state, pack("b"), request_digest="q", continues=True, known_cap=2)
    assert set(state.known) == {"a", "b"}


# -- Supersession and withdrawal ------------------------------------------------------------------


def test_a_superseded_memory_is_announced_once_with_its_served_head():
    state = turns(pack("old"))
    delta, state = compute_delta(state, pack("head"), superseded={"old": "head"}, request_digest="q")
    assert delta.superseded == (("old", "head"),)
    assert delta.new == (("head", 0.5),)
    assert set(state.known) == {"head"}
    delta, _ = compute_delta(state, pack("head"), superseded={"old": "head"}, request_digest="r")
    assert delta.superseded == ()


def test_a_head_that_is_known_already_may_be_named():
    delta, _ = compute_delta(turns(pack("old", "head")), pack("x"), superseded={"old": "head"})
    assert delta.superseded == (("old", "head"),)


def test_a_head_that_the_client_does_not_have_is_not_named():
    delta, state = compute_delta(turns(pack("old")), pack("x"), superseded={"old": "head"})
    assert delta.superseded == (("old", None),)
    assert set(state.known) == {"x"}


def test_a_head_is_not_evicted_by_the_answer_that_names_it():
    state = turns(pack("old", "head"), *[pack("x")] * 3)
    delta, _ = compute_delta(state, pack("x"), superseded={"old": "head"}, request_digest="q")
    assert delta.superseded == (("old", "head"),)
    assert delta.evicted == ()


def test_a_superseded_memory_that_a_look_into_the_past_serves_is_not_retired_by_it():
    state = turns(pack("old"))
    delta, state = compute_delta(state, pack("old"), superseded={"old": "head"}, request_digest="as of May")
    assert (delta.superseded, delta.carried) == ((), ("old",))
    delta, _ = compute_delta(state, pack("x"), superseded={"old": "head"}, request_digest="now")
    assert delta.superseded == (("old", None),)


def test_a_withdrawn_memory_leaves_the_known_set_and_no_other_list_names_it():
    state = turns(pack("secret", "b"), *[pack("b")] * 3)
    delta, state = compute_delta(
        state, pack("b"), retracted={"secret"}, superseded={"secret": "b"}, request_digest="q"
    )
    assert delta.retracted == ("secret",)
    assert (delta.evicted, delta.superseded, delta.new) == ((), (), ())
    assert set(state.known) == {"b"}


def test_a_withdrawn_memory_that_was_never_held_is_not_named():
    delta, _ = compute_delta(turns(pack("a")), pack("b"), retracted={"stranger"})
    assert delta.retracted == ()


def test_content_mode_holds_a_retirement_back_while_its_head_cannot_be_read():
    state = turns(pack("old"))
    delta, state = compute_delta(
        state, pack("x"), superseded={"old": "head"}, content_travels_once=True, request_digest="tight"
    )
    assert delta.superseded == ()
    assert "old" in state.known
    delta, state = compute_delta(
        state, pack("head"), superseded={"old": "head"}, content_travels_once=True, request_digest="roomy"
    )
    assert delta.superseded == (("old", "head"),)


def test_content_mode_lets_a_head_travel_with_the_notice():
    heads = pack("head", "unneeded")
    delta, state = compute_delta(
        turns(pack("old")),
        pack("x"),
        superseded={"old": "head"},
        attachable=heads,
        content_travels_once=True,
        request_digest="q",
    )
    assert delta.superseded == (("old", "head"),)
    assert delta.attached == ("head",)
    assert delta.new == (("x", 0.5), ("head", 0.5))
    assert set(state.known) == {"x", "head"}


def test_content_mode_announces_a_retirement_without_a_successor_to_show():
    delta, _ = compute_delta(
        turns(pack("old")), pack("x"), superseded={"old": None}, content_travels_once=True
    )
    assert delta.superseded == (("old", None),)


# -- The cap --------------------------------------------------------------------------------------


def test_what_falls_out_of_the_cap_is_evicted_and_can_be_new_again():
    _, state = compute_delta(SessionState(), pack("a", "b"), known_cap=3, request_digest="1")
    delta, state = compute_delta(state, pack("c", "d"), known_cap=3, request_digest="2")
    assert delta.evicted == ("a",)
    assert set(state.known) == {"b", "c", "d"}
    delta, state = compute_delta(state, pack("a"), known_cap=3, request_digest="3")
    assert (delta.new, delta.evicted) == ((("a", 0.5),), ("b",))


def test_nothing_is_evicted_for_want_of_room_that_the_answer_serves_or_names():
    _, state = compute_delta(SessionState(), pack("a", "b", "old", "head"), known_cap=4, request_digest="1")
    delta, state = compute_delta(
        state, pack("a", "c", "d", "e", "f"), superseded={"old": "head"}, known_cap=4, request_digest="2"
    )
    assert (delta.evicted, delta.superseded) == (("b",), (("old", "head"),))
    assert set(state.known) == {"a", "c", "d", "e", "f", "head"}


@given(st.lists(st.sets(st.sampled_from("abcdefghijkl"), max_size=5), max_size=8), st.integers(0, 8))
def test_room_is_made_by_those_served_longest_ago(packs, cap):
    state = SessionState()
    for number, refs in enumerate(packs):
        before = state.known
        delta, state = compute_delta(state, pack(*sorted(refs)), known_cap=cap, request_digest=str(number))
        assert len(state.known) <= max(cap, len(refs))
        stays = [(before[ref].turn, ref) for ref in (state.known.keys() & before.keys()) - refs]
        assert (
            not delta.evicted
            or not stays
            or max((before[ref].turn, ref) for ref in delta.evicted) < min(stays)
        )


def test_a_head_that_an_answer_names_is_held_beyond_the_cap():
    state = turns(pack("a", "b"))
    delta, after = compute_delta(state, pack("c", "d", "e"), superseded={"b": "a"}, known_cap=3)
    assert (delta.superseded, delta.evicted) == ((("b", "a"),), ())
    assert set(after.known) == {"a", "c", "d", "e"}
    delta, after = compute_delta(after, pack("c", "d", "e"), known_cap=3)
    assert delta.evicted == ("a",)


# -- Lost answers: since, dropped, replay ---------------------------------------------------------


@dataclass
class Server:
    """A session as the shell keeps it: a state and a bounded log."""

    cap: int = 512
    log_cap: int = SESSION_LOG_CAP
    state: SessionState = field(default_factory=SessionState)
    log: list[LoggedDelta] = field(default_factory=list)

    def answer(self, served, *, since=None, dropped=(), **options) -> Delta:
        base = base_of(self.state, self.log, since=since, dropped=dropped)
        delta, after = compute_delta(self.state, served, base=base, known_cap=self.cap, **options)
        step = logged(base, delta, after)
        self.log = [*self.log, LoggedDelta.from_json(step.to_json())][-self.log_cap :]
        self.state = SessionState.from_json(after.to_json())
        return delta


def test_a_lost_answer_comes_again():
    server = Server()
    server.answer(pack("a"), since=0, request_digest="1")
    server.answer(pack("a", "b"), since=1, request_digest="2")
    again = server.answer(pack("a", "b"), since=1, request_digest="2")
    assert again.new == (("b", 0.5),)
    assert (again.cursor, again.repeated, again.reset) == (3, True, False)


def test_a_lost_eviction_comes_again():
    server = Server()
    server.answer(pack("a"), request_digest="0")
    for number in range(1, 5):
        server.answer(pack("b"), request_digest=str(number))
    again = server.answer(pack("c"), since=4, request_digest="6")
    assert again.evicted == ("a",)


def test_zero_is_a_fresh_start_with_cursors_that_go_on():
    server = Server()
    server.answer(pack("a"), request_digest="1")
    fresh = server.answer(pack("a"), since=0, request_digest="2")
    assert fresh.new == (("a", 0.5),)
    assert (fresh.cursor, fresh.reset) == (2, False)


@pytest.mark.parametrize("since", [7, -1, 10**12])
def test_an_unknown_cursor_is_a_full_resync(since):
    server = Server()
    server.answer(pack("a"), request_digest="1")
    resync = server.answer(pack("a", "b"), since=since, request_digest="2")
    assert resync.reset
    assert resync.new == (("a", 0.5), ("b", 0.5))
    assert set(server.state.known) == {"a", "b"}


def test_a_cursor_older_than_the_log_is_a_full_resync():
    server = Server(log_cap=3)
    for number in range(6):
        server.answer(pack("a", f"b{number}"), request_digest=str(number))
    assert server.answer(pack("a"), since=2, request_digest="x").reset


def test_a_client_that_keeps_asking_from_one_cursor_is_never_too_old():
    server = Server(log_cap=3)
    server.answer(pack("a"), request_digest="first")
    for number in range(10):
        again = server.answer(pack("a", "b"), since=1, request_digest=str(number))
        assert (again.new, again.reset) == ((("b", 0.5),), False)


def test_dropped_refs_are_sent_in_full_again_and_only_they():
    server = Server()
    server.answer(pack("a", "b"), request_digest="1")
    delta = server.answer(pack("a", "b", rung=HEAD), dropped={"a", "stranger"}, request_digest="2")
    assert delta.new == (("a", 0.5),)
    assert delta.carried == ("b",)
    assert server.state.known["a"].rung == HEAD


def test_two_calls_on_one_base_each_have_their_own_way_on():
    server = Server()
    server.answer(pack("a"), since=0, request_digest="1")
    left = server.answer(pack("b"), since=1, request_digest="2")
    right = server.answer(pack("b", "c"), since=1, request_digest="3")
    assert (left.new, right.new) == ((("b", 0.5),), (("b", 0.5), ("c", 0.5)))
    assert set(replay(server.state, server.log, 2) or ()) == {"a", "b"}
    on_the_left = server.answer(pack("c"), since=2, request_digest="4")
    assert on_the_left.new == (("c", 0.5),)


def test_the_log_is_looked_at_only_where_an_answer_was_lost():
    state = turns(pack("a"), pack("b"), pack("c"))
    assert [needs_log(state, since) for since in (None, 0, 1, 2, 3, 4)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]


# -- The law --------------------------------------------------------------------------------------

EXAMPLES = max(100, int(os.environ.get("DELTA_LAW_EXAMPLES", "0")))
REFS = tuple("abcdefghij")
REQUESTS = st.integers(0, 2).map("q{}".format)
PACKS = st.lists(
    st.builds(Served, ref=st.sampled_from(REFS), rung=st.integers(0, 2)),
    max_size=6,
    unique_by=lambda i: i.ref,
)


@dataclass(frozen=True)
class Answer:
    """What travels: the client also remembers what it had asked with."""

    asker: int
    since: int
    dropped: frozenset[str]
    delta: Delta
    served: tuple[Served, ...]  # ids mode sends them all; content mode names those not sent as carried
    heads: tuple[Served, ...]


@dataclass
class Client:
    """The client of the module's docstring, and nothing more."""

    cursor: int = 0
    held: dict[str, int] = field(default_factory=dict)  # ref → rung
    lost: set[str] = field(default_factory=set)  # dropped and not yet confirmed

    def apply(self, answer: Answer) -> None:
        if answer.since != self.cursor:
            return
        delta = answer.delta
        if delta.reset:
            self.held, self.lost = {}, set()
        new = {ref for ref, _ in delta.new}
        sent = {item.ref: item.rung for item in (*answer.served, *answer.heads)}
        for ref in answer.dropped - new:
            self.held.pop(ref, None)
        for ref in new:
            self.held[ref] = sent[ref]
        for ref in delta.changed:
            self.held[ref] = sent[ref]
        for ref in (*delta.evicted, *delta.retracted, *(ref for ref, _ in delta.superseded)):
            self.held.pop(ref, None)
        self.lost -= answer.dropped | new
        self.cursor = delta.cursor


class TheClientHoldsWhatTheServerKnows(RuleBasedStateMachine):
    """Two clients share a session; answers are lost, doubled, reordered; memories change in between."""

    answers = Bundle("answers")

    @initialize(cap=st.integers(3, 12), log_cap=st.integers(2, 12), content=st.booleans())
    def start(self, cap, log_cap, content):
        self.server = Server(cap=cap, log_cap=log_cap)
        self.clients = [Client(), Client()]
        self.content = content
        self.heads: dict[str, str | None] = {}
        self.withdrawn: set[str] = set()
        self.cursors: set[int] = set()
        self.most_there = 0  # of what one answer served, or named as a replacement

    def servable(self, served: list[Served]) -> list[Served]:
        return [i for i in served if i.ref not in self.withdrawn and i.ref not in self.heads]

    @rule(
        target=answers,
        who=st.integers(0, 1),
        served=PACKS,
        digest=REQUESTS,
        attach=st.booleans(),
        further=st.booleans(),
    )
    def ask(self, who, served, digest, attach, further):
        client, served = self.clients[who], self.servable(served)
        base = base_of(self.server.state, self.server.log, since=client.cursor, dropped=client.lost)
        held = base.held
        heads = {r: h for r, h in self.heads.items() if r in held and r not in self.withdrawn}
        offered = [Served(ref=h, rung=FULL) for h in dict.fromkeys(heads.values()) if h]
        delta = self.server.answer(
            served,
            since=client.cursor,
            dropped=client.lost,
            superseded=heads,
            retracted=self.withdrawn,
            attachable=offered if attach and self.content else (),
            content_travels_once=self.content,
            request_digest=digest,
            continues=further,
        )
        self.check_promises(delta, base, served)
        named = {head for _, head in delta.superseded if head}
        there = {*delta.carried, *delta.changed, *(ref for ref, _ in delta.new)} | named
        self.most_there = max(self.most_there, len(there))
        travelling = tuple(item for item in offered if item.ref in delta.attached)
        return Answer(who, client.cursor, frozenset(client.lost), delta, tuple(served), travelling)

    def check_promises(self, delta: Delta, base: Base, served):
        held, new = base.held, [ref for ref, _ in delta.new]
        here = {item.ref for item in served} | set(delta.attached)
        gone = [*delta.evicted, *delta.retracted, *(ref for ref, _ in delta.superseded)]
        assert delta.cursor not in self.cursors, "cursors never repeat"
        self.cursors.add(delta.cursor)
        assert not set(new) & held.keys(), "no resend"
        assert set(new) | set(delta.carried) | set(delta.changed) | set(delta.attached) >= here
        assert len({*new, *gone}) == len(new) + len(gone), "a ref is in one list at most"
        assert set(gone) <= held.keys(), "only what is held can go"
        assert set(new) <= here, "no leak"
        assert not (set(delta.evicted) | {r for r, _ in delta.superseded}) & self.withdrawn, "no leak"
        for ref in delta.evicted:
            assert ref not in here
            cold = not self.content and delta.turn - held[ref].turn >= SESSION_EVICTION_TTL_TURNS
            assert cold or len(self.server.state.known) >= self.server.cap, "sound eviction"
        staying = here | (held.keys() - set(gone))
        for ref, head in delta.superseded:
            assert head in staying or (head is None and not (self.content and self.heads[ref]))

    @rule(answer=answers)
    def deliver(self, answer):
        """An answer reaches the client that asked, late or never, once or many times, in any order."""
        self.clients[answer.asker].apply(answer)

    @rule(answer=answers)
    def deliver_twice(self, answer):
        client = self.clients[answer.asker]
        client.apply(answer)
        held = dict(client.held)
        client.apply(answer)
        assert client.held == held

    @rule(answer=consumes(answers))
    def lose(self, answer):
        """It never arrives."""

    @rule(who=st.integers(0, 1), refs=st.sets(st.sampled_from(REFS), max_size=3))
    def compact(self, who, refs):
        client = self.clients[who]
        client.lost |= refs & client.held.keys()

    @precondition(lambda self: self.server.state.delta_cursor > self.server.state.first_base)
    @rule(certain=st.integers(0, 3))
    def end(self, certain):
        """Now and then the session ends; one of the same name counts its cursors on."""
        if not certain:
            last = self.server.state.delta_cursor
            self.server.state, self.server.log = SessionState(delta_cursor=last, first_base=last), []

    @rule(old=st.sampled_from(REFS), head=st.sampled_from(REFS))
    def supersede(self, old, head):
        if old != head and head not in self.heads and old not in self.heads and head not in self.withdrawn:
            self.heads = {r: (head if h == old else h) for r, h in self.heads.items()} | {old: head}

    @rule(ref=st.sampled_from(REFS))
    def withdraw(self, ref):
        self.withdrawn.add(ref)
        self.heads = {r: (None if h == ref else h) for r, h in self.heads.items()}

    @invariant()
    def the_client_holds_what_the_server_knows(self):
        for client in self.clients:
            known = replay(self.server.state, self.server.log, client.cursor)
            if known is not None:
                assert client.held == {ref: entry.rung for ref, entry in known.items()}

    @invariant()
    def the_known_set_is_capped(self):
        assert len(self.server.state.known) <= max(self.server.cap, self.most_there)


TestTheLaw = TheClientHoldsWhatTheServerKnows.TestCase
TestTheLaw.settings = settings(max_examples=EXAMPLES, stateful_step_count=30, deadline=None)
