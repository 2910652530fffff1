"""Which of the memories that were scored by their words are answered, and in which order."""

from collections.abc import Collection, Set

import numpy as np
from numpy.typing import NDArray


def best_places(
    ids: NDArray[np.int64],
    scores: NDArray[np.float64],
    *,
    allowed: Collection[int] | None,
    limit: int,
) -> NDArray[np.int64]:
    """Return the positions of the best rows, the best first, ties by id.

    Args:
        allowed: the ids that may be answered at all, chosen before the limit; None for any.
    """
    places = np.arange(len(ids))
    if allowed is not None:
        among = allowed if isinstance(allowed, Set) else frozenset(allowed)
        places = places[
            np.fromiter((pk in among for pk in ids[places].tolist()), dtype=bool, count=len(places))
        ]
    if 0 < limit < len(places):  # what cannot be among the best need not be sorted
        least = np.partition(scores[places], -limit)[-limit]
        places = places[scores[places] >= least]
    order = np.lexsort((ids[places], -scores[places]))
    return places[order[: max(0, limit)]]
