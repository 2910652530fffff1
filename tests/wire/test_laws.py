"""Laws that hold for any request over real rows, and not for chosen ones alone (docs/wire.md, Asking, Query language)."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from itertools import count
from typing import Any

import pytest
import time_machine
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from memories.core.kinds import MemoryLayer
from tests.clients import Api, api_of
from tests.factories import make_memory
from tests.wire.asking import Body, ask, items, markdown, pack, query, refs, smp
from tests.wire.corpora import make_corpus

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, tzinfo=UTC)
KNAPSACKS = ("claude", "gpt-4o", "cursor")
FORMATS = ("json", "smp", "markdown")
FULLNESS = {"head": 0, "summary": 1, "full": 2}
WORDS = (
    "Atlas", "launch", "search index", "release checklist", "billing service", "Ana", "Bob", "rota", "Lisbon",
    "reviewers", "alerts", "runbook", "week", "euros a month", "rehearsal", "ledger", "contract", "never edit",
)  # fmt: skip
_sessions = count(1)

law = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
tasks = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6, unique=True).map(" ".join)
budgets = st.integers(300, 4_000)


@pytest.fixture
def api():
    api = api_of()
    rows = make_corpus(api.vault, 90)
    for number in (10, 11):  # two sides of a conflict among them
        api.remember(f"The vault code of the Lisbon office is {number}", author="user")
    for number in range(6):  # and one claim in six wordings
        lead = ("", "Reminder: ", "Note that ", "FYI: ", "Again: ", "Update: ")[number]
        make_memory(
            api.vault,
            content=f"{lead}the rota of the billing service is written by Ana",
            ref=f"mem_fold{number:08d}",
        )
    old = rows[3].ref
    api.post(f"memories/{old}/supersede", {"content": "The billing service was moved to week 3"})
    return api


def rungs(api: Api, task: str, fmt: str, **asked: Any) -> dict[str, Any]:
    """Return how much of each memory a pack carries: the named rung, or the length where none is named."""
    if fmt == "json":
        return {row["ref"]: FULLNESS[row["rung"]] for row in items(pack(api, task, **asked))}
    if fmt == "smp":
        return {item["ref"]: len(item["content"]) for item in smp(api, task, **asked)["items"]}
    lines = [line for line in markdown(api, task, **asked).splitlines() if line.startswith("- ")]
    return {line.rsplit("[", 1)[1]: len(line) for line in lines}


class TestNesting:
    @pytest.mark.parametrize("model", KNAPSACKS)
    @law
    @given(fmt=st.sampled_from(FORMATS), task=tasks, budget=budgets, more=st.integers(0, 3_000))
    def test_a_larger_budget_holds_all_of_a_smaller_one_at_least_as_full(
        self, api, model, fmt, task, budget, more
    ):
        with time_machine.travel(NOW, tick=False):
            tight = rungs(api, task, fmt, model=model, token_budget=budget)
            roomy = rungs(api, task, fmt, model=model, token_budget=budget + more)
        assert tight.keys() <= roomy.keys()
        assert all(roomy[ref] >= fullness for ref, fullness in tight.items())

    @law
    @given(
        model=st.sampled_from(KNAPSACKS),
        task=tasks,
        budget=budgets,
        more=st.integers(0, 3_000),
        layer=st.sampled_from(list(MemoryLayer)),
    )
    def test_it_holds_for_a_narrowed_request_and_within_a_session(
        self, api, model, task, budget, more, layer
    ):
        asked = {"model": model, "layers": ["semantic", layer.value] if layer != "semantic" else ["semantic"]}
        session = f"nest-{next(_sessions)}"
        with time_machine.travel(NOW, tick=False):
            tight = rungs(api, task, "json", **asked, token_budget=budget, session_id=session)
            roomy = rungs(api, task, "json", **asked, token_budget=budget + more, session_id=session)
        assert tight.keys() <= roomy.keys()
        assert all(roomy[ref] >= fullness for ref, fullness in tight.items())


class TestBudget:
    @law
    @given(
        fmt=st.sampled_from(["json", "smp"]),
        task=tasks,
        budget=budgets,
        model=st.sampled_from([None, *KNAPSACKS]),
    )
    def test_it_is_never_exceeded(self, api, fmt, task, budget, model):
        body = pack(api, task, format=fmt, model=model, token_budget=budget)
        assert body["budget"]["used"] <= body["budget"]["tokens"]
        assert body["budget"]["tokens"] == min(budget, 3_000) if model == "cursor" else budget
        sent = len(json.dumps(items(body), ensure_ascii=False).encode())
        assert sent / 8 <= body["budget"]["used"] or not items(body)


class TestIdentity:
    @law
    @given(
        fmt=st.sampled_from(["json", "smp"]),
        task=tasks,
        budget=budgets,
        model=st.sampled_from([None, *KNAPSACKS]),
    )
    def test_no_memory_is_twice_in_a_pack(self, api, fmt, task, budget, model):
        body = pack(api, task, format=fmt, model=model, token_budget=budget)
        named = [ref for item in items(body) for ref in (item["ref"], *item.get("folded_refs", ()))]
        assert len(named) == len(set(named))

    @law
    @given(
        fmt=st.sampled_from(FORMATS),
        task=tasks,
        budget=budgets,
        model=st.sampled_from([None, *KNAPSACKS]),
    )
    def test_a_session_changes_no_byte_of_a_pack(self, api, fmt, task, budget, model):
        asked = {"format": fmt, "model": model, "token_budget": budget}
        with time_machine.travel(NOW, tick=False):
            alone = ask(api, task, **asked)
            within = ask(api, task, **asked, session_id=f"same-{next(_sessions) % 3}")
        assert plain(alone, fmt) == plain(within, fmt)


def plain(response: Any, fmt: str) -> bytes:
    """Return a body's bytes without the parts that belong to its receipt and its session."""
    assert response.status_code == 200, response.content
    if fmt == "markdown":
        return bytes(response.content)
    body = {key: part for key, part in response.json().items() if key not in {"receipt", "working_memory"}}
    if "warnings" in body:
        body["warnings"] = [warning for warning in body["warnings"] if warning["code"] != "working_memory"]
    return json.dumps(body).encode()


