"""The compression ladder: the forms in which a memory may travel, thinnest first (CMP §5).

A rung is offered where it saves enough to be worth a step; a short text has but one. A memory that does not fit
whole is made shorter, not dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from contextpack.core.types import Candidate, Rung
from memories.core.text import HEAD_SENTENCE_LIMIT, head_sentence

SHORT_TEXT_BYTES: Final = 160  # about what a citation costs; cutting such a text saves next to nothing
WORTHWHILE_SAVING: Final = 1.3  # a fuller rung is at least this much longer than the next thinner one

_CUT_COLUMNS: Final = (240, 180, 140, 110, 90, 70, 55, 42, 32, 24, 16, 12)

# How much of a memory's worth a rung carries: a part that is sure, and a part that depends on how many of the
# words that matched the task the rung still has.
_SURE_SHARE: Final = {Rung.HEAD: 0.35, Rung.SUMMARY: 0.5}
_MATCHED_SHARE: Final = 0.4
_UNMATCHED_COVERAGE: Final = 0.6  # where no word matched, a first sentence is likely what the memory is about


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One rung of a candidate's ladder."""

    rung: Rung
    text: str
    size: int  # UTF-8 bytes
    share: float  # of the candidate's utility, 1 for the full text


def rungs(candidate: Candidate) -> tuple[Step, ...]:
    """Return the forms of a candidate, thinnest first; the last one is the full text.

    Returns: one to three steps, each at least 1.3 times as long as the one before.
    Source: CMP §5.
    """
    full = candidate.content
    size = byte_length(full)
    steps = [Step(rung=Rung.FULL, text=full, size=size, share=1.0)]
    if size <= SHORT_TEXT_BYTES:
        return tuple(steps)
    for rung, text in ((Rung.SUMMARY, candidate.summary or ""), (Rung.HEAD, head_sentence(full))):
        size = byte_length(text)
        if text and size * WORTHWHILE_SAVING <= steps[0].size:
            steps.insert(0, Step(rung=rung, text=text, size=size, share=_share(candidate, rung, text)))
    return tuple(steps)


def thin_head(candidate: Candidate, fits: Callable[[str], bool]) -> Step | None:
    """Return the longest cut of a first sentence that fits where the sentence itself does not.

    Args:
        fits: whether a text may be sent; asked a few times, and never about an empty one.
    Returns: a step at the head's rung, or None where not even a few words fit.
    """
    for columns in _CUT_COLUMNS:
        text = head_sentence(candidate.content, columns)
        if text and fits(text):
            return Step(
                rung=Rung.HEAD,
                text=text,
                size=byte_length(text),
                share=_share(candidate, Rung.HEAD, text) * columns / HEAD_SENTENCE_LIMIT,
            )
    return None


def thin_heads(candidate: Candidate, rung: Rung) -> tuple[str, ...]:
    """Return every cut that `thin_head` could have made, longest first; none for another rung than the head's."""
    if rung is not Rung.HEAD:
        return ()
    return tuple(dict.fromkeys(head_sentence(candidate.content, columns) for columns in _CUT_COLUMNS))


def byte_length(text: str) -> int:
    """Return a text's size in UTF-8: a cheap measure that ranks scripts as tokenizers do."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _share(candidate: Candidate, rung: Rung, text: str) -> float:
    return _SURE_SHARE[rung] + _MATCHED_SHARE * _matched_coverage(candidate.matched_terms, text)


def _matched_coverage(matched_terms: tuple[str, ...], text: str) -> float:
    """Return which part of the matched words a shorter text still has."""
    if not matched_terms:
        return _UNMATCHED_COVERAGE
    lowered = text.casefold()
    return sum(word in lowered for word in matched_terms) / len(matched_terms)
