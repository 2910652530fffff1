"""What `manage.py sweep` drops of sessions and receipts, and what it keeps."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import call_command

from contextpack.models import Receipt
from sessions.models import DeltaRecord, WorkingSession
from tests.clients import api_of
from tests.factories import make_memory, make_vault

pytestmark = pytest.mark.django_db

LONG_AGO = datetime(2026, 1, 10, tzinfo=UTC)


def ask(vault, session_id):
    answer = api_of(vault).post("context", {"task": "who leads the launch", "session_id": session_id})
    assert answer.status_code == 200


def swept() -> str:
    out = StringIO()
    call_command("sweep", stdout=out)
    return out.getvalue()


def test_it_drops_idle_sessions_and_old_receipts_and_keeps_fresh_ones():
    vault = make_vault()
    make_memory(vault=vault, content="Ana leads the launch")
    with time_machine.travel(LONG_AGO, tick=False):
        ask(vault, "old")
    with time_machine.travel(LONG_AGO + timedelta(days=89), tick=False):
        ask(vault, "fresh")
    with time_machine.travel(LONG_AGO + timedelta(days=91), tick=False):
        told = swept()
    assert "1 idle sessions" in told
    assert "1 old receipts" in told
    assert [session.session_id for session in WorkingSession.objects.filter(vault=vault)] == ["fresh"]
    assert DeltaRecord.objects.filter(vault=vault).count() == 1
    assert Receipt.objects.filter(vault=vault).count() == 1


def test_a_conversation_that_was_swept_goes_on_with_cursors_that_were_never_given_out():
    vault = make_vault()
    make_memory(vault=vault, content="Ana leads the launch")
    with time_machine.travel(LONG_AGO, tick=False):
        ask(vault, "old")
        ask(vault, "old")
    swept()
    task = {"task": "who leads the launch", "session_id": "old", "since": 2, "format": "smp"}
    answer = api_of(vault).post("context", task)
    assert answer.json()["working_memory"]["cursor"] == "3"
    assert len(answer.json()["working_memory"]["new"]) == 1
    assert answer.headers["Cortex-Delta"] == "reset"


def test_a_second_sweep_finds_nothing():
    vault = make_vault()
    with time_machine.travel(LONG_AGO, tick=False):
        ask(vault, "old")
    swept()
    assert "nothing to drop" in swept()
