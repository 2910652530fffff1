"""What was found, as figures: pure sums over what a run wrote down."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import fmean, median
from typing import Any, Final

EVERY: Final = "all"
_WORST_IN_TWENTY: Final = 0.95


class Source(StrEnum):
    """Where a question that a history does not answer comes from."""

    OTHERS = "others"  # it belongs to another history of the run
    GIVEN = "given"  # a file lists it


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What one question got at one budget."""

    budget: int
    recall: float  # 0..1: the share of the evidence that the pack carried
    tokens: int  # of the body as it was sent, estimated for the model
    characters: int
    milliseconds: float

    @property
    def complete(self) -> bool:
        """Whether nothing of the evidence was missing."""
        return self.recall == 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question of a history, at every budget; `weak` and `relevance` are those of one further pack."""

    history: str
    question_id: str
    question: str
    category: str
    evidence: int  # turns
    served: tuple[Served, ...]  # in the order of the budgets
    weak: bool
    relevance: float  # 0..1: the strongest match

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same question in another run."""
        return self.history, self.question_id, self.question

    def at(self, budget: int) -> Served:
        return next(each for each in self.served if each.budget == budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A question put to a history that does not answer it."""

    history: str
    question: str
    source: Source
    weak: bool
    relevance: float

    @property
    def key(self) -> tuple[str, Source, str]:
        """What makes it the same question in another run."""
        return self.history, self.source, self.question


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Means over some questions at one budget."""

    questions: int
    recall: float
    complete: float  # the share of questions with all of their evidence
    tokens: float
    characters: float
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention:
    """How well a weak pack tells what is not there; None where nothing was asked."""

    on_topic: int
    on_topic_weak: float | None
    off_topic: int
    off_topic_weak: float | None
    auc: float | None  # that a question of the history matches more strongly than a stray one


def recall(evidence: Collection[str], found: Collection[str]) -> float:
    """Return the share of the evidence that was found."""
    return len(set(evidence) & set(found)) / len(set(evidence))


def figures(answered: Sequence[Answered], budget: int) -> Figures:
    """Average some questions, at least one, at one budget."""
    at = [each.at(budget) for each in answered]
    times = [each.milliseconds for each in at]
    return Figures(
        questions=len(at),
        recall=fmean(each.recall for each in at),
        complete=fmean(each.complete for each in at),
        tokens=fmean(each.tokens for each in at),
        characters=fmean(each.characters for each in at),
        p50_ms=median(times),
        p95_ms=quantile(times, _WORST_IN_TWENTY),
    )


def by_category(answered: Sequence[Answered]) -> dict[str, list[Answered]]:
    """Group questions: first all of them, then each category by its name."""
    return {EVERY: list(answered)} | _grouped((each.category, each) for each in answered)


def by_history(answered: Sequence[Answered]) -> dict[str, list[Answered]]:
    return _grouped((each.history, each) for each in answered)


def abstention(answered: Sequence[Answered], strays: Sequence[Stray]) -> Abstention:
    return Abstention(
        on_topic=len(answered),
        on_topic_weak=_share(each.weak for each in answered),
        off_topic=len(strays),
        off_topic_weak=_share(each.weak for each in strays),
        auc=auc([each.relevance for each in answered], [each.relevance for each in strays]),
    )


def auc(above: Sequence[float], below: Sequence[float]) -> float | None:
    """Return how probably one of `above` exceeds one of `below`, ties counting half; None where one is empty."""
    if not above or not below:
        return None
    ordered = sorted(below)
    wins = sum((bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in above)
    return wins / (len(above) * len(below))


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def _grouped(pairs: Iterable[tuple[str, Answered]]) -> dict[str, list[Answered]]:
    groups: dict[str, list[Answered]] = {}
    for name, each in pairs:
        groups.setdefault(name, []).append(each)
    return dict(sorted(groups.items()))


def _share(truths: Iterable[bool]) -> float | None:
    counted = list(truths)
    return fmean(counted) if counted else None


# -- As JSON -------------------------------------------------------------------------------------


def answered_as_json(each: Answered) -> dict[str, Any]:
    return asdict(each)


def answered_from_json(row: Mapping[str, Any]) -> Answered:
    """Raises: KeyError or TypeError where it was not written by `answered_as_json`."""
    return Answered(**{**row, "served": tuple(Served(**served) for served in row["served"])})


def stray_from_json(row: Mapping[str, Any]) -> Stray:
    """Raises: KeyError, TypeError or ValueError where it is no stray question."""
    return Stray(**{**row, "source": Source(row["source"])})
