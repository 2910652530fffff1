"""The marginal-utility knapsack: in which order claims are bought, and how far a budget reaches (CMP §4).

The order in which increments are bought (a claim's first rung, later a fuller one) does not depend on the budget,
and a pack is a strict prefix of it. Hence the law of nested packs: for b ≤ b′, every item of the pack at b is in
the pack at b′, at the same or a fuller rung. What makes a prefix a good pack as well:

- Best density first: adjusted utility per token. Likeness to what was bought before lowers utility (MMR), and so
  does having little to do with the task.
- The floor comes first: hard rules that every pack carries, one at once, the others in turn with the best claims.
- No increment is large next to what was bought before it: a larger one waits, or its claim comes at a thinner rung.
  So no memory starves the rest, and little of any budget is left unused.
- What is too long for the smallest budget even at its thinnest rung has its first sentence cut shorter. How short
  depends on the format and on the memory's own keys, never on the budget.
- Both sides of an open conflict are one purchase where the smallest budget holds both, else one follows the other.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Final

from contextpack.core.folding import Claim
from contextpack.core.ladder import Step, byte_length, rungs, thin_head
from contextpack.core.packing import (
    BYTES_PER_TOKEN,
    SCORE_DIGITS,
    SMALLEST_BUDGET,
    THINNEST_TOKENS,
    Missed,
    Packing,
    Path,
    Tariff,
    rounded_density,
)
from contextpack.core.ranking import pertinence, utility
from contextpack.core.types import Item, ModelProfile, PackLayer, Rung

MMR_PENALTY: Final = 0.35
FLOOR_ITEMS: Final = 3
SMALL_PURCHASE_TOKENS: Final = 240  # well under the smallest budget, so that every one buys something
LARGEST_PURCHASE_SHARE: Final = 1 / 3  # of all that was bought before


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """One increment: an item new to the pack, two sides of a conflict, or a fuller rung of what the pack has."""

    items: tuple[Item, ...]
    tokens: int  # what the increment adds, the headings that it opens included


def purchase_order(
    claims: Sequence[Claim],
    *,
    profile: ModelProfile,
    now: datetime,
    priors: Mapping[PackLayer, float],
    cost: Tariff,
) -> Iterator[Purchase]:
    """Yield every increment of every claim, best first, whatever the budget.

    Args:
        claims: folded, in any order; ties go to the smaller ref.
        profile: whose weights make the utility.
        now: aware; what recency is measured from.
        priors: the factor of each layer's utility.
        cost: asked once for each rung that comes up for purchase.
    Source: CMP §4 (density, MMR 0.35, floor); nesting: docs/wire.md, Asking.
    """
    offers = _offers(claims, profile=profile, now=now, priors=priors, overhead=cost.overhead)
    return _Market(offers, cost).purchases()


def pack_by_density(
    claims: Sequence[Claim],
    budget: int,
    *,
    profile: ModelProfile,
    now: datetime,
    priors: Mapping[PackLayer, float],
    cost: Tariff,
) -> Packing:
    """Fill one budget with the most useful distinct claims.

    Args:
        claims, profile, now, priors, cost: as for `purchase_order`.
        budget: tokens.
    Returns: the longest prefix of the purchase order that the budget pays for, so used <= budget.
    Source: CMP §4; nesting: docs/wire.md, Asking.
    """
    market = _Market(_offers(claims, profile=profile, now=now, priors=priors, overhead=cost.overhead), cost)
    items: dict[str, Item] = {}
    used = 0
    for purchase in market.purchases():
        if used + purchase.tokens > budget:
            break
        items.update((item.ref, item) for item in purchase.items)
        used += purchase.tokens
    missed = market.missed(items, shortage=used - budget)
    return Packing(items=tuple(items.values()), used=used, missed=missed)


# -- Offers --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Offer:
    """A claim on the market: what it is worth, how much of it was bought, and which rung comes next."""

    claim: Claim
    ref: str
    utility: float
    pertinence: float
    steps: tuple[Step, ...]
    terms: int  # how many the text has
    mask: int  # which of the terms that it shares with others it has, one bit each
    overhead: int  # of its first rung, in tokens
    bought: int = -1  # place of the rung that was bought last
    target: int = 0  # place of the rung that is offered
    rate: float = 0.0  # share of the utility per token that the target adds
    likeness: float = 0.0  # to what was bought, as far as compared
    compared: int = 0
    entry: int = 0  # which of its entries in the heap is valid
    waits: bool = False  # for more to be bought
    is_cut: bool = False  # whether a shorter head was looked for
    costs: dict[int, int] = field(default_factory=dict)  # place of a rung → tokens

    @property
    def adjusted_utility(self) -> float:
        return self.utility * self.pertinence * (1.0 - MMR_PENALTY * self.likeness)

    @property
    def density(self) -> float:
        return self.adjusted_utility * self.rate

    @property
    def unlike_density(self) -> float:
        """The density were it like nothing; what was never compared is only comparable so."""
        return self.utility * self.pertinence * self.rate

    def aim(self) -> bool:
        """Offer the rung that adds most per token; False where there is no fuller one."""
        first, count = self.bought + 1, len(self.steps)
        if first == count:
            return False
        if first + 1 == count:  # most texts are short and have but one rung
            self.target, self.rate = first, self._rate(first)
            return True
        rates = [self._rate(place) for place in range(first, count)]
        self.rate = max(rates)
        self.target = first + rates.index(self.rate)
        return True

    def aim_lower(self) -> bool:
        """Offer the next thinner rung; False where there is none."""
        if self.target <= self.bought + 1:
            return False
        self.target -= 1
        self.rate = self._rate(self.target)
        return True

    def replace_head(self, head: Step) -> None:
        """Put a shorter first sentence into the place of the one that there is, or before the thinnest rung."""
        fuller = self.steps[1:] if self.steps[0].rung is Rung.HEAD else self.steps
        self.steps = (replace(head, share=min(head.share, fuller[0].share / 2)), *fuller)
        self.costs.clear()
        self.target = 0
        self.rate = self._rate(0)

    def _rate(self, place: int) -> float:
        step = self.steps[place]
        if self.bought < 0:
            return step.share / (step.size / BYTES_PER_TOKEN + self.overhead)
        have = self.steps[self.bought]
        return (step.share - have.share) / ((step.size - have.size) / BYTES_PER_TOKEN)


def _offers(
    claims: Sequence[Claim],
    *,
    profile: ModelProfile,
    now: datetime,
    priors: Mapping[PackLayer, float],
    overhead: int,
) -> list[_Offer]:
    """Value the claims; in order of their refs, so that no tie depends on how they came."""
    bits = _shared_terms(claims)
    offers = []
    for claim in sorted(claims, key=lambda claim: claim.ref):
        candidate = claim.candidate
        offer = _Offer(
            claim=claim,
            ref=claim.ref,
            utility=utility(candidate, profile=profile, now=now, prior=priors[candidate.layer]),
            pertinence=pertinence(candidate),
            steps=rungs(candidate),
            terms=len(candidate.term_ids),
            mask=sum(map(bits.__getitem__, candidate.term_ids & bits.keys())),
            overhead=overhead,
        )
        offer.aim()
        offers.append(offer)
    return offers


def _shared_terms(claims: Sequence[Claim]) -> Mapping[int, int]:
    """Return a bit for each term that more than one claim has; no other can make two alike."""
    counts = Counter(chain.from_iterable(claim.candidate.term_ids for claim in claims))
    shared = sorted(term for term, count in counts.items() if count > 1)
    return {term: 1 << place for place, term in enumerate(shared)}


# -- The market ----------------------------------------------------------------------------------


class _Market:
    """All offers of one request, and what was bought so far.

    Likeness only grows, so an offer's last known density bounds its present one from above: the best offer is
    found by looking again at the top of a heap, and the rest is left alone.
    """

    def __init__(self, offers: Sequence[_Offer], cost: Tariff) -> None:
        self._offers = offers
        self._cost = cost
        self._spent = 0
        self._opened: set[Path] = set()
        self._chosen: list[tuple[str, int, int]] = []  # ref, mask and terms of what has a place
        self._heap = [(-offer.density, offer.ref, 0, offer) for offer in offers]
        heapq.heapify(self._heap)
        self._waiting: list[tuple[int, str, _Offer]] = []  # too large for now, the smallest first
        self._partners = _partners(offers)
        self._floor = deque(_floor(offers))
        self._due = deque([self._floor.popleft()] if self._floor else [])

    def purchases(self) -> Iterator[Purchase]:
        """Yield the purchases in order; every offer is bought up to its full text in the end."""
        while True:
            if self._due:
                purchase = self._buy_at_any_rung(self._due.popleft())
            elif (offer := self._best()) is not None:
                purchase = self._buy(offer)
            elif self._waiting:
                purchase = self._settle([self._smallest_waiting()])
            else:
                return
            if purchase is not None:
                yield purchase

    def missed(self, items: Mapping[str, Item], *, shortage: int) -> tuple[Missed, ...]:
        """Return the claims without an item, best first.

        Args:
            shortage: what was spent less the budget: at most 0.
        """
        left = sorted(
            (offer for offer in self._offers if offer.ref not in items),
            key=lambda offer: (-offer.unlike_density, offer.ref),
        )
        missed = []
        for offer in left:
            tokens = offer.costs.get(0) or round(offer.steps[0].size / BYTES_PER_TOKEN + offer.overhead)
            shortage += tokens
            missed.append(
                Missed(
                    claim=offer.claim,
                    utility=round(offer.utility, SCORE_DIGITS),
                    density=rounded_density(offer.unlike_density),
                    tokens=tokens,
                    short_by=max(1, shortage),
                )
            )
        return tuple(missed)

    # How the next offer is found.

    def _best(self) -> _Offer | None:
        while self._heap:
            _, _, entry, offer = heapq.heappop(self._heap)
            if entry != offer.entry:
                continue
            self._compare(offer)
            if not self._heap or (-offer.density, offer.ref) <= self._heap[0][:2]:
                return offer
            self._push(offer)
        return None

    def _push(self, offer: _Offer) -> None:
        offer.entry += 1
        heapq.heappush(self._heap, (-offer.density, offer.ref, offer.entry, offer))

    def _compare(self, offer: _Offer) -> None:
        """Bring an offer's likeness up to date with what was bought since."""
        own, mask, terms, likeness = offer.ref, offer.mask, offer.terms, offer.likeness
        for ref, other_mask, other_terms in self._chosen[offer.compared :]:
            shared = (mask & other_mask).bit_count()
            if shared > likeness * (terms + other_terms - shared) and ref != own:
                likeness = shared / (terms + other_terms - shared)
        offer.likeness = likeness
        offer.compared = len(self._chosen)

    # How it is bought.

    def _buy(self, offer: _Offer) -> Purchase | None:
        """Buy an offer, or put it back at a thinner rung, or let it wait, where it is too large for now."""
        if (pair := self._pair(offer)) is not None:
            return self._settle(pair)
        if self._added_tokens(offer) <= self._room():
            return self._settle([offer])
        if offer.aim_lower() or self._cut(offer):
            self._push(offer)
        else:
            self._wait(offer)
        return None

    def _buy_at_any_rung(self, offer: _Offer) -> Purchase | None:
        """Buy an offer out of turn, as full as it may be."""
        if offer.bought >= 0 or offer.waits:
            return None
        self._compare(offer)
        if (pair := self._pair(offer)) is not None:
            return self._settle(pair)
        while self._added_tokens(offer) > self._room():
            if not (offer.aim_lower() or self._cut(offer)):
                self._wait(offer)
                return None
        return self._settle([offer])

    def _room(self) -> float:
        """Return what a purchase may cost now; the first one may fill the smallest budget."""
        least = SMALL_PURCHASE_TOKENS if self._spent else SMALLEST_BUDGET
        return max(least, self._spent * LARGEST_PURCHASE_SHARE)

    def _cut(self, offer: _Offer) -> bool:
        """Offer a shorter cut of the first sentence where the thinnest rung is too long for the smallest budget."""
        if offer.bought >= 0 or offer.is_cut:
            return False
        offer.is_cut = True
        allowed = THINNEST_TOKENS - self._cost.opening(offer.claim.candidate)
        if self._tokens(offer, 0) <= allowed:
            return False
        thinnest = offer.steps[0].size

        def fits(text: str) -> bool:
            item = _item_of(offer.claim, Rung.HEAD, text, offer.utility)
            return byte_length(text) < thinnest and self._cost.item(item) <= allowed

        head = thin_head(offer.claim.candidate, fits)
        if head is None:
            return False
        offer.replace_head(head)
        return True

    def _pair(self, offer: _Offer) -> list[_Offer] | None:
        """Return an offer and the first side of its conflicts that the smallest budget holds beside it, both
        at the fullest rungs that there is room for; None where there is no such side, or one was bought.
        """
        partners = self._partners[offer.ref]
        if offer.bought >= 0 or any(partner.bought >= 0 for partner in partners):
            return None
        for partner in partners:
            sides = [offer, partner]
            if self._price(sides, [0, 0]) <= SMALLEST_BUDGET:
                self._fit(sides)
                return sides
        return None

    def _fit(self, sides: list[_Offer]) -> None:
        """Aim at rungs at which both sides may be bought at once, the longer text lowered first."""
        room = max(self._room(), SMALLEST_BUDGET)
        for side in sides:
            side.aim()
        while self._price(sides, [side.target for side in sides]) > room:
            longer = max(sides, key=lambda side: (side.target > 0, side.steps[side.target].size, side.ref))
            longer.aim_lower()

    def _price(self, offers: Sequence[_Offer], places: Sequence[int]) -> int:
        """Return what offers that are new to the pack cost together at the given rungs."""
        opened = set(self._opened)
        tokens = 0
        for offer, place in zip(offers, places, strict=True):
            tokens += self._tokens(offer, place) + self._cost.opening(offer.claim.candidate, opened)
            opened |= self._cost.headings(offer.claim.candidate).keys()
        return tokens

    def _wait(self, offer: _Offer) -> None:
        offer.entry += 1
        offer.waits = True
        heapq.heappush(self._waiting, (self._added_tokens(offer), offer.ref, offer))

    def _smallest_waiting(self) -> _Offer:
        offer = heapq.heappop(self._waiting)[2]
        offer.waits = False
        return offer

    def _settle(self, offers: Sequence[_Offer]) -> Purchase:
        """Write down a purchase and what follows from it."""
        tokens = sum(map(self._pay, offers))
        purchase = Purchase(items=tuple(map(self._item, offers)), tokens=tokens)
        for offer in offers:
            self._follow_up(offer)
        while self._waiting and (not self._waiting[0][2].waits or self._waiting[0][0] <= self._room()):
            if self._waiting[0][2].waits:
                self._push(self._smallest_waiting())
            else:
                heapq.heappop(self._waiting)
        return purchase

    def _pay(self, offer: _Offer) -> int:
        tokens = self._added_tokens(offer)
        self._spent += tokens
        self._opened |= self._cost.headings(offer.claim.candidate).keys()
        return tokens

    def _follow_up(self, offer: _Offer) -> None:
        is_new, offer.bought, offer.waits = offer.bought < 0, offer.target, False
        if is_new:
            self._chosen.append((offer.ref, offer.mask, offer.terms))
            self._due.extend(self._partners[offer.ref])
            if self._floor and not offer.claim.candidate.protected:
                self._due.append(self._floor.popleft())
        if offer.aim():
            self._push(offer)
        else:
            offer.entry += 1

    def _added_tokens(self, offer: _Offer) -> int:
        """Return what the offered rung costs beyond the one that was bought."""
        tokens = self._tokens(offer, offer.target)
        if offer.bought >= 0:
            return max(0, tokens - self._tokens(offer, offer.bought))
        return tokens + self._cost.opening(offer.claim.candidate, self._opened)

    def _tokens(self, offer: _Offer, place: int) -> int:
        if place not in offer.costs:
            offer.costs[place] = self._cost.item(_bare_item(offer, place))
        return offer.costs[place]

    def _item(self, offer: _Offer) -> Item:
        step = offer.steps[offer.target]
        density = offer.adjusted_utility * step.share / (step.size / BYTES_PER_TOKEN + offer.overhead)
        return replace(
            _bare_item(offer, offer.target),
            tokens=self._tokens(offer, offer.target),
            density=rounded_density(density),
        )


