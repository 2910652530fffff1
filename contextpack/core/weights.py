"""Every figure by which matches are ranked and judged, in one place: what `manage.py evaluate` tells better or worse.

The channel weights follow published experiments on long conversations and were checked here; the calibration is
fitted by `bench/calibrate.py`, which prints it anew. Change a figure, run `evaluate --compare`, keep what is better.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# -- Which memory answers better -----------------------------------------------------------------

# Each channel is scaled to 0..1 by its best hit; a match's score is the weighted sum.
CHANNEL_WEIGHTS: Final[Mapping[str, float]] = {
    "pair": 0.22,  # words of the memory and of the one before it: an answer makes sense with its question
    "window": 0.54,  # words of the memory and of three neighbours on either side
    "thread": 0.11,  # words of the whole thread
    "meaning": 0.45,  # likeness of the vectors
    "thread_meaning": 0.14,  # that of the three nearest memories of the thread
    "person": 0.36,  # said by, or about, the one person whom the task names
    "named": 0.20,  # about somebody or something else that the task names
    "date": 0.76,  # from the time that the task names, or shortly after: people tell afterwards
    "time": 0.25,  # tells a time where the task asks when
    "question": -0.12,  # asks instead of telling
}
# By the beginning of a model's name: how much its likeness counts beside what stands above. Hashed features meet by
# chance, and say little that the words do not say.
MEANING_TRUST: Final[Mapping[str, float]] = {"hash": 0.6}
WEIGHTS_WITHOUT_MEANING: Final[Mapping[str, float]] = {
    "pair": 0.30,
    "window": 0.46,
    "thread": 0.18,
    "person": 0.37,
    "named": 0.20,
    "date": 0.77,
    "time": 0.25,
    "question": -0.10,
}
# The second hop: what the best matches are about and the task does not name brings what else is about it.
HOP_WEIGHT: Final = 0.10
HOP_FROM: Final = 3  # matches
HOP_STANDING: Final = 0.6  # that stand at least so close to the best one
PAIR: Final = (1, 0)  # neighbours before and after
WINDOW: Final = (3, 3)
NEAREST_IN_THREAD: Final = 3
LEAST_BEST_LIFT: Final = 0.10  # where even the nearest is farther, likeness is chance and not scaled up to 1
# A match whose score is a smaller share of the best one's adds next to nothing to what answers the task.
POOL_SHARE: Final = 0.12
QUERY_SHARE: Final = 0.10  # a query's reader pages on as far as he likes

# -- What a place in the pack is worth -----------------------------------------------------------

STEEPNESS: Final = 25.0  # how fast a match's worth falls with its distance from the best one's score
IDLE_STANDING: Final = 0.5  # where memories that matched nothing stand: the newest, tastes, open ends

# -- Whether anything answers at all -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The logistic model of a match's relevance, one for each kind of vectors: their likeness is not alike.

    It reads what of the task's content a memory has together with the one before it (`pair`), what with its
    neighbours (`window`), how far its vector stands out (`lift`), and whether the vault knows the task's names.
    """

    intercept: float
    pair: float
    window: float
    lift: float
    known_name: float
    unknown_name: float


# By the beginning of the name of the model (`static` is "wordllama"); for others, and without vectors, words alone judge.
CALIBRATIONS: Final[Mapping[str, Calibration]] = {
    "hash": Calibration(
        intercept=-3.66, pair=5.12, window=1.49, lift=3.15, known_name=1.41, unknown_name=-1.53
    ),
    "wordllama": Calibration(
        intercept=-4.13, pair=4.54, window=0.30, lift=6.79, known_name=1.64, unknown_name=-1.12
    ),
    "minilm": Calibration(
        intercept=-4.68, pair=4.40, window=0.0, lift=8.87, known_name=1.72, unknown_name=-1.05
    ),
}
WORDS_ALONE: Final = Calibration(
    intercept=-3.18, pair=6.04, window=1.41, lift=0.0, known_name=1.40, unknown_name=-1.57
)
RELEVANT_FROM: Final = 0.15
NOISE_BELOW: Final = 0.02

# The similarity from which a lift is measured is the vault's median; below so many memories no more than the cap,
# for in a vault of three the median is a match.
SMALL_VAULT: Final = 20
SMALL_VAULT_BASELINE: Final = 0.15
