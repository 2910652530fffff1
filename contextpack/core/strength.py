"""How strongly a memory answers a task, on one scale for every task: 0 has nothing to do with it, 1 says all of it.

Ranks say which of two memories answers better; a strength says whether either answers at all.
"""

from typing import Final

# Cosines above the vault's median for the same task; below the first they are noise, at the second a close match.
COSINE_FLOOR: Final = 0.10
COSINE_CEILING: Final = 0.60
COVERAGE_WEIGHT: Final = 0.9
COSINE_WEIGHT: Final = 0.4
NAMED_STRENGTH: Final = 0.15  # of a memory about what the task names, whatever words it uses
RELEVANT_FROM: Final = 0.22
# A weaker match is one frequent word or a chance likeness: weak by itself, or beside the best. Without them
# a pool is about a quarter as large, and its first 3,000 tokens hold as much of what answers the task.
NOISE_BELOW: Final = 0.08
NOISE_SHARE: Final = 0.15


def match_strength(*, coverage: float, cosine_lift: float, named: bool = False) -> float:
    """Blend what the words and the meaning say; either alone may carry a match.

    Args:
        coverage: share of the task's weighted content terms that the memory has, 0..1.
        cosine_lift: similarity of the vectors less the median similarity of the vault to this task.
        named: whether the memory is about somebody or something that the task names.
    Returns: 0..1.
    """
    span = COSINE_CEILING - COSINE_FLOOR
    closeness = min(1.0, max(0.0, (cosine_lift - COSINE_FLOOR) / span))
    strength = 1.0 - (1.0 - COVERAGE_WEIGHT * coverage) * (1.0 - COSINE_WEIGHT * closeness)
    return max(strength, NAMED_STRENGTH) if named else strength


def is_noise(strength: float, best: float) -> bool:
    """Tell whether a match of this strength says nothing, where the best match is so strong."""
    return strength < max(NOISE_BELOW, NOISE_SHARE * best)


def is_relevant(strength: float) -> bool:
    """Tell whether a best match of this strength answers the task at all."""
    return strength >= RELEVANT_FROM
