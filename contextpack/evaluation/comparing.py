"""Two runs side by side, question by question: is the later one better, or is the difference chance?

The same questions are asked in both, so what counts is the difference at each question. The interval is a paired
bootstrap: the questions are drawn anew with replacement, many times, and the middle 95 of 100 means are kept. Where it
contains zero, the questions do not tell the two runs apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from contextpack.evaluation.report import Report
from contextpack.evaluation.scoring import Answered, Stray, by_category

RESAMPLES: Final = 2_000
SEED: Final = 20_260_504
_MIDDLE: Final = (2.5, 97.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What became of the recall of some questions at one budget."""

    questions: int
    mean: float  # later minus earlier
    low: float
    high: float
    better: int
    worse: int

    @property
    def is_told(self) -> bool:
        """Whether the questions tell the two runs apart."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One question whose recall changed."""

    question: Answered  # as it was answered later
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs over the questions and budgets that both have."""

    budgets: tuple[int, ...]
    pairs: tuple[tuple[Answered, Answered], ...]  # earlier, later
    strays: tuple[tuple[Stray, Stray], ...]  # earlier, later
    unpaired: int  # questions that only one of the two was asked

    def differences(self, budget: int) -> dict[str, Difference]:
        """Return the difference over all and for each category."""
        later = by_category([after for _, after in self.pairs])
        earlier = {before.key: before for before, _ in self.pairs}
        return {
            name: difference(
                [after.at(budget).recall - earlier[after.key].at(budget).recall for after in group]
            )
            for name, group in later.items()
            if group
        }

    def moved(self, budget: int) -> list[Moved]:
        """Return the questions that changed, those that lost most first."""
        changed = [
            Moved(question=after, before=before.at(budget).recall, after=after.at(budget).recall)
            for before, after in self.pairs
            if before.at(budget).recall != after.at(budget).recall
        ]
        return sorted(changed, key=lambda each: (each.after - each.before, each.question.key))


def compare(earlier: Report, later: Report) -> Comparison:
    """Pair the questions of two runs; a question whose text changed is another one."""
    before = {each.key: each for each in earlier.answered}
    pairs = tuple((before[each.key], each) for each in later.answered if each.key in before)
    astray = {each.key: each for each in earlier.strays}
    return Comparison(
        budgets=tuple(budget for budget in later.budgets if budget in earlier.budgets),
        pairs=pairs,
        strays=tuple((astray[each.key], each) for each in later.strays if each.key in astray),
        unpaired=len(earlier.answered) + len(later.answered) - 2 * len(pairs),
    )


def difference(changes: Sequence[float]) -> Difference:
    """Sum up the changes of some questions, at least one; the same changes give the same interval."""
    values = np.array(changes)
    dice = np.random.default_rng(SEED)
    means = [values[dice.integers(len(values), size=len(values))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, _MIDDLE)
    return Difference(
        questions=len(values),
        mean=float(values.mean()),
        low=float(low),
        high=float(high),
        better=int((values > 0).sum()),
        worse=int((values < 0).sum()),
    )
