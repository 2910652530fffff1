"""A session's state: what it keeps, what it lets go, and that it survives its own JSON."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sessions.core.state import (
    SESSION_CENTROID_DECAY,
    SESSION_CENTROID_TERMS,
    SESSION_KNOWN_CAP,
    SESSION_TRAJECTORY_WINDOW,
    Known,
    SessionState,
    TrajectoryStep,
    drifted,
    extended,
    without_traces,
)

refs = st.text("abcdef0123456789", min_size=1, max_size=6).map("mem_{}".format)
entries = st.builds(Known, turn=st.integers(0, 50), rung=st.integers(0, 2), page=st.integers(0, 3))
steps = st.builds(
    TrajectoryStep,
    turn=st.integers(1, 50),
    tokens=st.integers(0, 12_000),
    ids=st.lists(refs, max_size=5).map(tuple),
)
states = st.builds(
    SessionState,
    known=st.dictionaries(refs, entries, max_size=20),
    trajectory=st.lists(steps, max_size=SESSION_TRAJECTORY_WINDOW).map(tuple),
    centroid=st.dictionaries(st.text(max_size=8), st.floats(0, 1), max_size=8),
    turn=st.integers(0, 50),
    delta_cursor=st.integers(0, 99),
    last_request=st.text(max_size=8),
    page=st.integers(0, 3),
)


@given(states)
def test_a_state_survives_its_own_json(state):
    assert SessionState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_an_empty_mapping_is_a_session_before_its_first_turn():
    assert SessionState.from_json({}) == SessionState()


def test_json_has_the_words_of_the_protocol():
    state = SessionState(
        known={"mem_a": Known(turn=3, rung=2)},
        trajectory=(TrajectoryStep(turn=3, tokens=120, ids=("mem_a",)),),
        turn=3,
        delta_cursor=4,
    )

    assert state.to_json() == {
        "known": {"mem_a": [3, 2]},
        "trajectory": [{"turn": 3, "tokens": 120, "ids": ["mem_a"]}],
        "centroid": {},
        "turn": 3,
        "delta_cursor": 4,
        "last_request": "",
        "page": 0,
        "first_base": 0,
    }


def test_a_full_known_set_stays_within_twelve_kilobytes():
    known = {f"mem_{n:012d}": Known(turn=1000 + n, rung=2) for n in range(SESSION_KNOWN_CAP)}
    written = json.dumps(SessionState(known=known).to_json(), separators=(",", ":"))
    assert len(written) < 16_000


# -- Forgetting -----------------------------------------------------------------------------------


def test_a_forgotten_memory_leaves_the_trajectory_and_its_words_but_stays_known():
    state = SessionState(
        known={"a": Known(turn=1, rung=2)},
        trajectory=(TrajectoryStep(turn=1, tokens=9, ids=("a", "b")),),
        centroid={"locker": 0.25},
        turn=1,
        delta_cursor=1,
    )
    after = without_traces(state, {"a"})
    assert after.trajectory == (TrajectoryStep(turn=1, tokens=9, ids=("b",)),)
    assert after.centroid == {}
    assert after.known == state.known


# -- The trajectory and the centroid --------------------------------------------------------------


def test_the_trajectory_keeps_the_last_turns():
    trajectory: tuple[TrajectoryStep, ...] = ()
    for turn in range(1, SESSION_TRAJECTORY_WINDOW + 4):
        trajectory = extended(trajectory, TrajectoryStep(turn=turn, tokens=0, ids=()))
    assert [step.turn for step in trajectory] == list(range(4, SESSION_TRAJECTORY_WINDOW + 4))


def test_a_term_weighs_less_with_every_turn_that_does_not_use_it():
    first = drifted({}, ["atlas", "launch"])
    second = drifted(first, ["invoice"])
    assert second["atlas"] == round(first["atlas"] * SESSION_CENTROID_DECAY, 4)
    assert second["invoice"] > second["atlas"]


def test_a_term_used_twice_weighs_twice_as_much():
    centroid = drifted({}, ["atlas", "launch", "atlas"])
    assert centroid["atlas"] == round(2 * (1 - SESSION_CENTROID_DECAY) / 3, 4)
    assert list(centroid) == ["atlas", "launch"]


def test_a_task_without_terms_only_lets_the_centroid_fade():
    assert drifted({"atlas": 0.2}, []) == {"atlas": 0.15}


def test_a_faded_term_is_forgotten():
    assert drifted({"atlas": 0.00005}, []) == {}


@given(st.lists(st.lists(st.text("abcdefgh", min_size=1, max_size=3), max_size=100), max_size=6))
def test_the_centroid_is_bounded_whatever_is_asked(turns):
    centroid: dict[str, float] = {}
    for terms in turns:
        centroid = drifted(centroid, terms)
    assert len(centroid) <= SESSION_CENTROID_TERMS
    assert sum(centroid.values()) <= 1.01
    assert list(centroid.values()) == sorted(centroid.values(), reverse=True)
