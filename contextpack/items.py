"""Items outside of a pack: a memory shown whole, by request and not by worth."""

from contextpack.core.types import Candidate, Item, Rung


def whole_item(candidate: Candidate, *, tokens: int = 0) -> Item:
    """Show a candidate's full text.

    Args:
        tokens: what the item costs as sent, where somebody counts.
    """
    return Item(
        candidate=candidate,
        rung=Rung.FULL,
        text=candidate.content,
        tokens=tokens,
        utility=0.0,
        density=0.0,
        source_urls=candidate.source_urls,
        occurrences=candidate.occurrences,
    )
