"""The rows that the admin shows, made directly, and the addresses of their pages."""

from datetime import UTC, datetime
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import models
from django.test import Client

from contextpack.models import Pin, Probe, Receipt
from memories.access import operator_of
from memories.admin.linking import list_url, row_url
from memories.models import Capture, Conflict, Decision, Memory, Tombstone, Vault
from memories.writing.naming import link_entities
from sessions.core.delta import Served
from sessions.models import WorkingSession
from sessions.stepping import Turn, advance
from tests.factories import make_memory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def listed(page: Client, model: type[models.Model], vault: Vault, **narrowed_by: Any) -> str:
    response = page.get(list_url(model, vault.pk, **narrowed_by))
    assert response.status_code == 200, response
    return response.content.decode()


def shown(page: Client, row: Any, key: str = "ref") -> str:
    response = page.get(row_url(type(row), row.vault_id, getattr(row, key)))
    assert response.status_code == 200, response
    return response.content.decode()


def decide(page: Client, action: str, *rows: Any, **answers: str) -> Any:
    """Send an action of a list; follows the way back."""
    data: dict[str, Any] = {"action": action, ACTION_CHECKBOX_NAME: [row.pk for row in rows], **answers}
    return page.post(list_url(type(rows[0]), rows[0].vault_id), data, follow=True)


def told(response: Any) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def mention(memory: Memory, *names: str) -> None:
    link_entities(memory.vault_id, {memory.pk: names}, now=NOW)


def make_conflict(left: Memory, right: Memory) -> Conflict:
    return Conflict.objects.create(vault_id=left.vault_id, left=left, right=right, reason="numbers differ")


def make_capture(vault: Vault, content: str = "What was said", **fields: Any) -> Capture:
    return Capture.objects.create(vault=vault, content=content, **fields)


def make_tombstone(vault: Vault, ref: str = "mem_gone") -> Tombstone:
    return Tombstone.objects.create(vault=vault, ref=ref, actor="operator")


def make_decision(memory: Memory, **fields: Any) -> Decision:
    return Decision.objects.create(
        vault_id=memory.vault_id, memory=memory.ref, verb="approve", actor="operator", **fields
    )


def served(ref: str, **fields: Any) -> dict[str, Any]:
    """One line of a receipt: an item of the pack."""
    line = {
        "ref": ref,
        "layer": "facts",
        "rung": "summary",
        "tokens": 41,
        "relevance": 0.625,
        "relevance_basis": "rrf",
        "utility": 0.5,
        "density": 0.0125,
        "why": {"retrievers": ["fts", "entity"], "matched_terms": ["launch"], "fused_rank": 3},
        "folded_refs": [],
    }
    return line | fields


def left_out(ref: str, **fields: Any) -> dict[str, Any]:
    line = {
        "ref": ref,
        "outcome": "outbid",
        "into": None,
        "utility": 0.25,
        "density": 0.002,
        "tokens": 77,
        "short_by": 13,
    }
    return line | fields


def make_receipt(vault: Vault, **fields: Any) -> Receipt:
    moment = NOW.isoformat()
    asked: dict[str, Any] = {
        "as_of": moment,
        "known_at": moment,
        "project": None,
        "layers": [],
        "entities": [],
    }
    defaults: dict[str, Any] = {
        "actor": "token:1",
        "assembled_at": NOW,
        "task": "plan the launch",
        "request": asked,
        "profile": "claude",
        "budget_tokens": 12_000,
        "budget_used": 345,
        "coverage": {"status": "usable"},
        "pack_digest": "sha256:00",
    }
    return Receipt.objects.create(vault=vault, **(defaults | fields))


def make_pin(vault: Vault, *refs: str, **fields: Any) -> Pin:
    defaults: dict[str, Any] = {
        "ref": "pin_1",
        "digest": "sha256:11",
        "content_type": "application/json",
        "body": b'{"secret": "bytes"}',
        "refs": list(refs),
    }
    return Pin.objects.create(vault=vault, **(defaults | fields))


def make_probe(vault: Vault, **fields: Any) -> Probe:
    defaults: dict[str, Any] = {"name": "launch day", "task": "When is the Atlas launch?", "model": "claude"}
    return Probe.objects.create(vault=vault, **(defaults | fields))


def make_session(
    vault: Vault, *refs: str, session_id: str = "chat-1", question: str = "q1"
) -> WorkingSession:
    turn = Turn(session_id=session_id, now=NOW, request_digest=question, task_terms=("launch",), tokens=90)
    advance(operator_of(vault), turn, served=[Served(ref=ref, rung=2, relevance=0.5) for ref in refs])
    return WorkingSession.objects.get(vault_id=vault.pk, session_id=session_id)


def make_everything(vault: Vault, number: int, text: str = "Rows fill a page") -> None:
    """Add one row of every kind, each tied to others."""
    left = make_memory(vault, content=f"{text} {number}", flags=["secret_masked"], project=f"p{number % 3}")
    right = make_memory(vault, content=f"{text} not {number}", superseded_by=left.ref)
    mention(left, f"Person {number}", "Everybody")
    make_conflict(left, right)
    make_capture(vault, f"{text}: capture {number}")
    make_tombstone(vault, f"mem_gone{number}")
    make_decision(left)
    make_session(vault, left.ref, right.ref, session_id=f"chat-{number}")
    make_receipt(vault, items=[served(left.ref)], fates=[left_out(right.ref)])
    make_pin(vault, left.ref, ref=f"pin_{number}")
    make_probe(vault, name=f"{text}: probe {number}", must=[left.ref])
