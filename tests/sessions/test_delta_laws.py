"""The laws of the delta over the real database, whatever happens to answers, clients, server and memories.

Each law is looked at by a machine of its own, over the same rules: two clients share a session; answers are lost,
repeated, reordered; clients compact, start over and restart; the session is ended; the server dies before it commits;
memories are written, corrected, forgotten, redacted, archived, expire and move out of sight between any two turns; the
cap may be tiny.

A run makes few examples of each; `DELTA_LAW_EXAMPLES=10000` looks longer. Source: CMP §8.3; docs/wire.md, Session delta.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import ClassVar
from unittest import mock

import pytest
from django.core.cache import cache
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contextpack.models import Receipt
from memories.models import Memory
from sessions import stepping
from sessions.core.delta import SESSION_EVICTION_TTL_TURNS, compute_delta, replay
from sessions.core.state import SESSION_KNOWN_CAP, SessionState
from sessions.models import WorkingSession
from tests.clients import Api, api_of
from tests.factories import LONG_AGO, make_vault
from tests.sessions.worlds import SESSION, TOPICS, Answer, ContentClient, IdsClient, SessionClient
from tests.wire.asking import smp

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("DELTA_LAW_EXAMPLES", "5"))
STEPS = 14
LONG = "It was planted by the wardens of the northern valley, and counted each year since. " * 12

_settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)

topics = st.lists(st.sampled_from(TOPICS), min_size=1, max_size=2, unique=True)
budgets = st.sampled_from((300, 700, 3_000))
people = st.integers(0, 1)
picks = st.integers(
    0, 99
)  # of what is there at that moment: which refs there are must not decide what is drawn


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What every example begins with; made once, since each is undone to it."""

    owner: Api
    api: Api
    texts: Mapping[str, str]


def lay_ground() -> Ground:
    vault = make_vault()
    owner, api = api_of(vault), api_of(vault, projects=["here"])
    texts = {}
    for number, topic in enumerate((*TOPICS, *TOPICS)):
        text = text_of(topic, f"ground{number}", long=topic == TOPICS[-1])
        texts[str(owner.remember(text, entities=[topic], project="here")["ref"])] = text
    smp(api, " ".join(TOPICS))
    return Ground(owner=owner, api=api, texts=texts)


def text_of(topic: str, name: str, *, long: bool) -> str:
    return f"The {topic} {name}w is here. {LONG if long else ''}".strip()


class Crash(BaseException):
    """The server ends in the middle of an answer; nobody handles that."""


