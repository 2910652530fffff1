"""Exports of other products, read into drafts: what is found, and what hostile shapes come to."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.core.imports import benchmarks, chatgpt, claude, markdown, mcp_memory, mem0, pam
from memories.core.imports.detecting import READERS, detect
from memories.core.imports.drafts import Conversation, Document, Fact, Note, Unread
from memories.core.imports.reading import moment_of, parsed
from memories.core.kinds import Kind


def read_one(product, value):
    """Return the only thing that a reader finds, whatever kind of draft it is."""
    (found,) = product.read([document(value)])
    return found


def document(value: Any, name: str = "conversations.json") -> Document:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Document(name=name, data=data)


def of(kind, drafts):
    return [each for each in drafts if isinstance(each, kind)]


def reasons(drafts):
    return [each.reason for each in drafts if isinstance(each, Unread)]


# -- ChatGPT -------------------------------------------------------------------------------------


def node(node_id, parent, role="user", text=None, **message):
    said = {
        "id": f"m{node_id}",
        "author": {"role": role},
        "create_time": 1_700_000_000 + int(node_id),
        **message,
    }
    said.setdefault("content", {"content_type": "text", "parts": [text]})
    return {"id": node_id, "parent": parent, "children": [], "message": said}


def talk(*nodes, current=None, **more):
    mapping = {each["id"]: each for each in nodes}
    return {
        "conversation_id": "c1",
        "title": "Tea",
        "create_time": 1_700_000_000.5,
        "current_node": current or nodes[-1]["id"],
        "mapping": mapping,
        **more,
    }


def test_chatgpt_reads_the_branch_that_was_seen_last_in_order():
    root = {"id": "0", "parent": None, "children": ["1"], "message": None}
    value = [
        talk(
            root,
            node("1", "0", text="Which tea?"),
            node("2", "1", "assistant", text="Black."),
            node("3", "1", "assistant", text="Green."),
            node("4", "3", text="Thanks"),
        )
    ]
    found = read_one(chatgpt, value)
    assert isinstance(found, Conversation)
    assert [(m.speaker, m.text) for m in found.messages] == [
        ("user", "Which tea?"),
        ("assistant", "Green."),
        ("user", "Thanks"),
    ]
    assert [m.position for m in found.messages] == [0, 1, 2]
    assert found.messages[0].occurred_at == datetime.fromtimestamp(1_700_000_001, UTC)
    assert (found.title, found.url) == ("Tea", "https://chatgpt.com/c/c1")


def test_chatgpt_leaves_out_what_was_not_said():
    hidden = {"is_visually_hidden_from_conversation": True}
    value = [
        talk(
            node("1", None, "system", text="You are helpful"),
            node("2", "1", "user", text="About me", metadata=hidden),
            node("3", "2", text="Hello"),
            node("4", "3", "assistant", content={"content_type": "code", "text": "search()"}),
            node("5", "4", "tool", text="result"),
            node("6", "5", "assistant", text="browse", recipient="browser"),
            node("7", "6", "assistant", text="Hi"),
        )
    ]
    found = read_one(chatgpt, value)
    assert [m.text for m in found.messages] == ["Hello", "Hi"]


def test_chatgpt_takes_the_text_of_parts_that_are_objects():
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "x"},
        "Look",
        {"text": "Spoken"},
        None,
        5,
        "",
    ]
    value = [talk(node("1", None, content={"content_type": "multimodal_text", "parts": parts}))]
    found = read_one(chatgpt, value)
    assert found.messages[0].text == "[image]\nLook\nSpoken"


def test_chatgpt_reads_partitioned_exports_and_nothing_beside_them():
    files = [
        document([talk(node("1", None, text="Two"), conversation_id="b")], "export/conversations-001.json"),
        document([talk(node("1", None, text="One"), conversation_id="a")], "export/conversations-000.json"),
        document({"files": []}, "export/export_manifest.json"),
        document([{"id": "x"}], "export/message_feedback.json"),
    ]
    assert detect(files) == "chatgpt"
    assert [each.external_id for each in of(Conversation, chatgpt.read(files))] == ["a", "b"]


@pytest.mark.parametrize(
    "change",
    [
        {"create_time": None},
        {"create_time": 10**400},
        {"create_time": "soon"},
        {"create_time": True},
        {"create_time": float("1e300")},
        {"current_node": "nowhere"},
        {"current_node": None},
        {"current_node": ["1"]},
        {"title": None},
        {"title": {"x": 1}},
    ],
)
def test_chatgpt_reads_a_conversation_whatever_is_wrong_around_it(change):
    text = json.dumps([talk(node("1", None, text="Hello")) | change])
    found = read_one(chatgpt, text.encode())
    assert [m.text for m in found.messages] == ["Hello"]


def test_chatgpt_ends_a_circle_of_parents_where_it_closes():
    value = [talk(node("1", "3", text="a"), node("2", "1", text="b"), node("3", "2", text="c"))]
    found = read_one(chatgpt, value)
    assert [m.text for m in found.messages] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "bad",
    [
        None,
        5,
        [],
        {},
        {"conversation_id": "x"},
        {"conversation_id": "x", "mapping": []},
        {"conversation_id": "x", "mapping": {"1": None}},
        {"mapping": {"1": {"message": {}}}},
        {"conversation_id": {"a": 1}, "mapping": {"1": {}}},
        {"conversation_id": "x", "mapping": {"1": {"message": {"author": "me", "content": "x"}}}},
        {
            "conversation_id": "x",
            "mapping": {"1": {"message": {"author": {"role": ["user"]}, "content": []}}},
        },
        {
            "conversation_id": "x",
            "mapping": {"1": {"message": {"author": {"role": "user"}, "content": {"parts": 5}}}},
        },
    ],
)
def test_a_bad_conversation_is_skipped_with_a_reason_and_the_next_one_read(bad):
    found = list(chatgpt.read([document([bad, talk(node("1", None, text="Hello"))])]))
    assert [each.external_id for each in of(Conversation, found)] == ["c1"]
    assert reasons(found)


# -- Claude --------------------------------------------------------------------------------------

CLAUDE = {
    "uuid": "u1",
    "name": "Trip",
    "created_at": "2026-03-01T10:00:00Z",
    "chat_messages": [
        {"uuid": "a", "sender": "human", "text": "When?", "created_at": "2026-03-01T10:00:01Z"},
        {
            "uuid": "b",
            "sender": "assistant",
            "text": "",
            "content": [{"type": "tool_use", "name": "x"}, {"type": "text", "text": "In May."}],
        },
        {"uuid": "c", "sender": "human", "text": "", "attachments": [{"file_name": "plan.pdf"}]},
        {"uuid": "d", "sender": "ghost", "text": "boo"},
        {"uuid": "e", "sender": "human", "text": ""},
        None,
    ],
}


def test_claude_reads_conversations():
    found = list(claude.read([document([CLAUDE, {"uuid": "u2", "chat_messages": []}, 5])]))
    (conversation,) = of(Conversation, found)
    assert [(m.speaker, m.text) for m in conversation.messages] == [
        ("user", "When?"),
        ("assistant", "In May."),
        ("user", "[attachment plan.pdf]"),
    ]
    assert conversation.occurred_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert len(reasons(found)) == 5


def test_claude_reads_projects_and_what_it_remembered():
    files = [
        document([CLAUDE]),
        document(
            [{"uuid": "p", "name": "Atlas", "description": "A map.", "docs": [{"content": "Use UTC."}, {}]}],
            "projects.json",
        ),
        document(
            [{"conversations_memory": "Likes tea.", "project_memories": {"p": "Ships in May.", "q": 5}}],
            "memories.json",
        ),
        document([{"uuid": "me", "full_name": "Ana"}], "users.json"),
    ]
    assert detect(files) == "claude"
    found = list(claude.read(files))
    assert [note.text for note in of(Note, found)] == ["A map.", "Use UTC.", "Likes tea.", "Ships in May."]
    assert len(reasons(found)) == 5


# -- Facts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda rows: {"results": rows}, lambda rows: rows])
def test_mem0_reads_memories(wrap):
    rows = [
        {"id": "1", "memory": "Likes tea", "created_at": "2026-01-01", "categories": ["food", None, 5]},
        {"id": 2, "memory": "Lives in Lisbon", "updated_at": "2026-02-01T00:00:00+02:00"},
        {"id": None, "memory": "lost"},
        {"id": "3"},
        "x",
    ]
    found = list(mem0.read([document(wrap(rows))]))
    assert [(fact.external_id, fact.content) for fact in of(Fact, found)] == [
        ("1", "Likes tea"),
        ("2", "Lives in Lisbon"),
    ]
    assert of(Fact, found)[0].tags == ("food",)
    assert of(Fact, found)[1].changed_at == datetime(2026, 1, 31, 22, tzinfo=UTC)
    assert len(reasons(found)) == 3
    assert detect([document(wrap(rows))]) == "mem0"


def test_the_mcp_memory_server_is_read_line_by_line():
    lines = [
        {
            "type": "entity",
            "name": "Ana",
            "entityType": "person",
            "observations": ["likes tea", "Ana is tall", "", 5],
        },
        {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
        {"type": "entity", "name": "Bob", "observations": []},
        {"type": "relation", "from": "Ana", "relationType": "knows"},
        {"type": "memory"},
        [],
    ]
    data = "\n".join(map(json.dumps, lines)).encode() + b"\n{broken\n\n"
    file = document(data, "memory.jsonl")
    found = list(mcp_memory.read([file]))
    assert [(fact.content, fact.entities) for fact in of(Fact, found)] == [
        ("Ana: likes tea", ("Ana",)),
        ("Ana is tall", ("Ana",)),
        ("Ana works at Acme", ("Ana", "Acme")),
    ]
    assert len(reasons(found)) == 7
    assert detect([file]) == "mcp"


PAM = {
    "schema": "portable-ai-memory",
    "schema_version": "1.0",
    "owner": {"id": "me"},
    "memories": [
        {
            "id": "a",
            "type": "preference",
            "status": "superseded",
            "content": "Likes tea",
            "confidence": {"initial": 0.5, "current": 0.9},
            "temporal": {"created_at": "2026-01-01T00:00:00Z", "superseded_by": "b"},
            "provenance": {"platform": "claude"},
        },
        {
            "id": "b",
            "type": "preference",
            "status": "active",
            "content": "Likes coffee",
            "confidence": {"current": 7},
        },
        {"id": "c", "status": "deleted", "content": "gone"},
        {
            "id": "d",
            "status": "archived",
            "content": "old",
            "temporal": {"valid_from": 5, "valid_until": "x"},
        },
        {"id": "e", "content": None},
        7,
    ],
    "relations": [
        {"from": "d", "to": "b", "type": "related_to"},
        {"from": "b", "to": "d", "type": "supersedes"},
        None,
    ],
}


def test_portable_ai_memory_is_read_with_who_replaced_whom():
    found = list(pam.read([document(PAM)]))
    facts = {fact.external_id: fact for fact in of(Fact, found)}
    assert set(facts) == {"a", "b", "d"}
    assert (facts["a"].kind, facts["a"].confidence, facts["a"].replaced_by) == (Kind.PREFERENCE, 0.9, "b")
    assert facts["b"].confidence is None
    assert (facts["d"].is_archived, facts["d"].replaced_by) == (True, "b")
    assert len(reasons(found)) == 5
    assert detect([document(PAM)]) == "pam"


# -- Markdown ------------------------------------------------------------------------------------

PAGE = b"""---
title: Atlas
type: note
tags: [work, "maps"]
permalink: work/atlas
modified: 2026-03-01
nested:
  - one
