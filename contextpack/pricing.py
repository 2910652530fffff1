"""What the travelling part of a pack costs, counted as the packer counts the whole."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from contextpack.core.assembly import FACTS_DIGITS
from contextpack.core.packing import Path
from contextpack.core.rendering import headings_of, item_text
from contextpack.core.tokens import estimate_tokens, family_of
from contextpack.core.types import Budget, Candidate, ContextRequest, Item, Pack


class Prices:
    """The prices of one answer: its format, its reader's tokenizer."""

    def __init__(self, request: ContextRequest) -> None:
        self._format = request.format
        self._family = family_of(request.profile, request.model)

    def of_item(self, item: Item) -> int:
        return estimate_tokens(item_text(item, self._format), self._family)

    def of_headings(self, candidate: Candidate) -> Mapping[Path, int]:
        return {
            heading.path: estimate_tokens(heading.text, self._family)
            for heading in headings_of(candidate, self._format)
        }

    def of_all(self, items: Sequence[Item]) -> int:
        """Price a body; no more than its parts, each of which was rounded up when room was made for it."""
        shared = {
            heading.path: heading.text
            for item in items
            for heading in headings_of(item.candidate, self._format)
        }
        parts = [*shared.values(), *(item_text(item, self._format) for item in items)]
        by_parts = sum(estimate_tokens(text, self._family) for text in shared.values())
        by_parts += sum(item.tokens for item in items)
        return min(by_parts, estimate_tokens("".join(parts), self._family))

    def of_content(self, items: Sequence[Item]) -> int:
        return sum(estimate_tokens(item.text, self._family) for item in items)


def account_for(pack: Pack, request: ContextRequest, *, sent: Collection[str]) -> Pack:
    """Return a pack whose figures are those of the items that travel, headings included.

    Args:
        sent: the refs that travel.
    """
    items = [item for item in pack.items if item.ref in sent]
    prices = Prices(request)
    used = prices.of_all(items)
    budget = Budget(tokens=pack.budget.tokens, used=used, content_tokens=prices.of_content(items))
    facts = round(len(items) * 1_000 / used, FACTS_DIGITS) if used else 0.0
    return replace(pack, budget=budget, distinct_facts_per_1k_tokens=facts)
