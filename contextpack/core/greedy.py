"""The generic packer: a share of the budget for each layer, each filled with its best, full texts only (CMP §3).

It neither folds nor shortens, and it knows no redundancy. What one layer leaves of its share goes to the next; what
is left at the end goes to whatever still fits, best first.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from contextpack.core.folding import Claim
from contextpack.core.packing import SCORE_DIGITS, Missed, Packing, Tariff
from contextpack.core.ranking import utility
from contextpack.core.types import Item, ModelProfile, PackLayer, Rung


@dataclass(slots=True)
class _Basket:
    """What was picked so far, and what it costs."""

    budget: int
    cost: Tariff
    used: int = 0
    picked: dict[str, Item] = field(default_factory=dict)
    opened: set[PackLayer] = field(default_factory=set)

    def price(self, item: Item) -> int:
        layer = item.candidate.layer
        return item.tokens if layer in self.opened else item.tokens + self.cost.section(layer)

    def take(self, item: Item, room: int) -> int:
        """Pick an item if the room and the budget allow it; return what it cost, or 0."""
        price = self.price(item)
        if item.ref in self.picked or price > min(room, self.budget - self.used):
            return 0
        self.picked[item.ref] = item
        self.opened.add(item.candidate.layer)
        self.used += price
        return price


def pack_by_layer(
    claims: Sequence[Claim],
    budget: int,
    *,
    shares: Mapping[PackLayer, float],
    profile: ModelProfile,
    now: datetime,
    priors: Mapping[PackLayer, float],
    cost: Tariff,
) -> Packing:
    """Fill a budget layer by layer.

    Args:
        claims: unfolded, in any order; ties go to the smaller ref.
        budget: tokens.
        shares: the part of the budget that each layer may fill before the others had their turn.
        profile, priors, now: make the utility, by which a layer is filled.
    Returns: used <= budget, the floor first. What does not fit is passed over, never in the way of the rest.
    Source: CMP §3 (`generic`), §4 (floor).
    """
    items = sorted(
        (_item(claim, profile=profile, now=now, priors=priors, cost=cost) for claim in claims),
        key=lambda item: (-item.utility, item.ref),
    )
    basket = _Basket(budget=budget, cost=cost)
    for rule in _rules(items):
        if basket.take(rule, budget):
            break
    _fill_shares(basket, items, shares)
    for item in items:
        basket.take(item, budget)
    missed = tuple(_missed(claim_of, basket) for claim_of in _unpicked(claims, items, basket))
    return Packing(items=tuple(basket.picked.values()), used=basket.used, missed=missed)


def _item(
    claim: Claim, *, profile: ModelProfile, now: datetime, priors: Mapping[PackLayer, float], cost: Tariff
) -> Item:
    candidate = claim.candidate
    worth = utility(candidate, profile=profile, now=now, prior=priors[candidate.layer])
    item = Item(
        candidate=candidate,
        rung=Rung.FULL,
        text=candidate.content,
        tokens=0,
        utility=round(worth, SCORE_DIGITS),
        density=0.0,
        folded_refs=claim.folded_refs,
        source_urls=claim.source_urls,
        occurrences=claim.occurrences,
    )
    tokens = cost.item(item)
    return replace(item, tokens=tokens, density=round(worth / max(1, tokens), SCORE_DIGITS))


def _rules(items: Sequence[Item]) -> Iterator[Item]:
    return (
        item for item in items if item.candidate.protected and item.candidate.layer is PackLayer.CONSTRAINTS
    )


def _fill_shares(basket: _Basket, items: Sequence[Item], shares: Mapping[PackLayer, float]) -> None:
    """Fill each layer's share, the layers in the order in which a reader wants them."""
    by_layer: defaultdict[PackLayer, list[Item]] = defaultdict(list)
    for item in items:
        by_layer[item.candidate.layer].append(item)
    room = 0.0
    for layer in PackLayer:
        room += basket.budget * shares[layer]
        for item in by_layer[layer]:
            room -= basket.take(item, int(room))


def _unpicked(
    claims: Sequence[Claim], items: Sequence[Item], basket: _Basket
) -> Iterator[tuple[Claim, Item]]:
    claim_of = {claim.ref: claim for claim in claims}
    return ((claim_of[item.ref], item) for item in items if item.ref not in basket.picked)


def _missed(left: tuple[Claim, Item], basket: _Basket) -> Missed:
    claim, item = left
    return Missed(
        claim=claim,
        utility=item.utility,
        density=item.density,
        tokens=item.tokens,
        short_by=max(1, basket.used + basket.price(item) - basket.budget),
    )
