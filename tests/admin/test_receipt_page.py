"""A receipt's page answers why a pack held what it held; its statements do not grow with the pack."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contextpack.answering import answer_context
from contextpack.core.profiles import resolve_profile
from contextpack.core.types import ContextRequest, PackFormat
from contextpack.models import Receipt
from memories.access import operator_of
from memories.admin.linking import row_url
from memories.core.kinds import Kind
from memories.models import Memory, Vault
from memories.writing import MemoryInput, forget, remember, supersede
from tests.admin.rows import left_out, make_receipt, served, shown
from tests.factories import make_memory, make_token, make_vault

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = '</pre><img src=x onerror="alert(1)">```\n[x](javascript:alert(1))'


def _remember(vault: Vault, *texts: str, kind: Kind = Kind.CLAIM) -> list[str]:
    drafts = [MemoryInput(content=text, kind=kind) for text in texts]
    return [remember(operator_of(vault), draft, now=NOW).memory.ref for draft in drafts]


def _ask(vault: Vault, task: str = "Prepare the launch", *, minutes: int = 1, **fields) -> Receipt:
    now = NOW + timedelta(minutes=minutes)
    plain = ContextRequest(
        task=task, format=PackFormat.SMP, model="claude", profile=resolve_profile("claude"), budget=2_000,
        now=now, as_of=now, known_at=now,
    )  # fmt: skip
    answer_context(operator_of(vault), replace(plain, **fields))
    return Receipt.objects.filter(vault_id=vault.pk).latest("assembled_at")


def _told(page, receipt: Receipt, **parameters: str) -> str:
    response = page.get(row_url(Receipt, receipt.vault_id, receipt.ref), parameters)
    assert response.status_code == 200
    return str(response.content.decode())


def _section(html: str, name: str) -> str:
    begun = html[html.index(f'<section class="cx-section" id="{name}">') :]
    return begun[: begun.index("</section>")]


def test_the_budget_is_drawn_by_layer_with_what_is_left(page, vault):
    memory = make_memory(vault)
    receipt = make_receipt(
        vault, items=[served(memory.ref, tokens=300)], budget_used=345, budget_tokens=1_000
    )
    drawn = _section(shown(page, receipt), "budget")
    assert "facts 300" in drawn
    assert "headings 45" in drawn
    assert "not used 655" in drawn


def test_the_texts_share_of_the_budget_is_told_of_a_real_answer(page, vault):
    _remember(vault, "The launch is on 12 May.", "Mira decides about the launch.")
    drawn = _section(_told(page, _ask(vault)), "budget")
    assert "keys, citations, headings" in drawn


def test_an_item_shows_its_age_when_it_was_served(page, vault):
    memory = make_memory(vault, at=NOW - timedelta(days=12))
    receipt = make_receipt(vault, items=[served(memory.ref)])
    assert "<dd>12 d</dd>" in _section(shown(page, receipt), "items")


def test_an_item_says_what_became_of_its_memory_since(page, vault):
    memory = make_memory(vault, status="archived")
    assert ">archived</span>" in _section(
        shown(page, make_receipt(vault, items=[served(memory.ref)])), "items"
    )


def test_the_asking_token_is_called_by_its_name(page, vault):
    token, _ = make_token(vault, name="Night shift")
    other, _ = make_token(make_vault("other"), name="Not ours")
    assert "Night shift" in shown(page, make_receipt(vault, actor=f"token:{token.pk}"))
    assert "Not ours" not in shown(page, make_receipt(vault, actor=f"token:{other.pk}"))
    assert "token:99999999999999999999" in shown(
        page, make_receipt(vault, actor="token:99999999999999999999")
    )


def test_what_lost_its_place_is_listed_nearest_first(page, vault):
    near, far = make_memory(vault, content="Nearly in"), make_memory(vault, content="Far off")
    fates = [left_out(far.ref, density=0.001), left_out(near.ref, density=0.01)]
    lost = _section(shown(page, make_receipt(vault, fates=fates)), "fates")
    assert lost.index("Nearly in") < lost.index("Far off")


# -- Another pack of the conversation --------------------------------------------------------------


def test_two_packs_of_a_conversation_are_laid_beside_each_other(page, vault):
    stays, leaves, enters = (make_memory(vault, content=text) for text in ("Stays", "Leaves", "Enters"))
    first = make_receipt(vault, session_id="chat", items=[served(stays.ref), served(leaves.ref)])
    second = make_receipt(
        vault, session_id="chat", items=[served(enters.ref), served(stays.ref, rung="head")]
    )
    told = _section(_told(page, second, against=first.ref), "against")
    assert "1 entered, 1 left, 1 stayed." in told
    assert told.index("Enters") < told.index("Stays") < told.index("Leaves")
    assert told.count('class="cx-added"') == told.count('class="cx-removed"') == 1


@pytest.mark.parametrize("fields", [{"session_id": "other"}, {"session_id": "chat", "vault": "elsewhere"}])
def test_no_other_conversations_pack_is_compared(page, vault, fields):
    owner = make_vault("elsewhere") if "vault" in fields else vault
    other = make_receipt(owner, session_id=fields["session_id"], task="Not to be seen here")
    make_receipt(vault, session_id="chat", task="A neighbour")
    ours = make_receipt(vault, session_id="chat")
    html = _told(page, ours, against=other.ref)
    assert "Not to be seen here" not in html
    assert "Compared with" not in html


# -- Replay and bytes ------------------------------------------------------------------------------


def test_a_replay_says_that_nothing_changed(page, vault):
    _remember(vault, "The launch is on 12 May.", "Mira decides about the launch.")
    assert ">identical</span>" in _section(_told(page, _ask(vault), replay="1"), "replay")


def test_a_replay_says_what_changed_and_what_stands_there_now(page, vault):
    caller = operator_of(vault)
    (old,) = _remember(vault, "The launch is on 12 May.")
    receipt = _ask(vault)
    new = supersede(caller, old, content="The launch is on 19 May.", now=NOW + timedelta(hours=1)).memory.ref
    told = _section(_told(page, receipt, replay="1"), "replay")
    assert ">differs</span>" in told
    assert ">superseded</span>" in told
    assert row_url(Memory, vault.pk, new) in told


def test_a_receipt_that_cannot_be_replayed_says_why(page, vault):
    receipt = make_receipt(vault, items=[served(make_memory(vault).ref)])
    assert "does not say how its candidates matched" in _told(page, receipt, replay="1")


def test_the_bytes_are_shown_when_asked_for_and_only_then(page, vault):
    _remember(vault, "The launch is on 12 May.")
    receipt = _ask(vault)
    assert 'id="bytes"' not in _told(page, receipt)
    told = _section(_told(page, receipt, sent="1"), "sent")
    assert ">as sent</span>" in told
    assert "&quot;smp&quot;:&quot;1&quot;" in told


@pytest.mark.parametrize("form", PackFormat)
def test_the_bytes_of_hostile_text_are_text(page, vault, form):
    _remember(vault, f"The launch {HOSTILE}")
    html = _told(page, _ask(vault, format=form), sent="1", replay="1")
    assert "<img" not in html
    assert 'href="javascript' not in html


def test_a_forgotten_text_is_not_in_the_bytes_and_that_is_said(page, vault):
    gone, _ = _remember(vault, "The launch is secret until May.", "The launch is on 12 May.")
    receipt = _ask(vault)
    forget(operator_of(vault), gone, now=NOW + timedelta(hours=1))
    told = _section(_told(page, receipt, sent="1"), "sent")
    assert "secret until May" not in told
    assert ">not proven</span>" in told


def test_an_expired_text_is_not_in_the_bytes_either(page, vault):
    soon = MemoryInput(content="The launch word is swordfish.", expires_at=NOW + timedelta(minutes=5))
    remember(operator_of(vault), soon, now=NOW)
    told = _told(page, _ask(vault), sent="1")
    assert "swordfish" not in told
    assert ">not proven</span>" in told


# -- Cost ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"replay": "1"}, {"sent": "1"}, {"against": "first"}])
def test_a_large_pack_costs_no_more_statements_than_a_small_one(page, vault, parameters):
    sizes = []

    def statements(count: int, minutes: int) -> int:
        texts = (f"Never paint the launch pad {count}{number} in colour {number}." for number in range(count))
        _remember(vault, *texts, kind=Kind.NEGATIVE)
        first = _ask(vault, session_id=f"chat-{count}", minutes=minutes, budget=400)
        receipt = _ask(vault, session_id=f"chat-{count}", minutes=minutes + 1, budget=9_000)
        sizes.append(len(receipt.items))
        asked = {name: first.ref if value == "first" else value for name, value in parameters.items()}
        _told(page, receipt, **asked)
        with CaptureQueriesContext(connection) as seen:
            _told(page, receipt, **asked)
        return len(seen)

    assert statements(2, 1) == statements(20, 5)
    assert sizes[1] > 3 * sizes[0] > 0


def test_the_list_of_receipts_costs_no_more_statements_when_there_are_many(page, vault):
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            listed = page.get(reverse("admin:contextpack_receipt_changelist"), {"vault": vault.pk})
        assert listed.status_code == 200
        return len(seen)

    tokens = [make_token(vault, name=f"token {number}")[0] for number in range(5)]
    make_receipt(vault, actor=f"token:{tokens[0].pk}")
    statements()
    few = statements()
    for number in range(60):
        make_receipt(vault, actor=f"token:{tokens[number % 5].pk}")
    assert statements() == few


def test_the_list_reads_none_of_the_heavy_columns(page, vault):
    make_receipt(vault)
    with CaptureQueriesContext(connection) as seen:
        page.get(reverse("admin:contextpack_receipt_changelist"), {"vault": vault.pk})
    rows = [query["sql"] for query in seen if '"contextpack_receipt"."task"' in query["sql"]]
    assert rows
    assert not [sql for sql in rows if '."fates"' in sql or '."pool"' in sql or '."request"' in sql]
