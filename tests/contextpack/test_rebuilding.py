"""An answer's bytes come out of its receipt again, or it is said what speaks against their being the same."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contextpack.answering import answer_context
from contextpack.core.profiles import resolve_profile
from contextpack.core.types import ContextRequest, DeltaMode, PackFormat
from contextpack.models import Receipt
from contextpack.rebuilding import AMENDED, NO_DELTA, TEXT_GONE, sent_again
from memories.access import operator_of
from memories.core.kinds import Kind
from memories.models import Vault
from memories.writing import MemoryInput, amend, forget, remember, supersede
from sessions.ending import end_session
from tests.factories import make_vault

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = BEGAN + timedelta(days=3)
TEXTS = (
    "The Atlas launch is on 12 May at 09:00 UTC.",
    "As agreed, the Atlas launch is on 12 May at 09:00 UTC.",
    "Never announce an Atlas feature that is behind the launch flag.",
    "Harbor Host runs the status page for the Atlas launch. " * 8,
    "Mira decides go or no-go for the Atlas launch on the evening before, with the readiness list in hand. "
    "She rings every owner, reads the error budget aloud, and writes the answer into the list herself.",
    "The last load test before the Atlas launch held 1,400 requests a second. The print queue fell behind first, at "
    "1,100 a second, and caught up within two minutes; Tomas wants the same run again with the second balancer.",
)


@pytest.fixture
def vault(db) -> Vault:
    vault = make_vault()
    for hours, text in enumerate(TEXTS):
        kind = Kind.NEGATIVE if text.startswith("Never") else Kind.CLAIM
        remember(operator_of(vault), MemoryInput(content=text, kind=kind), now=BEGAN + timedelta(hours=hours))
    return vault


def _request(*, at: int = 0, **fields) -> ContextRequest:
    now = BEGAN + timedelta(days=1, minutes=at)
    plain = ContextRequest(
        task="Prepare the Atlas launch",
        format=PackFormat.SMP,
        model="claude",
        profile=resolve_profile("claude"),
        budget=900,
        now=now,
        as_of=now,
        known_at=now,
    )
    return replace(plain, **fields)


def _ask(vault, request) -> tuple[bytes, Receipt]:
    answer = answer_context(operator_of(vault), request)
    return answer.content, Receipt.objects.filter(vault_id=vault.pk).latest("assembled_at")


@pytest.mark.parametrize(
    ("form", "model", "budget"), list(product(PackFormat, ("claude", "gpt-5", None), (300, 420, 600, 3_000)))
)
def test_an_answer_comes_out_again_byte_for_byte(vault, form, model, budget):
    request = _request(format=form, model=model, profile=resolve_profile(model), budget=budget)
    body, receipt = _ask(vault, request)
    again = sent_again(operator_of(vault), receipt, now=LATER)
    assert again.body == body
    assert again.exact


@pytest.mark.parametrize(("delta", "form"), list(product(DeltaMode, PackFormat)))
def test_so_does_each_answer_of_a_conversation(vault, delta, form):
    told = [
        _ask(vault, _request(at=turn, session_id="chat", delta=delta, format=form, budget=600 + 400 * turn))
        for turn in range(3)
    ]
    for body, receipt in told:
        again = sent_again(operator_of(vault), receipt, now=LATER)
        assert again.body == body
        assert again.exact


def test_so_does_an_answer_with_a_head_beside_its_pack(vault):
    caller = operator_of(vault)
    asked: dict[str, Any] = {"session_id": "chat", "delta": DeltaMode.CONTENT, "budget": 3_000}
    _, first = _ask(vault, _request(**asked))
    page = next(item["ref"] for item in first.items if item["layer"] == "facts")
    supersede(
        caller, page, content="Zebra crossings were painted.", now=BEGAN + timedelta(days=1, seconds=30)
    )
    body, receipt = _ask(vault, _request(at=1, **(asked | {"task": "Atlas launch"})))
    assert sent_again(caller, receipt, now=LATER).body == body


@pytest.mark.parametrize("said", [{"pin": True}, {"legend": False}, {"project": "other"}])
def test_so_does_an_answer_that_was_pinned_or_bare(vault, said):
    body, receipt = _ask(vault, _request(**said))
    again = sent_again(operator_of(vault), receipt, now=LATER)
    assert (again.body, again.exact) == (body, True)


def test_what_was_superseded_since_still_comes_out(vault):
    caller = operator_of(vault)
    body, receipt = _ask(vault, _request())
    for item in receipt.items:
        supersede(
            caller,
            item["ref"],
            content=f"Something else instead of {item['ref']}",
            now=BEGAN + timedelta(days=2),
        )
    assert sent_again(caller, receipt, now=LATER).body == body


def test_it_says_that_a_text_is_gone(vault):
    caller = operator_of(vault)
    body, receipt = _ask(vault, _request())
    gone = receipt.items[-1]["ref"]
    forget(caller, gone, now=BEGAN + timedelta(days=2))
    receipt.refresh_from_db()
    again = sent_again(caller, receipt, now=LATER)
    assert TEXT_GONE.format(1) in again.doubts
    assert gone.encode() in body
    assert gone.encode() not in again.body.partition(b'"follow_ups"')[0]


def test_it_says_that_something_else_was_changed(vault):
    caller = operator_of(vault)
    _, receipt = _ask(vault, _request())
    amend(caller, receipt.items[0]["ref"], {"confidence": 0.11}, now=BEGAN + timedelta(days=2))
    assert sent_again(caller, receipt, now=LATER).doubts == (AMENDED.format(1),)


def test_it_says_that_a_session_is_gone(vault):
    caller = operator_of(vault)
    _, receipt = _ask(vault, _request(session_id="chat"))
    end_session(caller, "chat")
    assert sent_again(caller, receipt, now=LATER).doubts == (NO_DELTA,)


def test_it_costs_the_same_statements_for_any_pack(vault):
    def statements(budget: int) -> int:
        _, receipt = _ask(vault, _request(budget=budget, at=budget))
        with CaptureQueriesContext(connection) as seen:
            sent_again(operator_of(vault), receipt, now=LATER)
        return len(seen)

    assert statements(420) == statements(3_000)
