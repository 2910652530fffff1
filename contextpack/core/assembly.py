"""From what retrieval found to a finished pack: value, fold, order, pack, arrange, account (CMP §3 to §5)."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from contextpack.core.folding import Claim, as_claim, fold_claims
from contextpack.core.greedy import pack_by_layer
from contextpack.core.knapsack import pack_by_density
from contextpack.core.packing import Packing, Path, Tariff
from contextpack.core.ranking import layer_priors, layer_shares
from contextpack.core.rendering import headings_of, item_text
from contextpack.core.tokens import TokenFamily, estimate_tokens, family_of
from contextpack.core.types import (
    Budget,
    Candidate,
    ContextRequest,
    Coverage,
    Fate,
    Heading,
    Item,
    Pack,
    PackFormat,
    PackLayer,
    Pool,
)

FACTS_DIGITS: Final = 2
# What an item costs beside its text, and what reading one more is worth sparing.
OVERHEAD_TOKENS: Final[Mapping[PackFormat, int]] = {
    PackFormat.MARKDOWN: 15,
    PackFormat.SMP: 130,
    PackFormat.JSON: 180,
}


def assemble(pool: Pool, request: ContextRequest) -> Pack:
    """Select what a model should read for a task, within the request's budget.

    Args:
        pool: cited, current candidates, each ref once, in any order.
        request: fully resolved; recency is measured from its `as_of`.
    Returns: a pack with used <= tokens. What earlier pages carried is neither packed again nor offered. Equal
        inputs give equal packs.
    Source: CMP §3 to §5; paging, coverage and nesting: docs/wire.md, Asking.
    """
    prices = _Prices(request.format, family_of(request.profile, request.model))
    claims = fold_claims(pool.candidates) if request.profile.knapsack else _unfolded(pool)
    offered = [claim for claim in claims if claim.ref not in request.already_sent]
    packing = _pack(offered, request, prices.tariff())
    items = _in_send_order(packing.items)
    used = min(packing.used, prices.of_all(items))
    return Pack(
        items=items,
        budget=Budget(
            tokens=request.budget,
            used=used,
            content_tokens=prices.of_content(items),
        ),
        coverage=_coverage(pool, claims, packing),
        fates=tuple(_fates(claims, packing, request.already_sent)),
        left_out=tuple(missed.claim.ref for missed in packing.missed),
        distinct_facts_per_1k_tokens=round(len(items) * 1_000 / used, FACTS_DIGITS) if used else 0.0,
        stated=pool.stated,
    )


def _unfolded(pool: Pool) -> tuple[Claim, ...]:
    return tuple(map(as_claim, pool.candidates))


# -- Packing -------------------------------------------------------------------------------------


def _pack(claims: Sequence[Claim], request: ContextRequest, cost: Tariff) -> Packing:
    priors = layer_priors(request.task)
    if request.profile.knapsack:
        return pack_by_density(
            claims, request.budget, profile=request.profile, now=request.as_of, priors=priors, cost=cost
        )
    return pack_by_layer(
        claims,
        request.budget,
        shares=layer_shares(request.task),
        profile=request.profile,
        now=request.as_of,
        priors=priors,
        cost=cost,
    )


class _Prices:
    """What items cost in one format, each written out once."""

    def __init__(self, fmt: PackFormat, family: TokenFamily) -> None:
        self._format = fmt
        self._family = family
        self._texts: dict[tuple[str, str], str] = {}
        self._headings: dict[Hashable, Mapping[Path, int]] = {}

    def tariff(self) -> Tariff:
        return Tariff(item=self.of_item, headings=self.of_headings, overhead=OVERHEAD_TOKENS[self._format])

    def of_item(self, item: Item) -> int:
        return estimate_tokens(self._text(item), self._family)

    def of_headings(self, candidate: Candidate) -> Mapping[Path, int]:
        key = (candidate.layer, candidate.conflicted, candidate.occurred_at)
        if key not in self._headings:
            self._headings[key] = {
                heading.path: estimate_tokens(heading.text, self._family)
                for heading in headings_of(candidate, self._format)
            }
        return self._headings[key]

    def of_all(self, items: Sequence[Item]) -> int:
        """Price the items as one text, where no part is rounded up by itself."""
        headings = {heading.path: heading.text for heading in self._headings_of_all(items)}
        return estimate_tokens("".join(chain(headings.values(), map(self._text, items))), self._family)

    def _headings_of_all(self, items: Sequence[Item]) -> Iterator[Heading]:
        return chain.from_iterable(headings_of(item.candidate, self._format) for item in items)

    def of_content(self, items: Sequence[Item]) -> int:
        return sum(estimate_tokens(item.text, self._family) for item in items)

    def _text(self, item: Item) -> str:
        key = (item.ref, item.text)
        if key not in self._texts:
            self._texts[key] = item_text(item, self._format)
        return self._texts[key]


# -- Sending -------------------------------------------------------------------------------------


def _in_send_order(items: Sequence[Item]) -> tuple[Item, ...]:
    """Put the most useful first, and beside each the other sides of its conflicts, the newest first."""
    ranked = sorted(items, key=lambda item: (-item.utility, item.ref))
    by_ref = {item.ref: item for item in ranked}
    ordered: dict[str, Item] = {}
    for item in ranked:
        for ref in _sides(item, by_ref):
            ordered.setdefault(ref, by_ref[ref])
    return tuple(ordered.values())


def _sides(item: Item, by_ref: Mapping[str, Item]) -> list[str]:
    """Return the refs of all packed items that an item's conflicts reach, the newest first."""
    reached = {item.ref}
    ahead = [item]
    while ahead:
        for ref in (ahead.pop().candidate.conflicts_with & by_ref.keys()) - reached:
            reached.add(ref)
            ahead.append(by_ref[ref])
    return sorted(reached, key=lambda ref: (-by_ref[ref].candidate.moment.timestamp(), ref))


# -- Accounting ----------------------------------------------------------------------------------


def _coverage(pool: Pool, claims: Sequence[Claim], packing: Packing) -> Coverage:
    having = {item.candidate.layer for item in packing.items}
    offering = {missed.claim.candidate.layer for missed in packing.missed}
    return Coverage(
        status=_status(pool, packing),
        layers_with_evidence=tuple(layer for layer in PackLayer if layer in having),
        excluded_uncited=pool.excluded_uncited,
        deduped=sum(len(claim.folded_refs) for claim in claims),
        pending_excluded=pool.pending_excluded,
        sections_omitted=tuple(layer for layer in PackLayer if layer in offering - having),
    )


def _status(pool: Pool, packing: Packing) -> str:
    if not pool.stocked or (pool.relevant and not pool.candidates):
        return "empty"
    if not pool.relevant:
        return "weak"
    return "usable" if packing.missed or pool.more else "complete"


def _fates(claims: Sequence[Claim], packing: Packing, already_sent: frozenset[str]) -> Iterator[Fate]:
    """Yield what became of each candidate: the packed ones, the outbid ones best first, the rest."""
    for item in packing.items:
        yield Fate(
            ref=item.ref, outcome="packed", utility=item.utility, density=item.density, tokens=item.tokens
        )
    for missed in packing.missed:
        yield Fate(
            ref=missed.claim.ref,
            outcome="outbid",
            utility=missed.utility,
            density=missed.density,
            tokens=missed.tokens,
            short_by=missed.short_by,
        )
    yield from (Fate(ref=ref, outcome="already_sent") for ref in sorted(already_sent))
    for claim in claims:
        yield from (
            Fate(ref=ref, outcome="folded_into", into=claim.ref)
            for ref in claim.folded_refs
            if ref not in already_sent
        )
