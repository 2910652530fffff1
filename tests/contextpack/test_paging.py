"""The cursor of a pack: short, for it travels with each answer, and nothing that it says is lost."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.paging import pack_state, unpack_state
from memories.ids import digits_of, new_memory_ref
from tests.clients import api_of
from tests.wire.asking import fill, pack

moments = st.datetimes(timezones=st.just(UTC))
refs = st.sets(
    st.one_of(
        st.integers(0, 10**12 - 1).map(lambda digits: f"mem_{digits:012}"),
        st.sampled_from(["mem_a", "mem_", "mem_00000000000a", "mem_٠٠٠٠٠٠٠٠٠٠٠٠", "000000000001", "mém_1"]),
    ),
    max_size=40,
)


@given(as_of=moments, known_at=moments, sent=refs)
def test_what_was_written_is_read(as_of, known_at, sent):
    assert unpack_state(pack_state(as_of, known_at, sent)) == (as_of, known_at, frozenset(sent))
    assert unpack_state(pack_state(as_of, as_of, sent)) == (as_of, as_of, frozenset(sent))


def test_a_fresh_ref_takes_five_bytes():
    now = datetime(2026, 3, 1, tzinfo=UTC)
    sent = {new_memory_ref() for _ in range(20)}
    assert all(digits_of(ref) is not None for ref in sent)
    assert len(pack_state(now, now, sent)) == 1 + 8 + 2 + 5 * 20


@pytest.mark.django_db
def test_the_cursor_of_a_pack_of_twenty_is_shorter_than_two_hundred_characters():
    api = api_of()
    fill(api, *(f"The harbour has {number} bells by the quay of the fishermen" for number in range(60)))
    body = pack(api, "harbour bells quay", model="claude", token_budget=2_400, format="smp")
    assert 18 <= len(body["items"]) <= 24
    assert len(body["cursor"]) < 200
