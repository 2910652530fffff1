"""The generic packer: a share of the budget for each layer, each filled with its best, full texts only (CMP §3).

It does not fold, and it knows no redundancy. What one layer leaves of its share goes to the next; what is left at
the end goes to whatever still fits, best first. Only the best rule, or the best claim where nothing else fits, is cut
to its first sentence rather than lost.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from contextpack.core.folding import Claim
from contextpack.core.ladder import byte_length, thin_head
from contextpack.core.packing import (
    BYTES_PER_TOKEN,
    SCORE_DIGITS,
    Missed,
    Packing,
    Path,
    Tariff,
    rounded_density,
)
from contextpack.core.ranking import utility
from contextpack.core.types import Item, ModelProfile, PackLayer, Rung

LEAST_OVERHEAD: Final = 5  # tokens; no item costs less beside its text: it has a ref
MOST_BYTES_PER_TOKEN: Final = 9  # of words in any family; only runs of blanks or marks are cheaper


@dataclass(slots=True)
class _Offer:
    """A claim and what it is worth; priced when its turn comes."""

    claim: Claim
    worth: float
    size: int  # UTF-8 bytes of its text
    item: Item | None = None

    @property
    def ref(self) -> str:
        return self.claim.ref

    @property
    def layer(self) -> PackLayer:
        return self.claim.candidate.layer


@dataclass(slots=True)
class _Basket:
    """What was picked so far, and what it costs."""

    budget: int
    cost: Tariff
    used: int = 0
    picked: dict[str, Item] = field(default_factory=dict)
    opened: set[Path] = field(default_factory=set)

    def take(self, offer: _Offer, room: int) -> int:
        """Pick a claim if the room and the budget allow it; return what it cost, or 0."""
        room = min(room, self.budget - self.used)
        if offer.ref in self.picked or self._is_surely_too_large(offer, room):
            return 0
        item = self._priced(offer)
        price = item.tokens + self.cost.opening(offer.claim.candidate, self.opened)
        if price > room:
            return 0
        return self._pick(item, price)

    def take_head(self, offer: _Offer) -> int:
        """Pick a claim's first sentence, as much of it as fits; return what it cost, or 0."""
        allowed = self.budget - self.used - self.cost.opening(offer.claim.candidate, self.opened)
        head = thin_head(
            offer.claim.candidate,
            lambda text: self.cost.item(_shaped(offer, Rung.HEAD, text)) <= allowed,
        )
        if head is None:
            return 0
        item = _valued(_shaped(offer, Rung.HEAD, head.text), offer, self.cost)
        return self._pick(item, item.tokens + self.budget - self.used - allowed)

    def _pick(self, item: Item, price: int) -> int:
        self.picked[item.ref] = item
        self.opened |= self.cost.headings(item.candidate).keys()
        self.used += price
        return price

    def missed(self, offer: _Offer) -> Missed:
        tokens = offer.item.tokens if offer.item else self.cost.overhead + round(offer.size / BYTES_PER_TOKEN)
        return Missed(
            claim=offer.claim,
            utility=round(offer.worth, SCORE_DIGITS),
            density=rounded_density(offer.worth / tokens),
            tokens=tokens,
            short_by=max(1, self.used + tokens - self.budget),
        )

    def _is_surely_too_large(self, offer: _Offer, room: int) -> bool:
        """Tell by its length that an offer need not be priced; 200 prices cost more than the rest."""
        return offer.item is None and LEAST_OVERHEAD + offer.size / MOST_BYTES_PER_TOKEN > room

    def _priced(self, offer: _Offer) -> Item:
        if offer.item is None:
            offer.item = _item(offer, self.cost)
        return offer.item


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
        claims: unfolded; their order does not matter, and of equals the smaller ref wins.
        budget: tokens.
        shares: the part of the budget that each layer may fill before the others had their turn.
        profile, priors, now: make the utility, by which a layer is filled.
    Returns: used <= budget, the floor first. What does not fit is passed over, never in the way of the rest.
    Source: CMP §3 (`generic`), §4 (floor).
    """
    offers = sorted(
        (_offer(claim, profile=profile, now=now, prior=priors[claim.candidate.layer]) for claim in claims),
        key=lambda offer: (-offer.worth, offer.ref),
    )
    basket = _Basket(budget=budget, cost=cost)
    _lay_floor(basket, offers)
    _fill_shares(basket, offers, shares)
    for offer in offers:
        basket.take(offer, budget)
    if not basket.picked:
        any(basket.take_head(offer) for offer in offers)
    missed = tuple(basket.missed(offer) for offer in offers if offer.ref not in basket.picked)
    return Packing(items=tuple(basket.picked.values()), used=basket.used, missed=missed)


def _offer(claim: Claim, *, profile: ModelProfile, now: datetime, prior: float) -> _Offer:
    candidate = claim.candidate
    return _Offer(
        claim=claim,
        worth=utility(candidate, profile=profile, now=now, prior=prior),
        size=byte_length(candidate.content),
    )


def _item(offer: _Offer, cost: Tariff) -> Item:
    return _valued(_shaped(offer, Rung.FULL, offer.claim.candidate.content), offer, cost)


def _shaped(offer: _Offer, rung: Rung, text: str) -> Item:
    claim = offer.claim
    return Item(
        candidate=claim.candidate,
        rung=rung,
        text=text,
        tokens=0,
        utility=round(offer.worth, SCORE_DIGITS),
        density=0.0,
        folded_refs=claim.folded_refs,
        source_urls=claim.source_urls,
        occurrences=claim.occurrences,
    )


def _valued(item: Item, offer: _Offer, cost: Tariff) -> Item:
    tokens = cost.item(item)
    return replace(item, tokens=tokens, density=rounded_density(offer.worth / max(1, tokens)))


def _lay_floor(basket: _Basket, offers: Sequence[_Offer]) -> None:
    """Take the best hard rule that fits, matched or not, cut short where it must be."""
    for offer in offers:
        is_rule = offer.claim.candidate.protected and offer.layer is PackLayer.CONSTRAINTS
        if is_rule and (basket.take(offer, basket.budget) or basket.take_head(offer)):
            return


def _fill_shares(basket: _Basket, offers: Sequence[_Offer], shares: Mapping[PackLayer, float]) -> None:
    """Fill each layer's share, the layers in the order in which a reader wants them."""
    by_layer: defaultdict[PackLayer, list[_Offer]] = defaultdict(list)
    for offer in offers:
        by_layer[offer.layer].append(offer)
    room = 0.0
    for layer in PackLayer:
        room += basket.budget * shares[layer]
        for offer in by_layer[layer]:
            room -= basket.take(offer, int(room))
