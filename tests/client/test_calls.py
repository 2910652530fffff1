"""The calls of the client: what is tried again, what a refusal becomes, and each of them against a server."""

import json

import pytest

from cortex_client import (
    NO_RETRIES,
    Cortex,
    CortexError,
    NoAnswer,
    NotHere,
    Problem,
    RateLimited,
    Reply,
    Retries,
    Unauthorized,
    Unavailable,
    Unprocessable,
)
from tests.client.faults import ScriptedTransport, answer, problem


def client(*script, **options):
    wire = ScriptedTransport(*script)
    waits: list[float] = []
    return Cortex(token="t", transport=wire, sleep=waits.append, **options), wire, waits


# -- Trying again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_after_as_long_as_it_says(status):
    cortex, wire, waits = client(problem(status, retry_after="7"), problem(status, retry_after="2"), answer())
    assert cortex.query(find="x") == {}
    assert (waits, len(wire.sent)) == ([7.0, 2.0], 3)


def test_without_a_word_on_how_long_waits_double():
    cortex, _, waits = client(*[problem(503)] * 3, answer(), retries=Retries(first_wait=1.0))
    cortex.query(find="x")
    assert [0.5 <= wait <= 1.0 for wait in waits[:1]] == [True]
    assert [low <= wait <= high for wait, low, high in zip(waits, (0.5, 1, 2), (1, 2, 4), strict=True)] == [
        True
    ] * 3


def test_patience_ends():
    cortex, wire, _ = client(*[problem(503)] * 9, retries=Retries(attempts=3))
    with pytest.raises(Unavailable):
        cortex.query(find="x")
    assert len(wire.sent) == 3


def test_a_wait_longer_than_wanted_is_not_begun():
    cortex, _, waits = client(problem(429, retry_after="3600"))
    with pytest.raises(RateLimited) as refusal:
        cortex.query(find="x")
    assert (refusal.value.retry_after, waits) == (3600.0, [])


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 500])
def test_other_refusals_are_not_tried_again(status):
    cortex, wire, _ = client(problem(status))
    with pytest.raises(Problem):
        cortex.query(find="x")
    assert len(wire.sent) == 1


def test_a_write_without_an_answer_is_sent_again_under_the_same_key():
    cortex, wire, _ = client(NoAnswer("lost"), answer('{"ref": "mem_a"}'))
    assert cortex.remember("x")["ref"] == "mem_a"
    keys = {call.headers["Idempotency-Key"] for call in wire.sent}
    assert len(keys) == 1
    assert len(wire.sent) == 2


def test_two_writes_have_two_keys():
    cortex, wire, _ = client(answer(), answer())
    cortex.remember("x")
    cortex.remember("x")
    assert len({call.headers["Idempotency-Key"] for call in wire.sent}) == 2


@pytest.mark.parametrize(
    "cut",
    [
        Reply(status=200, body=b'{"items": [', headers={"content-type": "application/json"}),
        Reply(status=200, body=b"{}", headers={"content-type": "application/json", "content-length": "900"}),
        Reply(status=200, body=b"# Pack\n", headers={"content-type": "text/markdown", "content-length": "8"}),
    ],
)
def test_a_cut_answer_is_none_and_asked_for_again(cut):
    cortex, wire, _ = client(cut, answer())
    assert cortex.query(find="x") == {}
    assert len(wire.sent) == 2


@pytest.mark.parametrize(
    "call", [lambda cortex: cortex.forget("mem_a"), lambda cortex: cortex.end_session("s")]
)
def test_what_may_not_be_done_twice_is_not_sent_twice(call):
    cortex, wire, _ = client(NoAnswer("lost"))
    with pytest.raises(NoAnswer):
        call(cortex)
    assert len(wire.sent) == 1


def test_a_session_is_asked_again_only_where_the_question_says_what_was_applied():
    cortex, wire, _ = client(NoAnswer("lost"), NoAnswer("lost"), answer())
    with pytest.raises(NoAnswer):
        cortex.context("x", session_id="s")
    assert cortex.context("x", session_id="s", since="4") == {}
    assert len(wire.sent) == 3


