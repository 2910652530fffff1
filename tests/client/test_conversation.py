"""Conversations with a running server: the buffer is what the server takes the session to hold, whatever is lost."""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from cortex_client import NO_RETRIES, Buffer, Conversation, NoAnswer, Retries, Unprocessable
from tests.client.faults import FATES, FaultyTransport

TOPICS = ("oak", "ash", "elm", "fir", "yew")
PARTS = ("bark", "leaf", "root", "wood", "seed")


def plant(cortex):
    """Write five memories about each of five trees; returns tree → refs."""
    texts = {topic: [f"The {topic} has a {part} like no other" for part in PARTS] for topic in TOPICS}
    return {
        topic: [
            row["ref"]
            for row in cortex.remember_all([{"content": text, "entities": [topic]} for text in told])
        ]
        for topic, told in texts.items()
    }


def talk(cortex, name="chat", **asked):
    return Conversation(cortex, name, model="claude", **asked)


def known(cortex, chat):
    return set(cortex.session(chat.session_id)["known"])


def texts(memories):
    return {memory.ref: memory.content for memory in memories}


def whole_pack(cortex, task, **asked):
    """What the server would serve without a session."""
    items = cortex.context(task, format="smp", model="claude", **asked)["items"]
    return {item["ref"]: item["content"] for item in items}


def test_forty_turns_lose_nothing_and_send_nothing_twice(cortex):
    plant(cortex)
    chat, sent = talk(cortex, token_budget=1_000), []
    for number in range(40):
        task = f"{TOPICS[number % 5]} {PARTS[number % 3]}"
        turn = chat.ask(task)
        sent += [memory.ref for memory in turn.new if memory.ref not in turn.delta.changed]
        assert texts(turn.pack) == whole_pack(cortex, task, token_budget=1_000)
        assert number % 8 or set(chat.buffer.held) == known(cortex, chat)
    assert len(sent) == len(set(sent))
    assert chat.savings.share > 0.5
    assert chat.savings.turns == 40


@pytest.mark.parametrize("seed", range(3))
def test_no_fault_on_the_way_parts_the_buffer_from_the_session(connect, seed):
    dice = random.Random(seed)
    plant(connect())
    faulty = connect(
        partial(FaultyTransport, fates=iter(lambda: dice.choice(FATES), None)), retries=NO_RETRIES
    )
    calm, chat = connect(), talk(faulty)
    for _ in range(20):
        task, budget = " ".join(dice.sample(TOPICS, 2)), dice.choice((300, 600, 1_500))
        try:
            turn = chat.ask(task, token_budget=budget)
        except NoAnswer:
            continue
        if turn.applied:
            assert texts(turn.pack) == whole_pack(calm, task, token_budget=budget)
        if dice.random() < 0.2:
            chat.drop(dice.sample(sorted(chat.buffer.held), min(3, len(chat.buffer.held))))
    final = Conversation(calm, chat.session_id, buffer=chat.buffer, model="claude")
    assert texts(final.ask("oak ash").pack) == whole_pack(calm, "oak ash")
    assert set(final.buffer.held) == known(calm, chat)


def test_an_answer_that_was_lost_is_asked_for_again_by_itself(connect):
    trees = plant(connect())
    fates = ["lose", "cut", "garble", "deliver"]
    chat = talk(connect(partial(FaultyTransport, fates=fates), retries=Retries(attempts=4, first_wait=0)))
    turn = chat.ask("oak", entities=["oak"])
    assert set(texts(turn.new)) == set(trees["oak"])
    assert (turn.delta.cursor, chat.savings.turns) == ("4", 1)


def test_where_it_gives_up_the_next_question_makes_up_for_it(connect):
    trees = plant(connect())
    chat = talk(connect(partial(FaultyTransport, fates=["lose"]), retries=NO_RETRIES))
    with pytest.raises(NoAnswer):
        chat.ask("oak", entities=["oak"])
    assert chat.buffer == Buffer()
    turn = chat.ask("oak ash", entities=["oak", "ash"])
    assert set(texts(turn.new)) == {*trees["oak"], *trees["ash"]}


def test_a_correction_arrives_in_its_place(cortex):
    old = plant(cortex)["oak"][0]
    chat = talk(cortex)
    chat.ask("oak", entities=["oak"])
    head = cortex.supersede(old, "The oak was felled", entities=["oak"])["ref"]
    turn = chat.ask("ash", entities=["ash"])
    assert turn.delta.superseded == {old: head}
    assert chat.buffer.held[head].content == "The oak was felled"
    assert old not in chat.buffer.held


