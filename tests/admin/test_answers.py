"""An answer of the API as the admin shows it afterwards: its receipt, its session, its pin."""

import json

import pytest
from django.test import Client

from contextpack.models import Pin, Receipt
from memories.admin.linking import row_url
from memories.models import Memory
from sessions.models import WorkingSession
from tests.admin.rows import listed, shown
from tests.factories import make_token


@pytest.fixture
def ask(vault):
    _, secret = make_token(vault)
    api = Client(headers={"Authorization": f"Bearer {secret}"})

    def post(path: str, **body):
        response = api.post(f"/v1/{path}", json.dumps(body), content_type="application/json")
        assert response.status_code < 300, response.content
        return response.json()

    return post


def test_an_answer_is_explained_in_the_admin(page, vault, ask):
    texts = (
        "The launch is in May",
        "In May is the launch",
        "The launch party is at the lake",
        "Never ship on Friday",
    )
    refs = [ask("memories", content=text)["ref"] for text in texts]
    answer = ask(
        "context", task="plan the launch", model="claude", format="smp", session_id="chat-1", pin=True
    )
    told = {item["ref"] for item in answer["items"]}
    assert told <= set(refs)

    receipt = Receipt.objects.get(vault_id=vault.pk, ref=answer["receipt"]["id"])
    html = shown(page, receipt)
    assert all(row_url(Memory, vault.pk, ref) in html for ref in told)
    assert "plan the launch" in listed(page, Receipt, vault)

    session = WorkingSession.objects.get(vault_id=vault.pk, session_id="chat-1")
    assert f"Known: {len(told)}" in shown(page, session, "pk")

    pin = Pin.objects.get(vault_id=vault.pk)
    assert all(row_url(Memory, vault.pk, ref) in shown(page, pin, "pk") for ref in told)