# -- Queries only narrow -----------------------------------------------------------------------------

moments = st.dates(date(2026, 1, 1), date(2026, 6, 1)).map(lambda day: day.isoformat())
KNOBS: Mapping[str, st.SearchStrategy[Any]] = {
    "layers": st.lists(
        st.sampled_from([layer.value for layer in MemoryLayer]), min_size=1, max_size=4, unique=True
    ),
    "entities": st.lists(
        st.sampled_from(["Ana", "bob", "Atlas", "Lisbon", "nobody"]), min_size=1, max_size=3, unique=True
    ),
    "known_at": moments,
    "min_relevance": st.floats(0, 1, allow_nan=False),
    "min_trust": st.floats(0, 1, allow_nan=False),
    "project": st.sampled_from(["hall", "barn"]),
    "as_of": moments,
}
mql_bases = st.fixed_dictionaries({}, optional={**KNOBS, "valid_only": st.booleans()})


@pytest.fixture
def labelled(api):
    """The same vault with projects, entities, several authors and ends of validity in it."""
    for number in range(24):
        api.remember(
            f"Atlas launch rehearsal note {number} by Ana",
            project=("", "hall", "barn")[number % 3],
            author=("user", "agent", "inferred", "import")[number % 4],
            confidence=None if number % 5 else 0.3,
            entities=["Ana", "Atlas"][: number % 3],
            occurred_at=f"2026-0{1 + number % 5}-10",
            **({"valid_to": "2026-04-01"} if number % 6 == 0 else {}),
        )
    return api


def found(api: Api, mql: Mapping[str, Any]) -> set[str]:
    """Return every ref that a query answers, whatever its page."""
    body: Body = query(api, k=100, **mql)
    told = refs(body)
    while body["cursor"]:
        body = query(api, k=100, **mql, cursor=body["cursor"])
        told += refs(body)
    assert len(told) == len(set(told))
    return set(told)


class TestNarrowing:
    # as_of and known_at move the moments at which validity is judged, so they narrow where it is not; and a pack
    # is assembled as of them.
    @pytest.mark.parametrize(
        ("mode", "knob"),
        [("find", knob) for knob in sorted(KNOBS)]
        + [("ask", knob) for knob in sorted(set(KNOBS) - {"as_of", "known_at"})],
    )
    @settings(law, max_examples=10)
    @given(data=st.data(), task=tasks, base=mql_bases)
    def test_a_knob_only_removes(self, labelled, mode, knob, data, task, base):
        assume(knob not in base)
        wide = {mode: task, **base}
        narrow = {**wide, knob: data.draw(KNOBS[knob])}
        if knob in {"as_of", "known_at"}:
            wide["valid_only"] = narrow["valid_only"] = False
        assert found(labelled, narrow) <= found(labelled, wide)

    @pytest.mark.parametrize("mode", ["find", "ask"])
    @law
    @given(task=tasks, base=mql_bases)
    def test_valid_only_only_removes(self, labelled, mode, task, base):
        wide = {mode: task, **base, "valid_only": False}
        assert found(labelled, {**wide, "valid_only": True}) <= found(labelled, wide)

    @law
    @given(task=tasks, base=mql_bases, k=st.integers(1, 100))
    def test_a_page_is_the_beginning_of_a_longer_one(self, labelled, task, base, k):
        whole, page = (refs(query(labelled, find=task, **base, k=size)) for size in (100, k))
        assert page == whole[:k]

    @law
    @given(task=tasks, base=mql_bases)
    def test_what_was_narrowed_adds_up(self, labelled, task, base):
        body = query(labelled, find=task, **base)
        assert (
            body["narrowed_from"] - sum(step["removed"] for step in body["narrowing"]) == body["narrowed_to"]
        )
        assert {step["knob"] for step in body["narrowing"]} <= {*KNOBS, "valid_only"}
        assert body["returned"] == min(10, body["narrowed_to"])