def test_what_is_forgotten_leaves_the_buffer(cortex):
    gone = plant(cortex)["oak"][0]
    chat = talk(cortex)
    chat.ask("oak", entities=["oak"])
    cortex.forget(gone)
    assert chat.ask("ash", entities=["ash"]).delta.retracted == (gone,)
    assert gone not in chat.buffer.held


def test_a_head_sentence_becomes_a_full_text_when_there_is_room(cortex):
    long = "The oak is old. " + "Its rings were counted by the wardens of the northern valley. " * 30
    ref = cortex.remember(long, entities=["oak"])["ref"]
    chat = talk(cortex)
    thin = chat.ask("oak", token_budget=300).pack[0].content
    full = chat.ask("oak", token_budget=4_000)
    assert full.delta.changed == (ref,)
    assert len(chat.buffer.held[ref].content) > len(thin)


def test_what_a_compaction_lost_comes_again_once(cortex):
    oak = plant(cortex)["oak"]
    chat = talk(cortex)
    chat.ask("oak", entities=["oak"])
    chat.drop(oak[:2])
    assert set(texts(chat.ask("oak", entities=["oak"]).new)) == set(oak[:2])
    assert chat.ask("oak", entities=["oak"]).new == ()


def test_starting_over_sends_all_of_it_again(cortex):
    oak = plant(cortex)["oak"]
    chat = talk(cortex)
    chat.ask("oak", entities=["oak"])
    chat.forget_all()
    assert set(texts(chat.ask("oak", entities=["oak"]).new)) == set(oak)


def test_a_client_that_starts_again_goes_on_with_what_it_kept(cortex):
    plant(cortex)
    chat = talk(cortex)
    chat.ask("oak", entities=["oak"])
    again = talk(cortex, buffer=Buffer.from_json(chat.buffer.to_json()))
    assert again.ask("oak", entities=["oak"]).new == ()
    assert again.buffer.held.keys() == chat.buffer.held.keys()


def test_a_server_that_lost_the_session_says_so_and_sends_everything(cortex):
    oak = plant(cortex)["oak"]
    chat = talk(cortex)
    chat.ask("oak", entities=["oak"])
    cortex.end_session("chat")
    turn = chat.ask("oak ash", entities=["oak", "ash"])
    assert turn.delta.reset
    assert set(oak) < set(texts(turn.new)) == set(chat.buffer.held) == known(cortex, chat)


def test_two_clients_of_one_session_each_hold_what_they_were_sent(cortex, connect):
    plant(cortex)
    ours, theirs = talk(cortex), talk(connect())
    for number in range(8):
        task = " ".join(TOPICS[number % 5 : number % 5 + 2])
        for chat in (ours, theirs):
            assert texts(chat.ask(task, token_budget=800).pack) == whole_pack(cortex, task, token_budget=800)
        assert set(theirs.buffer.held) == known(cortex, theirs)


def test_questions_at_the_same_time_leave_a_buffer_that_is_right(cortex):
    plant(cortex)
    chat = talk(cortex)
    with ThreadPoolExecutor(6) as pool:
        turns = list(pool.map(lambda topic: chat.ask(topic, token_budget=900), [*TOPICS, *TOPICS]))
    assert any(turn.applied for turn in turns)
    for turn in turns:
        assert texts(turn.pack) == whole_pack(cortex, turn.task, token_budget=900)
    last = chat.ask("oak", token_budget=900)
    assert texts(last.pack) == whole_pack(cortex, "oak", token_budget=900)
    assert set(chat.buffer.held) == known(cortex, chat)


def test_pages_of_an_answer_add_to_the_buffer(cortex):
    plant(cortex)
    chat = talk(cortex, token_budget=300)
    turn, seen = chat.ask("oak ash elm"), set()
    for _ in range(40):
        seen |= set(texts(turn.pack))
        if turn.cursor is None:
            break
        turn = chat.ask("oak ash elm", cursor=turn.cursor)
    assert turn.cursor is None
    assert seen == set(chat.buffer.held) == known(cortex, chat)


def test_the_prompt_cites_all_of_the_pack_or_what_fits(cortex):
    plant(cortex)
    chat = talk(cortex)
    turn = chat.ask("oak")
    assert all(f"[{ref}]" in turn.markdown() for ref in texts(turn.pack))
    short = turn.markdown(limit=250)
    assert 0 < len(short) <= 250
    assert f"[{turn.pack[0].ref}]" in short
    assert len(chat.markdown()) >= len(turn.markdown())


def test_a_refusal_is_raised_and_changes_nothing(cortex):
    chat = talk(cortex)
    chat.ask("oak")
    before = chat.buffer
    with pytest.raises(Unprocessable):
        chat.ask("oak", layers=["nonsense"])
    assert chat.buffer == before
