import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.core.supersession import active_heads, closes_cycle

refs = st.sampled_from("abcdefgh")
links = st.lists(st.tuples(refs, refs), max_size=30)


class TestActiveHeads:
    def test_what_nothing_replaced_has_no_entry(self):
        assert active_heads({"x": "y"}) == {"x": "y"}

    def test_they_follow_chains_of_any_length_and_branches_that_meet(self):
        successor = {f"m{n}": f"m{n + 1}" for n in range(50_000)} | {"other": "m40000"}
        heads = active_heads(successor)
        assert set(heads.values()) == {"m50000"}
        assert heads.keys() == successor.keys()

    def test_a_cycle_and_what_leads_into_it_have_none(self):
        assert active_heads({"x": "a", "a": "b", "b": "a", "self": "self", "c": "d"}) == {"c": "d"}


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
        heads = active_heads(successor)
        assert heads.keys() == successor.keys()
        assert successor.keys().isdisjoint(heads.values())
        assert all(heads[ref] == heads.get(after, after) for ref, after in successor.items())
