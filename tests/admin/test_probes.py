"""Probes are written in the admin, run there and by a command, and forget what the vault forgets."""

from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contextpack.models import Probe, Receipt
from contextpack.probing import WITHDRAWN_NAME
from contextpack.recording import WITHDRAWN_TASK
from memories.admin.linking import row_url
from memories.models import Memory
from memories.writing.forgetting import forget
from memories.writing.superseding import supersede
from tests.admin.rows import NOW, decide, listed, make_probe
from tests.factories import make_caller, make_memory, make_vault

TASK = "When is the Atlas launch?"


@pytest.fixture
def launch(vault) -> Memory:
    return make_memory(vault, content="The Atlas launch is on 12 May.")


def send(page: Client, address: str, **fields: Any) -> Any:
    given = {"name": "launch day", "task": TASK, "model": "claude", "token_budget": "", "project": ""}
    return page.post(address, given | {"must": "", "must_not": ""} | fields)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("probe", *arguments, stdout=out)
    return out.getvalue()


# -- Writing ---------------------------------------------------------------------------------------


def test_a_probe_is_written_and_run_at_once(page, vault, launch):
    response = send(page, reverse("admin:contextpack_probe_add"), vault=vault.pk, must=f" {launch.ref}\n")
    probe = Probe.objects.get(vault_id=vault.pk)
    assert response["Location"] == f"{row_url(Probe, vault.pk, probe.ref)}?run=1"
    assert probe.must == [launch.ref]
    assert page.get(response["Location"]).context["outcome"].verdict == "passed"
    assert not Receipt.objects.exists()
    assert LogEntry.objects.get().object_id == f"{vault.pk}.{probe.ref}"


def test_a_probe_is_changed_and_stays_in_its_vault(page, vault, launch):
    probe, other = make_probe(vault, must=[launch.ref]), make_vault("other")
    address = row_url(Probe, vault.pk, probe.ref)
    assert launch.ref in page.get(address).content.decode()
    send(page, address, vault=other.pk, must_not=launch.ref, token_budget="700")
    probe.refresh_from_db()
    assert (probe.vault_id, probe.must, probe.must_not) == (vault.pk, [], [launch.ref])
    assert probe.token_budget == 700
    assert "Changed." in LogEntry.objects.get().change_message


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"must": "mem_nothing"}, "must"),
        ({}, "must"),
        ({"must": "REF", "must_not": "REF"}, "must_not"),
        ({"must": "REF", "token_budget": "5"}, "token_budget"),
        ({"must": "REF", "task": " "}, "task"),
        ({"must": "REF", "vault": "nosuchvault"}, "vault"),
    ],
)
def test_a_probe_that_makes_no_sense_is_not_written(page, vault, launch, fields, field):
    given = {name: value.replace("REF", launch.ref) for name, value in fields.items()}
    response = send(page, reverse("admin:contextpack_probe_add"), **({"vault": vault.pk} | given))
    assert field in response.context["adminform"].form.errors
    assert not Probe.objects.exists()


def test_a_memory_of_another_vault_is_no_part_of_a_probe(page, vault):
    theirs = make_memory(make_vault("other"))
    response = send(page, reverse("admin:contextpack_probe_add"), vault=vault.pk, must=theirs.ref)
    assert "must" in response.context["adminform"].form.errors


def test_removing_a_probe_asks_first_and_is_logged(page, vault, launch):
    probe = make_probe(vault, must=[launch.ref])
    assert "Remove these probes?" in decide(page, "remove", probe).content.decode()
    assert Probe.objects.exists()
    decide(page, "remove", probe, confirmed="yes")
    assert not Probe.objects.exists()
    assert "Removed." in LogEntry.objects.get().change_message