---

# Atlas

- [decision] Ships in **May** #launch (agreed with [[Ana]])
- [tech] Atlas uses Postgres
- [ ] buy a map
- [x] sold a map
- [home](https://example.org)
- depends on [[Mercator|the projection]]
- part_of [[Maps]]

Some prose about [[people/Ana|her]] and #travel.

```
- [code] not an observation
```
"""


def test_a_markdown_note_is_read_into_observations_relations_and_prose():
    found = list(markdown.read([document(PAGE, "work/atlas.md")]))
    facts, (prose,) = of(Fact, found), of(Note, found)
    assert [(fact.content, fact.kind) for fact in facts] == [
        ("Atlas: Ships in **May** (agreed with Ana)", Kind.DECISION),
        ("Atlas uses Postgres", Kind.CLAIM),
        ("Atlas depends on the projection", Kind.CLAIM),
        ("Atlas part of Maps", Kind.CLAIM),
    ]
    assert facts[2].entities == ("Atlas", "Mercator")
    assert facts[0].tags == ("decision", "launch", "work", "maps")
    assert facts[0].entities == ("Atlas", "Ana")
    assert facts[0].occurred_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert "not an observation" in prose.text
    assert "Some prose about her and #travel." in prose.text
    assert prose.tags == ("work", "maps", "travel")
    assert prose.external_id == "work/atlas"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"---\n",
        b"---\ntitle: x\n---\n",
        b"\xff\xfe",
        b"\x00",
        b"---\n: :\n- a\n---\n- [[",
        b"- [a] ",
        b"\xff\xff\xff",
    ],
)
def test_a_broken_note_says_why_or_is_read_as_prose(data):
    for each in markdown.read([document(data, "a.md")]):
        assert isinstance(each, Note | Unread)


# -- Benchmarks ----------------------------------------------------------------------------------


def test_locomo_becomes_a_conversation_for_each_session():
    sample = {
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Ana", "text": "Hi", "blip_caption": "a cat"},
            {"dia_id": "D1:2", "speaker": "Bo", "text": ""},
            {"speaker": None, "text": "x"},
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_2": "broken",
        "qa": [{"question": "secret?", "answer": "no"}],
    }
    found = list(benchmarks.read_locomo([document({"conversation": sample, "sample_id": "s"}, "26.json")]))
    (conversation,) = of(Conversation, found)
    assert conversation.external_id == "s/session_1"
    assert [(m.speaker, m.text) for m in conversation.messages] == [("Ana", "Hi [shared a cat]")]
    assert conversation.messages[0].occurred_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert len(reasons(found)) == 3
    assert detect([document(sample, "26.json")]) == "locomo"


def test_longmemeval_sessions_are_taken_once():
    item = {
        "question_id": "q",
        "haystack_sessions": [[{"role": "user", "content": "Hi"}, {"role": "x", "content": "y"}, 5]],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["s1"],
    }
    found = list(benchmarks.read_longmemeval([document([item, item | {"question_id": "r"}, None])]))
    (conversation,) = of(Conversation, found)
    assert conversation.messages[0].occurred_at == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert len(reasons(found)) == 3
    assert detect([document([item])]) == "longmemeval"


# -- All of them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("product", READERS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"[" * 100_000,
        b"\xff\xfe[\x00]\x00",
        b"\xef\xbb\xbf[]",
        b"[\xff]",
        b"[NaN, Infinity]",
        b"[" + b"9" * 5_000 + b"]",
        b'["\\ud83d", "\\u0000"]',
        b'{"conversations": 5, "results": {"a": 1}, "memories": "x", "haystack_sessions": {}, "session_1": {}}',
    ],
)
def test_no_file_brings_a_reader_down(product, data):
    name = "a.md" if product == "markdown" else "conversations.json"
    for each in READERS[product]([document(data, name)]):
        assert isinstance(each, Unread | Note)
    detect([document(data, name)])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                """mapping id uuid message author role content parts create_time chat_messages sender text memory results
            memories type name observations from to relationType temporal status haystack_sessions session_1 speaker""".split()  # noqa: SIM905
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(sorted(READERS)), json_values)
def test_no_shape_brings_a_reader_down(product, value):
    for each in READERS[product]([document(value, "conversations.json"), document([value], "memories.json")]):
        assert isinstance(each, Conversation | Fact | Note | Unread)


def test_utf_16_is_read_and_lost_bytes_are_told():
    value = json.dumps([{"id": "1", "memory": "Café"}])
    fact = read_one(mem0, value.encode("utf-16"))
    assert fact.content == "Café"
    found = list(mem0.read([document(value.replace("\\u00e9", "é").encode("latin-1"))]))
    assert len(of(Fact, found)) == 1
    assert "no text" in reasons(found)[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1_700_000_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T10:00:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        (True, None),
        (-(10**30), None),
        (10**30, None),
        ("never", None),
        ([], None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_moments_are_read_or_unknown(value, expected):
    assert moment_of(value) == expected


def test_endless_integers_are_no_numbers():
    assert parsed('{"a": ' + "9" * 10_000 + "}") == {"a": None}
