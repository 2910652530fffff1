"""When two texts make nearly the same claim: the same words but for fillers, and nothing that sets them apart."""

from typing import Final

from memories.core.contradiction import contradicts, distinguishing_marks
from memories.core.slots import FILLERS, figures_of, without_lead_in
from memories.core.text import DEFAULT_LANGUAGE, content_terms, normalise

LEAST_LIKENESS: Final = 0.85  # Jaccard of content terms, fillers aside
LONGEST_COMPARED: Final = 2_000


def likeness(a: str, b: str, language: str = DEFAULT_LANGUAGE) -> float:
    """Return the share (0..1) of content terms that two texts have in common, fillers aside."""
    ours, theirs = (
        set(content_terms(without_lead_in(normalise(text[:LONGEST_COMPARED])), language))
        - _filler_terms(language)
        for text in (a, b)
    )
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


def are_twins(a: str, b: str, language: str = DEFAULT_LANGUAGE) -> bool:
    """Whether two texts may stand and fall together: alike, and with the same numbers, dates, names and polarity."""
    if len(a) > LONGEST_COMPARED or len(b) > LONGEST_COMPARED:
        return False  # what nobody compares to its end is not called the same
    if likeness(a, b, language) < LEAST_LIKENESS or distinguishing_marks(a) != distinguishing_marks(b):
        return False
    return figures_of(a, language) == figures_of(b, language) and contradicts(a, b, language=language) is None


def _filler_terms(language: str) -> frozenset[str]:
    words = FILLERS.get(language, FILLERS[DEFAULT_LANGUAGE])
    return frozenset(content_terms(" ".join(sorted(words)), language))
