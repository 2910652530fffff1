import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.errors import StateConflict
from memories.core.supersession import active_head, chain, closes_cycle

refs = st.sampled_from("abcdefgh")
links = st.lists(st.tuples(refs, refs), max_size=30)


class TestActiveHead:
    def test_it_is_the_memory_itself_where_nothing_replaced_it(self):
        assert active_head("a", {"x": "y"}) == "a"

    def test_it_follows_a_chain_of_any_length(self):
        successor = {f"m{n}": f"m{n + 1}" for n in range(5_000)}
        assert active_head("m0", successor) == "m5000"

    def test_it_refuses_a_cycle(self):
        with pytest.raises(StateConflict):
            active_head("x", {"x": "a", "a": "b", "b": "a"})

    def test_it_refuses_what_replaces_itself(self):
        with pytest.raises(StateConflict):
            active_head("a", {"a": "a"})

    @pytest.mark.parametrize(("length", "refused"), [(3, False), (4, True)])
    def test_it_walks_no_further_than_its_limit(self, length, refused):
        successor = {f"m{n}": f"m{n + 1}" for n in range(length)}
        if refused:
            with pytest.raises(StateConflict):
                active_head("m0", successor, limit=3)
        else:
            assert active_head("m0", successor, limit=3) == "m3"


def test_it_lists_a_chain_from_the_ref_to_its_head():
    assert chain("b", {"a": "b", "b": "c", "c": "d"}) == ("b", "c", "d")


class TestClosesCycle:
    @pytest.mark.parametrize(
        ("ref", "replacement", "closes"),
        [("c", "a", True), ("a", "a", True), ("c", "d", False), ("d", "a", False), ("d", "c", False)],
    )
    def test_it_sees_whether_the_way_leads_back(self, ref, replacement, closes):
        assert closes_cycle(ref, replacement, {"a": "b", "b": "c"}) is closes

    @given(links)
    def test_every_chain_ends_where_each_link_was_asked_first(self, wanted):
        successor: dict[str, str] = {}
        for ref, replacement in wanted:
            if ref not in successor and not closes_cycle(ref, replacement, successor):
                successor[ref] = replacement
        for ref in successor:
            head = active_head(ref, successor)
            assert head not in successor
            assert chain(ref, successor)[-1] == head
