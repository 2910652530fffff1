"""What both packers speak of: prices, what was packed, what was missed."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Final

from contextpack.core.folding import Claim
from contextpack.core.types import Candidate, Item

SCORE_DIGITS: Final = 6
DENSITY_DIGITS: Final = 4  # that count: densities span many orders of magnitude
SMALLEST_BUDGET: Final = 300
THINNEST_TOKENS: Final = (
    280  # what a memory costs at most in its shortest form, its section's heading included
)
BYTES_PER_TOKEN: Final = 4.0  # for the order alone; what is bought is estimated exactly

Path = tuple[str, ...]
"""Names a heading: its layer, and within that its day."""


def rounded_density(density: float) -> float:
    """Return a density with its first digits, however small it is."""
    return float(f"{density:.{DENSITY_DIGITS}g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """What things cost in tokens, as they are sent."""

    item: Callable[[Item], int]
    headings: Callable[[Candidate], Mapping[Path, int]]  # under which it stands; each is charged once
    overhead: int = 25  # roughly what an item costs beside its text, for the order alone

    def opening(self, candidate: Candidate, opened: Set[Path] = frozenset()) -> int:
        """Return what the headings cost that nothing bought so far has opened."""
        return sum(tokens for path, tokens in self.headings(candidate).items() if path not in opened)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A claim that the budget left out."""

    claim: Claim
    utility: float
    density: float
    tokens: int  # about what its cheapest form would have cost
    short_by: int  # about how many more tokens of budget would have brought it in


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What a budget bought."""

    items: tuple[Item, ...]  # in the order in which they were first picked
    used: int
    missed: tuple[Missed, ...] = ()  # best first
