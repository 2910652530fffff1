"""A memory gains from its neighbours in the thread, from nobody else, and loses nothing where it stands alone."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.threads import best_in_thread, best_nearby, lay_out, mean_of_nearest

MEMBERS = st.lists(
    st.tuples(
        st.integers(min_value=1, max_value=10**6),
        st.none() | st.sampled_from(["monday", "tuesday", "minutes"]),
        st.none() | st.integers(min_value=0, max_value=9),
    ),
    max_size=20,
    unique_by=lambda member: member[0],
)


def nearby_by_hand(layout, values, before, after):
    """Say the same as `best_nearby` in the plainest way."""
    best = values.copy()
    for row in range(len(layout)):
        for other in range(max(0, row - before), min(len(layout), row + after + 1)):
            if layout.threads[other] == layout.threads[row]:
                best[row] = np.maximum(best[row], values[other])
    return best


@given(members=MEMBERS)
def test_rows_stand_thread_by_thread_in_the_order_of_their_positions(members):
    layout = lay_out(members)
    rows = [members[place] for place in layout.order.tolist()]
    assert sorted(layout.ids.tolist()) == sorted(pk for pk, _, _ in members)
    assert layout.ids.tolist() == [pk for pk, _, _ in rows]
    for one, other in pairwise(rows):
        if one[1] is not None and one[1] == other[1]:
            assert (one[2] is None, one[2] or 0) <= (other[2] is None, other[2] or 0)
    threads = [row[1] for row in rows if row[1] is not None]
    assert len(set(threads)) == sum(
        1 for place, thread in enumerate(threads) if not place or threads[place - 1] != thread
    )


@given(members=MEMBERS, data=st.data())
def test_a_row_has_the_best_of_its_neighbours_and_no_other_thread_s(members, data):
    layout = lay_out(members)
    cells = st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=2 * len(layout), max_size=2 * len(layout))
    values = np.array(data.draw(cells)).reshape(len(layout), 2)
    before, after = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    best = best_nearby(layout, values, before=before, after=after)
    assert np.array_equal(best, nearby_by_hand(layout, values, before, after))


@given(members=MEMBERS)
def test_a_memory_without_a_thread_keeps_exactly_its_own(members):
    layout = lay_out([(pk, None, position) for pk, _, position in members])
    values = np.arange(len(layout), dtype=np.float64)[:, np.newaxis]
    assert np.array_equal(best_nearby(layout, values, before=3, after=3), values)
    assert np.array_equal(best_in_thread(layout, values), values)
    assert np.array_equal(mean_of_nearest(layout, values[:, 0], count=3), values[:, 0])


def test_a_thread_has_the_best_of_each_term_and_the_mean_of_its_nearest():
    layout = lay_out([(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, None, None)])
    gains = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.0], [0.0, 0.25]])
    assert best_in_thread(layout, gains).tolist() == [[1.0, 2.0], [1.0, 2.0], [0.5, 0.0], [0.0, 0.25]]
    assert mean_of_nearest(layout, np.array([1.0, 0.5, 0.25, 2.0]), count=1).tolist() == [1.0, 1.0, 0.25, 2.0]
    assert mean_of_nearest(layout, np.array([1.0, 0.5, 0.25, 2.0]), count=3).tolist() == [
        0.75,
        0.75,
        0.25,
        2.0,
    ]


def test_values_of_other_memories_are_not_laid_out():
    layout = lay_out([(5, None, None), (7, None, None)])
    laid_out = layout.spread(np.array([7, 6, 99]), np.array([1.0, 2.0, 3.0]))
    assert dict(zip(layout.ids.tolist(), laid_out.tolist(), strict=True)) == {5: 0.0, 7: 1.0}


def test_an_empty_layout_answers_nothing():
    layout = lay_out([])
    assert len(layout) == 0
    assert layout.spread(np.array([1]), np.array([1.0])).tolist() == []
    assert best_nearby(layout, np.zeros((0, 2)), before=1, after=1).shape == (0, 2)
