"""What is left of a text that was forgotten: nothing, however it was written where it stands."""

import json

import pytest

from memories.models import Capture, IdempotencyRecord, Memory, ProposedSupersession, Supersession
from memories.signals import content_withdrawn
from memories.writing.erasing import Gone, rows_holding
from tests.clients import api_of
from tests.factories import make_memory, make_vault

pytestmark = pytest.mark.django_db

ABSENT = {"fts": 0, "vectors": 0, "database": 0}
WRAPPED = (
    "Zebulon keeps the blue ledger behind the third door under\n"
    "the stairs of the old house. The office moved to Lisbon."
)


def forget_one_of(api, captured, word):
    gone = next(memory for memory in captured["memories"] if word in memory["content"])
    return api.delete(f"memories/{gone['ref']}").json()


def test_a_sentence_that_is_wrapped_in_its_capture_is_cut_out_there():
    api = api_of()
    captured = api.post("captures", {"content": WRAPPED}).json()
    assert len(captured["memories"]) == 2
    body = forget_one_of(api, captured, "Zebulon")
    assert body["probes"] == ABSENT
    assert body["erased"]["passages"] == 1
    assert Capture.objects.get(vault=api.vault).content == "[forgotten] The office moved to Lisbon."


@pytest.mark.parametrize(
    ("text", "word", "left"),
    [
        ("张伟的工资是九千元。会议在三楼。", "张伟", "[forgotten]会议在三楼。"),
        ("田中さんの給料は九千円です。会議は三階です。", "田中", "[forgotten]会議は三階です。"),
        ("สมชายได้เงินเดือนเก้าพันบาท\nประชุมที่ชั้นสาม", "สมชาย", "[forgotten]\nประชุมที่ชั้นสาม"),
    ],
)
def test_a_sentence_of_a_script_without_spaces_is_cut_out_too(text, word, left):
    api = api_of()
    captured = api.post("captures", {"content": text}).json()
    assert len(captured["memories"]) == 2
    assert forget_one_of(api, captured, word)["probes"] == ABSENT
    assert Capture.objects.get(vault=api.vault).content == left


@pytest.mark.parametrize("said", ["the blue\n ledger", "The BLUE ledger", "thé blue ledger"])
def test_the_probe_sees_the_text_however_it_is_written(said):
    vault = make_vault()
    memory = make_memory(vault, content="the blue ledger")
    Capture.objects.create(vault=vault, content=f"So {said}, then")
    Memory.objects.filter(pk=memory.pk).delete()
    assert rows_holding([Gone(memories=(memory,))]) == 1


def test_the_probe_sees_the_text_in_remembered_answers_however_it_is_escaped():
    vault = make_vault()
    memory = make_memory(vault, content='She said "größer"\nand left')
    body = {"ref": memory.ref, "told": {"lines": ['x She said "größer" and left']}}
    IdempotencyRecord.objects.create(
        vault=vault, actor="a", key="k", request_digest="d", status=200, body=body
    )
    Memory.objects.filter(pk=memory.pk).delete()
    assert rows_holding([Gone(memories=(memory,))]) == 1


def test_an_import_does_not_bring_a_wrapped_sentence_back():
    api = api_of()
    captured = api.post("captures", {"content": WRAPPED}).json()
    lines = b"".join(api.get("export").streaming_content)
    forget_one_of(api, captured, "Zebulon")
    Capture.objects.filter(vault=api.vault).delete()
    api.call("POST", "import", raw=lines)
    assert "[forgotten]" in Capture.objects.get(vault=api.vault).content
    assert "Zebulon" not in json.dumps([line.decode() for line in api.get("export").streaming_content])


# -- Words around the text -----------------------------------------------------------------------


def test_nothing_that_may_quote_a_redacted_memory_stays():
    api = api_of()
    first = api.remember("Version one")["ref"]
    told = api.remember(
        "Zebulon hid it",
        summary="Zebulon hid",
        tags=["Zebulon"],
        thread="Zebulon",
        position=1,
        speaker="Zebulon",
        entities=["Zebulon"],
    )
    third = api.remember("Version three")["ref"]
    pending = api.remember("Zebulon perhaps")["ref"]
    because = {"reason": "Zebulon hid it, they say"}
    api.post(f"memories/{first}/supersede", {"replacement": told["ref"], **because})
    api.post(f"memories/{told['ref']}/supersede", {"replacement": third, **because})
    rows = {"vault": api.vault, "old_id": Memory.objects.get(ref=pending).pk}
    ProposedSupersession.objects.create(
        **rows, new=Memory.objects.get(ref=told["ref"]), reason="Zebulon", actor="a"
    )
    redacted = api.post(f"memories/{told['ref']}/redact").json()
    api.delete(f"memories/{pending}")
    assert (redacted["content"], redacted["summary"], redacted["tags"], redacted["entities"]) == (
        "",
        None,
        [],
        [],
    )
    assert (redacted["thread"], redacted["speaker"]) == (None, None)
    assert set(Supersession.objects.filter(vault=api.vault).values_list("reason", flat=True)) == {""}
    assert b"ebulon" not in api.get(f"memories/{first}").content
    assert b"ebulon" not in b"".join(api.get("export").streaming_content)


def test_a_proposal_to_replace_a_redacted_memory_says_no_more_why():
    vault = make_vault()
    api = api_of(vault)
    old = api.remember("Zebulon hid it", author="user")["ref"]
    api.post(f"memories/{old}/supersede", {"content": "He did not", "reason": "Zebulon hid it"})
    assert ProposedSupersession.objects.get(vault=vault).reason
    api.post(f"memories/{old}/redact")
    assert ProposedSupersession.objects.get(vault=vault).reason == ""


def test_an_imported_redacted_row_brings_no_words():
    api = api_of()
    ref = api.remember("Zebulon hid it")["ref"]
    api.post(f"memories/{ref}/redact")
    rows = [json.loads(line) for line in api.get("export").streaming_content]
    for row in rows:
        if row.get("class") == "memory":
            row |= {"tags": ["Zebulon"], "speaker": "Zebulon", "thread": "Zebulon"}
    other = api_of()
    other.call("POST", "import", raw="\n".join(map(json.dumps, rows)).encode())
    assert Memory.objects.filter(vault=other.vault).count() == 1
    assert b"ebulon" not in b"".join(other.get("export").streaming_content)


@pytest.mark.parametrize(("verb", "erases"), [("redact", True), ("archive", False), ("forget", True)])
def test_whoever_keeps_copies_is_told_what_text_goes(verb, erases):
    api = api_of()
    ref = api.remember("Zebulon hid it", summary="Hidden")["ref"]
    heard = []

    def listen(sender, *, texts, **_):
        heard.append(texts)

    content_withdrawn.connect(listen)
    try:
        _ = api.delete(f"memories/{ref}") if verb == "forget" else api.post(f"memories/{ref}/{verb}")
    finally:
        content_withdrawn.disconnect(listen)
    assert heard == [("Zebulon hid it", "Hidden") if erases else ()]