class World(RuleBasedStateMachine):
    """The rules, without a law: a machine for one says in `check` what must hold of every answer."""

    ground: ClassVar[Ground]
    on_the_way = Bundle("answers on the way")

    @initialize(mode=st.sampled_from(("ids", "content")), cap=st.sampled_from((SESSION_KNOWN_CAP, 4)))
    def begin(self, mode: str, cap: int) -> None:
        self.point = transaction.savepoint()
        self.owner, self.api = self.ground.owner, self.ground.api
        self.mode, self.cap = mode, cap
        make: Callable[[Api], SessionClient] = ContentClient if mode == "content" else IdsClient
        self.clients = [make(self.api), make(self.api)]
        self.words = count(1)
        self.texts = dict(self.ground.texts)
        self.unnameable: set[str] = set()
        self.unservable: set[str] = set()
        self.superseded: set[str] = set()
        self.answers: dict[int, Answer] = {}
        self.ended = False
        capped = partial(compute_delta, known_cap=cap)
        self.patched = mock.patch.object(stepping, "compute_delta", capped)
        self.patched.start()

    def teardown(self) -> None:
        if hasattr(self, "patched"):
            self.patched.stop()
            transaction.savepoint_rollback(self.point)

    # -- What becomes of memories ----------------------------------------------------------------

    @rule(topic=st.sampled_from(TOPICS), long=st.booleans())
    def remember(self, topic: str, long: bool) -> None:
        self.write(topic, long=long)

    def write(self, topic: str, *, long: bool = False) -> str:
        text = text_of(topic, f"word{next(self.words)}", long=long)
        ref = str(self.owner.remember(text, entities=[topic], project="here")["ref"])
        self.texts[ref] = text
        return ref

    @rule(
        pick=picks,
        topic=st.sampled_from(TOPICS),
        long=st.booleans(),
        who=people,
        about=topics,
        budget=budgets,
    )
    def supersede_and_ask(
        self, pick: int, topic: str, long: bool, who: int, about: list[str], budget: int
    ) -> None:
        ref = self.pick_ref(pick, who, about)
        text = f"The {topic} word{next(self.words)}w came instead. {LONG if long else ''}".strip()
        response = self.owner.post(f"memories/{ref}/supersede", {"content": text, "entities": [topic]})
        if response.status_code == 201:
            self.texts[str(response.json()["ref"])] = text
            self.superseded.add(ref)
        self.ask_and_hear(who, about, budget)

    @rule(
        pick=picks,
        how=st.sampled_from(("forget", "redact", "move out of sight", "expire", "archive")),
        who=people,
        about=topics,
        budget=budgets,
    )
    def withdraw_and_ask(self, pick: int, how: str, who: int, about: list[str], budget: int) -> None:
        ref = self.pick_ref(pick, who, about)
        match how:
            case "forget":
                self.owner.delete(f"memories/{ref}")
            case "redact":
                self.owner.post(f"memories/{ref}/redact")
            case "archive":
                self.owner.post(f"memories/{ref}/archive")
            case "expire":
                Memory.objects.filter(ref=ref).update(expires_at=LONG_AGO)
            case _:
                Memory.objects.filter(ref=ref).update(project="elsewhere")
        (self.unservable if how in {"expire", "archive"} else self.unnameable).add(ref)
        self.ask_and_hear(who, about, budget)

    def pick_ref(self, pick: int, who: int, about: list[str]) -> str:
        """Choose a memory that nothing happened to yet, one that its client holds where there is one."""
        if not self.clients[who].held:
            self.ask_and_hear(who, about, 3_000)
        untouched = self.texts.keys() - self.unnameable - self.unservable - self.superseded
        held = untouched & self.clients[who].held
        choice = sorted(held or untouched or {self.write(TOPICS[0])})
        return choice[pick % len(choice)]

    # -- What becomes of answers -----------------------------------------------------------------

    @rule(target=on_the_way, who=people, about=topics, budget=budgets)
    def ask(self, who: int, about: list[str], budget: int) -> Answer:
        return self.answer(who, about, budget)

    @rule(who=people, about=topics, budget=budgets)
    def ask_and_hear(self, who: int, about: list[str], budget: int) -> None:
        self.deliver(self.answer(who, about, budget))

    @rule(who=people, about=topics, budget=budgets)
    def ask_and_die_before_the_commit(self, who: int, about: list[str], budget: int) -> None:
        before = self.session_row()
        with mock.patch.object(Receipt, "save", side_effect=Crash), pytest.raises(Crash):
            self.clients[who].ask(" ".join(about), {"entities": about, "token_budget": budget})
        assert self.session_row() == before

    @rule(answer=on_the_way)
    def deliver(self, answer: Answer) -> None:
        """It arrives, late or at once, for the first time or again, in any order."""
        client = self.clients[answer.who]
        applied = client.apply(answer.question, answer.reply)
        assert not applied or client.cursor == str(answer.cursor)
        self.arrived(answer, applied)

    @rule(answer=consumes(on_the_way))
    def lose(self, answer: Answer) -> None:
        """It never arrives."""

    def answer(self, who: int, about: list[str], budget: int) -> Answer:
        client, asked = self.clients[who], {"entities": about, "token_budget": budget}
        base, held = client.cursor, frozenset(client.held)
        question, reply = client.ask(" ".join(about), asked)
        assert reply.status == 200, reply.body
        answer = Answer(
            who=who,
            asked={"task": " ".join(about), **asked},
            body=json.loads(reply.body),
            question=question,
            reply=reply,
            base=base,
            held=held,
            turn=self.session().turn,
        )
        assert answer.cursor not in self.answers, "cursors never repeat"
        self.check(answer)
        self.answers[answer.cursor] = answer
        return answer

    # -- What becomes of clients and of the server -----------------------------------------------

    @rule(who=people, chosen=st.sets(picks, max_size=3))
    def compact(self, who: int, chosen: set[int]) -> None:
        held = sorted(self.clients[who].held)
        self.clients[who].drop({held[pick % len(held)] for pick in chosen} if held else set())

    @rule(who=people)
    def start_over(self, who: int) -> None:
        self.clients[who].start_over()

    @rule(who=people)
    def restart(self, who: int) -> None:
        self.clients[who].restart()
        cache.clear()

    @precondition(lambda self: len(self.answers) > 1 and not self.ended)
    @rule()
    def end_the_session(self) -> None:
        self.ended = self.api.delete(f"sessions/{SESSION}").status_code == 204

    # -- For the laws ----------------------------------------------------------------------------

    def check(self, answer: Answer) -> None:
        """Look at an answer when it is given."""

    def arrived(self, answer: Answer, applied: bool) -> None:
        """Look at the client after an answer reached it."""

    def session_row(self) -> WorkingSession | None:
        return WorkingSession.objects.filter(vault=self.api.vault, session_id=SESSION).values().first()  # type: ignore[return-value]

    def session(self) -> SessionState:
        row = WorkingSession.objects.get(vault=self.api.vault, session_id=SESSION)
        return SessionState.from_json(row.state)


class NoLeak(World):
    """delta_no_leak: nothing is told that may not surface; in content mode the withdrawn are named once, to go."""

    def check(self, answer: Answer) -> None:
        told = answer.told
        retracted = told.pop("retracted", [])
        body = json.dumps({**answer.body, "working_memory": told})
        for ref in self.unnameable:
            assert ref not in body
        for ref in self.unnameable | self.unservable | self.superseded:
            assert self.texts[ref] not in body
        assert set(retracted) <= answer.held & (self.unnameable | self.unservable)
        assert set(answer.new) <= set(answer.sent), "what is new travels"
        if self.mode == "content":
            assert not answer.served & self.unservable
            assert not set(told["evicted"]) & self.unservable
        assert not any(text in json.dumps(answer.body["working_memory"]) for text in self.texts.values())