def _bare_item(offer: _Offer, place: int) -> Item:
    """Return the item that a rung makes, as far as it is sent."""
    step = offer.steps[place]
    return _item_of(offer.claim, step.rung, step.text, offer.utility)


def _item_of(claim: Claim, rung: Rung, text: str, utility: float) -> Item:
    return Item(
        candidate=claim.candidate,
        rung=rung,
        text=text,
        tokens=0,
        utility=round(utility, SCORE_DIGITS),
        density=0.0,
        folded_refs=claim.folded_refs,
        source_urls=claim.source_urls,
        occurrences=claim.occurrences,
    )


def _floor(offers: Sequence[_Offer]) -> list[_Offer]:
    """Return the best of the hard rules that every pack carries, matched or not."""
    rules = (
        offer
        for offer in offers
        if offer.claim.candidate.protected and offer.claim.candidate.layer is PackLayer.CONSTRAINTS
    )
    return sorted(rules, key=lambda offer: (-offer.utility, offer.ref))[:FLOOR_ITEMS]


def _partners(offers: Sequence[_Offer]) -> Mapping[str, list[_Offer]]:
    """Return for each ref the other sides of its open conflicts, newest first."""
    by_ref = {offer.ref: offer for offer in offers}
    refs: defaultdict[str, set[str]] = defaultdict(set)
    for offer in offers:
        for other in (offer.claim.candidate.conflicts_with & by_ref.keys()) - {offer.ref}:
            refs[offer.ref].add(other)
            refs[other].add(offer.ref)
    return defaultdict(
        list,
        {
            ref: sorted(
                (by_ref[other] for other in others),
                key=lambda offer: (-offer.claim.candidate.moment.timestamp(), offer.ref),
            )
            for ref, others in refs.items()
        },
    )
