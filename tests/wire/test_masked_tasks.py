"""A secret in a task is used by nobody and kept nowhere: not in a receipt, a session, a page of either (docs/wire.md)."""

import json

import pytest
from django.apps import apps
from django.core import serializers

from contextpack.admin.probes import ProbeForm
from contextpack.models import Receipt
from tests.clients import api_of
from tests.wire.asking import ask, fill, ok, use

pytestmark = pytest.mark.django_db

KEY = "AKIAIOSFODNN7EXAMPLE"
TASK = f"Deploy the oak barn with {KEY}"


@pytest.fixture
def api():
    api = api_of()
    fill(api, "Oak beams hold the barn.", "The barn is deployed on Monday.")
    return api


def everything_stored() -> str:
    rows = [row for model in apps.get_models() if model._meta.managed for row in model._default_manager.all()]
    told: str = serializers.serialize("json", rows)
    return told.casefold()


@pytest.mark.parametrize("fmt", ["json", "smp", "markdown"])
def test_no_row_holds_a_secret_of_a_task(api, fmt):
    ask(api, TASK, format=fmt, session_id="z", pin=True)
    ok(api.get(f"context?task={TASK.replace(' ', '+')}&session_id=z"))
    use(api, "get_context", task=TASK, session_id="y", format=fmt)
    stored = everything_stored()
    assert "oak" in stored
    assert KEY.casefold() not in stored


def test_what_is_read_of_the_task_is_masked(api):
    receipt = ok(ask(api, TASK, session_id="z"))["receipt"]["id"]
    told = [ok(api.get(path)) for path in (f"receipts/{receipt}", "sessions/z", f"receipts/{receipt}/replay")]
    assert KEY.casefold() not in json.dumps(told).casefold()
    assert told[0]["task"] == "Deploy the oak barn with [masked:aws_access_key]"
    assert told[2]["identical"] is True


def test_a_task_without_a_secret_is_kept_as_it_is(api):
    ask(api, "Deploy the oak barn")
    assert Receipt.objects.get().task == "Deploy the oak barn"


def test_a_probe_keeps_no_secret(api):
    form = ProbeForm({"vault": api.vault.pk, "name": "oak", "task": TASK, "must": "mem_none"})
    form.is_valid()
    assert KEY not in form.cleaned_data["task"]