class NoResend(World):
    """delta_no_resend: what a client holds is never new to it, and its text does not travel again."""

    def check(self, answer: Answer) -> None:
        held = frozenset() if answer.reset else answer.held
        assert not set(answer.new) & held
        assert len(set(answer.new)) == len(answer.new)
        if self.mode == "content":
            assert set(answer.sent) == {*answer.new, *answer.told["changed"]}
            assert not set(answer.told["carried"]) & set(answer.sent)
            assert set(answer.told["carried"]) <= held, "only what is held is left to the client"
            client = self.clients[answer.who]
            assert isinstance(client, ContentClient)
            texts = {item["ref"]: item["content"] for item in answer.body["items"]}
            for ref in answer.told["changed"]:
                assert len(texts[ref]) > len(client.text_of(ref)), "changed is fuller"


class SoundEviction(World):
    """eviction_soundness: evicted is what is neither served nor was lately, or what there is no room for."""

    def check(self, answer: Answer) -> None:
        told = answer.told
        going = {
            *told["evicted"],
            *told.get("retracted", ()),
            *(entry["ref"] for entry in told["superseded"]),
        }
        assert not set(told["evicted"]) & answer.served
        assert not set(told["evicted"]) & {entry["replacement"] for entry in told["superseded"]}
        assert going <= answer.held
        assert len(going) == sum(len(told.get(name, ())) for name in ("evicted", "retracted", "superseded"))
        staying = (answer.held - going) | answer.served
        for ref in told["evicted"]:
            cold = answer.turn - self.last_served(ref, int(answer.base)) >= SESSION_EVICTION_TTL_TURNS
            assert (cold and self.mode == "ids") or len(staying) >= self.cap
        assert len(self.session().known) <= max(self.cap, len(answer.served) + len(told["superseded"]))

    def last_served(self, ref: str, cursor: int) -> int:
        """Return the turn that served a memory last, on the way by which a client came to a cursor."""
        while cursor:
            answer = self.answers[cursor]
            if ref in answer.served:
                return answer.turn
            cursor = int(answer.base)
        raise AssertionError(f"{ref} was never served")


class TheClientHoldsWhatTheServerKnows(World):
    """What a client holds after the answers that it applied is the known-set; each pack can be read whole."""

    def arrived(self, answer: Answer, applied: bool) -> None:
        row = WorkingSession.objects.filter(vault=self.api.vault, session_id=SESSION).first()
        state = SessionState.from_json(row.state if row else {})
        log = stepping.read_log(row) if row else []
        for client in self.clients:
            known = replay(state, log, int(client.cursor))
            if known is None:
                assert row is None or int(client.cursor) <= state.first_base, (
                    "it is told of a reset when it asks"
                )
                continue
            unnamed = self.unnameable if self.mode == "ids" else set()
            named = {ref for ref in known if ref not in unnamed}
            assert client.held - unnamed <= named
            assert named - client.held <= client.lost
        if applied and row and answer.cursor > state.first_base:
            unnamed = self.unnameable if self.mode == "ids" else set()
            assert answer.served - unnamed <= self.clients[answer.who].held

    def check(self, answer: Answer) -> None:
        whole = smp(self.api, **answer.asked, model="claude")
        alone = {item["ref"] for item in whole["items"]}
        heads = {entry["replacement"] for entry in answer.told["superseded"]}
        assert alone <= answer.served <= alone | heads


LAWS = (NoLeak, NoResend, SoundEviction, TheClientHoldsWhatTheServerKnows)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_law_holds_whatever_happens(law: type[World]) -> None:
    law.ground = lay_ground()
    run_state_machine_as_test(law, settings=_settings)


# -- Budgets ---------------------------------------------------------------------------------------


@settings(_settings, max_examples=max(1, EXAMPLES // 2))
@given(asked=st.lists(st.integers(300, 3_000), min_size=2, max_size=3))
def test_packs_of_growing_budgets_nest_within_a_session(asked: list[int]) -> None:
    point = transaction.savepoint()
    api = api_of(make_vault())
    for number in range(12):
        api.remember(
            f"The oak branch{number}b is here. {LONG if number % 3 else ''}".strip(), entities=["oak"]
        )
    client, before = ContentClient(api), dict[str, str]()
    for budget in sorted(asked):
        client.apply(*client.ask("oak branch", {"token_budget": budget}))
        assert client.last is not None
        pack = {memory.ref: memory.content for memory in client.last.pack}
        whole = smp(api, "oak branch", model="claude", token_budget=budget)
        held = {**before, **{memory.ref: memory.content for memory in client.last.new}}
        assert before.keys() <= pack.keys()
        assert pack == {item["ref"]: held[item["ref"]] for item in whole["items"]}
        assert all(len(pack[ref]) >= len(text) for ref, text in before.items())
        assert client.last.tokens <= budget
        before = pack
    transaction.savepoint_rollback(point)
