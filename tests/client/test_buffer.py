"""The buffer as a value: what an answer changes of it, and what it says in the next question."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_client import Buffer, Conversation, Cortex, Delta, Memory, NoAnswer
from tests.client.faults import ScriptedTransport, answer


def memory(ref: str, content: str = "text", layer: str = "facts", **fields: Any) -> Memory:
    return Memory(ref=ref, content=content, layer=layer, **fields)


def delta(cursor: str = "1", *, sent: dict[str, str] | None = None, **told: Any) -> Delta:
    """A delta that sends these texts as new ones, and says whatever else is named."""
    texts = sent or {}
    empty: dict[str, Any] = {"changed": (), "carried": (), "evicted": (), "superseded": {}, "retracted": ()}
    return Delta(
        **{
            **empty,
            "cursor": cursor,
            "new": tuple(texts),
            "tokens_saved": 0,
            "sent": {ref: memory(ref, text) for ref, text in texts.items()},
            **told,
        }
    )


def texts(buffer: Buffer) -> dict[str, str]:
    return {ref: held.content for ref, held in buffer.held.items()}


def holding(**sent: str) -> Buffer:
    return Buffer().after(delta(sent=sent))


def test_it_begins_with_nothing_and_says_so():
    assert Buffer().question == {"since": "0", "delta": "content"}


def test_what_is_sent_is_held():
    assert texts(holding(a="one", b="two")) == {"a": "one", "b": "two"}


@pytest.mark.parametrize("gone", [{"evicted": ("a",)}, {"retracted": ("a",)}, {"superseded": {"a": "b"}}])
def test_what_is_told_to_go_goes(gone):
    after = holding(a="one", b="two").after(delta("2", **gone))
    assert (texts(after), after.cursor) == ({"b": "two"}, "2")


def test_a_fuller_form_takes_the_place_of_the_thinner_one():
    after = holding(a="A.").after(delta("2", sent={"a": "A. And more."}, new=(), changed=("a",)))
    assert texts(after) == {"a": "A. And more."}


def test_a_reset_lets_go_of_everything_first():
    after = holding(a="one").after(delta("9", sent={"b": "two"}, reset=True))
    assert texts(after) == {"b": "two"}


def test_what_was_lost_is_named_until_an_answer_was_applied():
    lost = holding(a="one", b="two").without(["a", "stranger"])
    assert lost.question == {"since": "1", "delta": "content", "dropped": ["a"]}
    assert "dropped" not in lost.after(delta("2", sent={"a": "one"})).question


def test_a_pack_is_what_was_sent_and_what_was_held_of_it():
    base = holding(a="one", b="two", c="three")
    news = delta("2", sent={"d": "four"}, carried=("c", "a"))
    assert [held.ref for held in base.pack(news)] == ["d", "c", "a"]


def test_what_was_served_last_stands_last():
    buffer = holding(a="one", b="two", c="three").after(delta("2", sent={"d": "four"}, carried=("a",)))
    assert [*buffer.held] == ["c", "b", "a", "d"]


REFS = st.sampled_from("abcdef")


@given(st.dictionaries(REFS, st.text()), st.sets(REFS), st.integers(0, 10**9))
def test_it_can_be_kept_and_read_again(sent, lost, cursor):
    buffer = Buffer().after(delta(str(cursor), sent=sent)).without(lost)
    assert Buffer.from_json(buffer.to_json()) == buffer


# -- The conversation around it -------------------------------------------------------------------


def chat() -> Conversation:
    return Conversation(Cortex(transport=ScriptedTransport()), "chat")


def envelope(cursor: str, *refs: str) -> str:
    items = ", ".join(f'{{"ref": "{ref}", "content": "text", "layer": "facts"}}' for ref in refs)
    new = ", ".join(f'{{"ref": "{ref}", "delta_relevance": null}}' for ref in refs)
    return f"""{{"items": [{items}], "coverage": {{}}, "budget": {{"used": 5}}, "cursor": null, "receipt": null,
        "working_memory": {{"cursor": "{cursor}", "new": [{new}], "evicted": [], "superseded": [], "carried": [],
        "changed": [], "retracted": [], "tokens_saved": 7}}}}"""


def test_an_answer_that_another_one_overtook_is_read_and_not_applied():
    talk = chat()
    first, second = talk.question("one"), talk.question("two")
    assert talk.take(second, answer(envelope("2", "b"))).applied
    late = talk.take(first, answer(envelope("1", "a")))
    assert (late.applied, [held.ref for held in late.pack], list(talk.buffer.held)) == (False, ["a"], ["b"])


def test_an_answer_that_comes_twice_is_applied_once():
    talk = chat()
    question = talk.question("one")
    applied = [talk.take(question, answer(envelope("1", "a"))).applied for _ in range(2)]
    assert (applied, talk.buffer.cursor) == ([True, False], "1")


def test_an_older_answer_is_never_applied_to_a_newer_question():
    talk = chat()
    talk.take(talk.question("one"), answer(envelope("3", "a")))
    assert not talk.take(talk.question("two"), answer(envelope("3", "a"))).applied
    assert talk.buffer.cursor == "3"


def test_what_is_dropped_while_a_question_is_on_its_way_is_still_to_be_told():
    talk = chat()
    talk.take(talk.question("one"), answer(envelope("1", "a", "b", "c")))
    talk.drop(["c"])
    question = talk.question("two")
    talk.drop(["a"])
    talk.take(question, answer(envelope("2", "c", "d")))
    assert talk.buffer.question == {"since": "2", "delta": "content", "dropped": ["a"]}
    assert set(talk.buffer.held) == {"b", "c", "d"}


def test_starting_over_forgets_the_cursor_too():
    talk = chat()
    talk.take(talk.question("one"), answer(envelope("1", "a")))
    talk.forget_all()
    assert (talk.buffer.question["since"], list(talk.buffer.held)) == ("0", [])


def test_savings_add_up():
    talk = chat()
    for cursor in ("1", "2"):
        talk.take(talk.question("one"), answer(envelope(cursor, "a")))
    assert (talk.savings.turns, talk.savings.tokens_sent, talk.savings.tokens_saved) == (2, 10, 14)
    assert talk.savings.share == pytest.approx(14 / 24)
    assert chat().savings.share == 0.0


@pytest.mark.parametrize("body", ["", "[]", "null", '{"items": []}', '{"items": [], "working_memory": null}'])
def test_what_is_no_envelope_is_no_answer(body):
    talk = chat()
    with pytest.raises(NoAnswer):
        talk.take(talk.question("one"), answer(body))
    assert talk.buffer == Buffer()
