"""What one conversation holds: its known-set, its trajectory, its centroid.

Rule: these are values. Nothing here reads a clock, a row or a random number, and what is written with
`to_json` comes back equal from `from_json`. Source: CMP §8.2.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

SESSION_KNOWN_CAP = 512
SESSION_TRAJECTORY_WINDOW = 8
SESSION_CENTROID_TERMS = 64
SESSION_CENTROID_DECAY = 0.75  # what a term keeps of its weight per turn: half of it is gone in 2.4 turns

_WEIGHT_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One memory that the client holds: the turn that served it last, the fullest rung it was sent at."""

    turn: int
    rung: int  # 0 head sentence, 1 summary, 2 full text
    page: int = 0  # which page of that turn served it last


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryStep:
    """One turn of the past: what it cost and what it served."""

    turn: int
    tokens: int
    ids: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"turn": self.turn, "tokens": self.tokens, "ids": list(self.ids)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """A conversation after its latest delta; the default is one that has had none.

    `turn` counts turns and `delta_cursor` counts answers: repeating a call, or reading on in its answer, makes a
    new answer, not a turn. Cursors begin after those of an earlier conversation of the same name.
    """

    known: Mapping[str, Known] = field(default_factory=dict)
    trajectory: tuple[TrajectoryStep, ...] = ()
    centroid: Mapping[str, float] = field(default_factory=dict)
    turn: int = 0
    delta_cursor: int = 0
    first_base: int = 0  # the cursor before the first answer: nothing is held there, nor at any lower one
    last_request: str = ""  # the digest of the latest call, by which a repeated one is recognised
    page: int = 0  # of the present turn; what repeats it after its first page counts on

    def to_json(self) -> dict[str, Any]:
        """Returns: plain lists, dicts, strings and numbers; a known ref costs about 20 bytes."""
        return {
            "known": known_to_json(self.known),
            "trajectory": [step.to_json() for step in self.trajectory],
            "centroid": dict(self.centroid),
            "turn": self.turn,
            "delta_cursor": self.delta_cursor,
            "first_base": self.first_base,
            "last_request": self.last_request,
            "page": self.page,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; an empty mapping is a session that has had no turn yet."""
        return cls(
            known=known_from_json(data.get("known", {})),
            trajectory=tuple(
                TrajectoryStep(turn=step["turn"], tokens=step["tokens"], ids=tuple(step["ids"]))
                for step in data.get("trajectory", ())
            ),
            centroid=dict(data.get("centroid", {})),
            turn=data.get("turn", 0),
            delta_cursor=data.get("delta_cursor", 0),
            first_base=data.get("first_base", 0),
            last_request=data.get("last_request", ""),
            page=data.get("page", 0),
        )


def without_traces(state: SessionState, refs: Collection[str]) -> SessionState:
    """The state after these memories were forgotten.

    Gone are the mentions in the trajectory, and the centroid, whose words came from tasks that these memories
    answered. The known-set stays: it is what the client holds, and only a delta can take that back.
    """
    trajectory = tuple(
        replace(step, ids=tuple(ref for ref in step.ids if ref not in refs)) for step in state.trajectory
    )
    return replace(state, trajectory=trajectory, centroid={})


def known_to_json(known: Mapping[str, Known]) -> dict[str, list[int]]:
    """Returns: [turn, rung] for each ref, and the page where it is not the turn's first."""
    return {
        ref: [entry.turn, entry.rung, *([entry.page] if entry.page else [])] for ref, entry in known.items()
    }


def known_from_json(data: Mapping[str, Sequence[int]]) -> dict[str, Known]:
    return {ref: Known(turn=turn, rung=rung, page=sum(page)) for ref, (turn, rung, *page) in data.items()}


def extended(trajectory: Sequence[TrajectoryStep], step: TrajectoryStep) -> tuple[TrajectoryStep, ...]:
    """The trajectory with one more turn, the oldest beyond the window gone."""
    return (*trajectory, step)[-SESSION_TRAJECTORY_WINDOW:]


def lengthened(
    trajectory: Sequence[TrajectoryStep], *, tokens: int, ids: Sequence[str]
) -> tuple[TrajectoryStep, ...]:
    """The trajectory with one more page in its latest turn: what it cost beside, what it served beside."""
    *before, last = trajectory
    grown = replace(last, tokens=last.tokens + tokens, ids=tuple(dict.fromkeys((*last.ids, *ids))))
    return (*before, grown)


def drifted(centroid: Mapping[str, float], terms: Sequence[str]) -> dict[str, float]:
    """Move the centroid towards what this turn is about.

    Args:
        centroid: term → weight; the weights of a session that has had a turn add up to at most 1.
        terms: the task's terms, repeated as often as they occur.
    Returns: the heaviest `SESSION_CENTROID_TERMS` terms, heaviest first, ties in the terms' own order.
    """
    weights = {term: weight * SESSION_CENTROID_DECAY for term, weight in centroid.items()}
    for term, count in Counter(terms).items():
        share = (1 - SESSION_CENTROID_DECAY) * count / len(terms)
        weights[term] = weights.get(term, 0.0) + share
    rounded = {term: round(weight, _WEIGHT_DIGITS) for term, weight in weights.items()}
    heaviest = sorted(rounded.items(), key=lambda pair: (-pair[1], pair[0]))
    return {term: weight for term, weight in heaviest[:SESSION_CENTROID_TERMS] if weight > 0}