def test_every_statement_about_a_probe_names_the_vault(page, vault, launch):
    with CaptureQueriesContext(connection) as seen:
        send(page, reverse("admin:contextpack_probe_add"), vault=vault.pk, must=launch.ref)
        probe = Probe.objects.get(vault_id=vault.pk)
        address = row_url(Probe, vault.pk, probe.ref)
        send(page, address, must=launch.ref, name="another name")
        page.get(address, {"run": 1})
        listed(page, Probe, vault)
        decide(page, "remove", probe, confirmed="yes")
    touching = [one["sql"] for one in seen if "contextpack_probe" in one["sql"]]
    assert len(touching) >= 6
    named = [sql for sql in touching if "vault_id" in (sql.partition("WHERE")[2] or sql)]
    assert [sql for sql in touching if sql not in named] == []


# -- Running ---------------------------------------------------------------------------------------


def test_the_command_passes_where_every_probe_does(vault, launch):
    make_probe(vault, must=[launch.ref])
    assert "passed  default: launch day" in run()
    assert "1 probes, none failed." in run("--vault", "default")


def test_the_command_fails_and_says_why_not(vault, launch):
    newer = supersede(make_caller(vault), launch.ref, content="It is on 9 June.", reason="", now=NOW).memory
    make_probe(vault, must=[launch.ref], must_not=[newer.ref])
    out = StringIO()
    with pytest.raises(CommandError, match="1 of 1 probes failed") as failure:
        call_command("probe", stdout=out)
    assert failure.value.returncode == 1
    assert f"missing {launch.ref}: superseded" in out.getvalue()
    assert f"Now {newer.ref}." in out.getvalue()
    assert f"unwanted {newer.ref}" in out.getvalue()


def test_the_command_runs_the_probes_of_one_vault(vault, launch):
    make_probe(make_vault("other"), must=["mem_elsewhere"])
    make_probe(vault, must=[launch.ref])
    assert "none failed" in run("--vault", "default")
    with pytest.raises(CommandError, match="1 of 2"):
        run()


def test_no_probes_are_no_failure(vault):
    assert run() == "There are no probes.\n"


def test_a_memory_that_is_folded_into_another_is_there(vault):
    left = make_memory(vault, content="The Atlas launch is on 12 May.")
    right = make_memory(vault, content="The Atlas launch is on 12 May!", project="atlas")
    make_probe(vault, must=[left.ref, right.ref])
    assert "passed" in run()


def test_the_overview_runs_probes_only_when_asked(page, vault, launch):
    make_probe(vault, must=["mem_elsewhere"])
    address = reverse("admin:overview")
    assert page.get(address, {"vault": vault.pk}).context["outcomes"] is None
    response = page.get(address, {"vault": vault.pk, "run": 1})
    assert [outcome.verdict for outcome in response.context["outcomes"]] == ["failed"]
    assert "This vault has no such memory." in response.content.decode()


# -- Forgetting ------------------------------------------------------------------------------------


def test_forgetting_takes_refs_and_quotes_out_of_probes(vault, launch):
    kept = make_memory(vault, content="Herons nest in the reeds.")
    probe = make_probe(
        vault,
        name="the atlas launch is on 12 May?",
        task=f"Is this so: {launch.content}",
        must=[launch.ref, kept.ref],
        must_not=[launch.ref],
    )
    erasure = forget(make_caller(vault), launch.ref, now=NOW)
    probe.refresh_from_db()
    assert (probe.name, probe.task) == (WITHDRAWN_NAME, WITHDRAWN_TASK)
    assert (probe.must, probe.must_not) == ([kept.ref], [])
    assert erasure.erased["saved_probes"] == 1


def test_a_probe_with_nothing_left_is_void_and_no_failure(vault, launch):
    make_probe(vault, must=[launch.ref])
    forget(make_caller(vault), launch.ref, now=NOW)
    assert "void    default: launch day" in run()


def test_forgetting_leaves_other_vaults_probes(vault, launch):
    theirs = make_probe(make_vault("other"), must=[launch.ref], task=launch.content)
    forget(make_caller(vault), launch.ref, now=NOW)
    theirs.refresh_from_db()
    assert (theirs.must, theirs.task) == ([launch.ref], launch.content)