# -- Refusals -------------------------------------------------------------------------------------


def test_a_refusal_tells_its_fields():
    body = json.dumps({"title": "t", "detail": "no", "errors": [{"field": "kind", "message": "unknown"}]})
    cortex, _, _ = client(problem(422, body))
    with pytest.raises(Unprocessable) as refusal:
        cortex.remember("x", kind="nonsense")
    assert (refusal.value.fields, refusal.value.detail) == ({"kind": "unknown"}, "no")
    assert str(refusal.value) == "422 no (kind: unknown)"


@pytest.mark.parametrize("body", ["", "<html>", "[]", '{"errors": ["odd"]}'])
def test_a_refusal_that_is_no_problem_document_is_a_problem_all_the_same(body):
    cortex, _, _ = client(problem(418, body))
    with pytest.raises(Problem) as refusal:
        cortex.query(find="x")
    assert (type(refusal.value), refusal.value.status, refusal.value.fields) == (Problem, 418, {})


@pytest.mark.parametrize(("status", "kind"), sorted(Problem.kinds.items()))
def test_every_kind_is_a_problem_of_its_status(status, kind):
    cortex, _, _ = client(problem(status), retries=NO_RETRIES)
    with pytest.raises(kind) as refusal:
        cortex.query(find="x")
    assert refusal.value.status == status
    assert issubclass(kind, CortexError)


# -- Against a server -----------------------------------------------------------------------------


def test_a_memory_is_written_found_corrected_and_forgotten(cortex):
    ref = cortex.remember("The harbour lamp is green.", kind="claim", author="user")["ref"]
    assert cortex.memory(ref)["content"] == "The harbour lamp is green."
    assert [item["ref"] for item in cortex.query(find="harbour lamp")["items"]] == [ref]
    assert cortex.expand(ref)["document"]["ref"] == ref
    head = cortex.supersede(ref, "The harbour lamp is red.", reason="repainted", author="user")["ref"]
    assert [item["ref"] for item in cortex.context("harbour lamp", format="smp")["items"]] == [head]
    assert f"[{head}]" in cortex.context_markdown("harbour lamp")
    assert cortex.forget(head)["erased"]["memories"] == 1
    with pytest.raises(NotHere):
        cortex.memory(head)


def test_many_are_written_at_once_and_listed_by_pages(cortex):
    results = cortex.remember_all([{"content": f"Bollard {number}"} for number in range(5)])
    page = cortex.memories(limit=3, active=True)
    rest = cortex.memories(limit=3, active=True, cursor=page["next"])
    assert [result["status"] for result in results] == [201] * 5
    assert {row["ref"] for row in page["results"] + rest["results"]} == {result["ref"] for result in results}


def test_text_is_captured(cortex):
    told = cortex.capture("We decided to paint the harbour lamp red. Jonas does it on Friday.", title="Notes")
    assert told["capture"]["ref"].startswith("cap_")
    assert told["memories"]


def test_a_replacement_supersedes_without_text(cortex):
    old, new = (cortex.remember(text)["ref"] for text in ("The bell rings at 6.", "The bell rings at 7."))
    assert cortex.supersede(old, replacement=new)["ref"] == new


def test_the_servers_refusals_are_told_apart(cortex, connect):
    with pytest.raises(Unprocessable) as refusal:
        cortex.remember("x", kind="nonsense")
    assert "kind" in refusal.value.fields
    with pytest.raises(NotHere):
        cortex.receipt("rcp_none")
    with pytest.raises(NotHere):
        cortex.session("a name/with a slash")


def test_a_receipt_explains_its_answer(cortex):
    ref = cortex.remember("The tide table hangs in the hall.")["ref"]
    served = cortex.context("tide table", format="smp")["receipt"]["id"]
    assert [item["ref"] for item in cortex.receipt(served)["items"]] == [ref]


def test_a_wrong_token_is_told(server):
    with Cortex(server.url, "ctx_wrong") as stranger, pytest.raises(Unauthorized):
        stranger.query(find="x")
