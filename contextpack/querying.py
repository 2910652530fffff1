"""The Memory Query Language answered: retrieve once, then only remove.

Retrieval and relevance come before the knobs, each knob takes rows away, and the page is cut last. So a narrower
query is a subset of a wider one, and no nearer row crowds out what it asks for. `as_of` and `known_at` do more than
that: they are also the moments at which `valid_only` judges and for which `ask` packs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from contextpack.core.assembly import assemble
from contextpack.core.envelope import model_block, project_memory_object
from contextpack.core.mql import Mql, Narrowing, as_wire, follow_ups, narrow, parse_mql
from contextpack.core.profiles import clamp_budget, resolve_profile
from contextpack.core.types import ContextRequest, Item, PackFormat
from contextpack.core.weights import QUERY_SHARE
from contextpack.filters import Moments, MqlFilter, turned_knobs
from contextpack.items import whole_item
from contextpack.paging import QUERY, QUERY_PREFIX
from contextpack.retrieval import Match, gather_candidates, load_candidates, newest_first, rank, universe_of
from cortex.api.pagination import query_digest, read_cursor, write_cursor
from cortex.errors import Unparsable
from memories.access import Caller
from memories.catalogue import catalogue_of
from memories.models import Memory

REMEMBERED_REFS: Final = 8  # of those shown; a page begins behind one of them even if the others went


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """Where a query stands: when it is asked, at which moment it began, and what earlier pages showed.

    What was written since it began is not part of it; what may be served at all is judged by the present.
    """

    now: datetime
    began_at: datetime
    offset: int = 0
    after: tuple[str, ...] = ()  # the refs that were shown last

    def start_in(self, kept: Sequence[str]) -> int:
        """Return where this page begins: behind the last row shown that is still there."""
        places = {ref: place for place, ref in enumerate(kept)}
        return next((places[ref] + 1 for ref in reversed(self.after) if ref in places), self.offset)

    def behind(self, told: Sequence[str], *, end: int) -> "_Page":
        return replace(self, offset=end, after=(*self.after, *told)[-REMEMBERED_REFS:])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What a query retrieved and kept, before a page is cut from it."""

    kept: Sequence[str]
    start: int  # where the page begins in `kept`
    retrieved: int
    narrowing: Sequence[Narrowing]
    items: Mapping[str, Item]  # filled for the page alone
    extra: Mapping[str, Any]


def answer_query(caller: Caller, mql: Mql, *, now: datetime) -> dict[str, Any]:
    """Answer a parsed query with one page of memory objects.

    Raises: Unparsable, NotHere or Unprocessable where its cursor does not fit.
    """
    page = _page_of(caller, mql, now)
    mql = replace(mql, cursor=None)
    result = _ask(caller, mql, page) if mql.ask is not None else _find(caller, mql, page)
    end = result.start + mql.k
    told = result.kept[result.start : end]
    shown = [result.items[ref] for ref in told if ref in result.items]
    cursor = _cursor(caller, mql, page.behind(told, end=end)) if end < len(result.kept) else None
    return {
        "mql": as_wire(mql),
        "items": [project_memory_object(item) for item in shown],
        "returned": len(shown),
        "narrowed_from": result.retrieved,
        "narrowed_to": len(result.kept),
        "narrowing": list(result.narrowing),
        "cursor": cursor,
        "follow_ups": follow_ups([item.ref for item in shown], mql, cursor=cursor),
        **result.extra,
    }


def continue_query(caller: Caller, cursor: str, *, now: datetime) -> dict[str, Any]:
    """Answer the next page of whatever query a cursor belongs to.

    Raises: Unparsable or NotHere.
    """
    query, _ = _open_cursor(caller, cursor)
    return answer_query(caller, parse_mql({**query, "cursor": cursor}), now=now)


# -- The two modes -------------------------------------------------------------------------------


def _find(caller: Caller, mql: Mql, page: _Page) -> _Result:
    served = Memory.objects.visible_to(caller).servable(page.now).known_at(page.began_at)
    catalogue = catalogue_of(caller.vault.pk)
    rows = newest_first(catalogue, served)
    universe = universe_of(caller, catalogue, rows, known_at=page.began_at)
    today = page.began_at.astimezone(UTC).date()
    ranking = rank(caller, mql.text, universe=universe, today=today, least_share=QUERY_SHARE, hops=False)
    matches = ranking.matches
    kept, narrowing = _narrowed(caller, mql, page, {match.ref: match.relevance for match in matches})
    start = page.start_in(kept)
    return _Result(
        kept=kept,
        start=start,
        retrieved=len(matches),
        narrowing=narrowing,
        items=_items(caller, matches, kept[start : start + mql.k]),
        extra={},
    )


def _ask(caller: Caller, mql: Mql, page: _Page) -> _Result:
    request = _context_request(mql, page)
    pack = assemble(gather_candidates(caller, request), request)
    items = {item.ref: item for item in pack.items}
    relevances = {ref: item.candidate.relevance or 0.0 for ref, item in items.items()}
    kept, narrowing = _narrowed(caller, mql, page, relevances)
    budget = {"tokens": pack.budget.tokens, "used": pack.budget.used}
    return _Result(
        kept=kept,
        start=page.start_in(kept),
        retrieved=len(items),
        narrowing=narrowing,
        items=items,
        extra={"model": model_block(request), "budget": budget},
    )


def _context_request(mql: Mql, page: _Page) -> ContextRequest:
    profile = resolve_profile(mql.model)
    return ContextRequest(
        task=mql.text,
        format=PackFormat.SMP,
        model=mql.model,
        profile=profile,
        budget=clamp_budget(mql.budget_tokens, profile),
        now=page.now,
        as_of=mql.as_of or page.began_at,
        known_at=mql.known_at or page.began_at,
    )


def _narrowed(
    caller: Caller, mql: Mql, page: _Page, relevances: Mapping[str, float]
) -> tuple[list[str], list[Narrowing]]:
    """Apply each knob in turn; one statement for each that looks at rows."""
    knobs = MqlFilter(
        queryset=Memory.objects.visible_to(caller),
        vault_id=caller.vault.pk,
        moments=Moments(as_of=mql.as_of or page.began_at, known_at=mql.known_at or page.began_at),
    )
    predicates: dict[str, Callable[[str], bool]] = {
        knob: knobs.kept_by(knob, value).__contains__ for knob, value in turned_knobs(mql).items()
    }
    if mql.min_relevance is not None:
        least = mql.min_relevance
        predicates["min_relevance"] = lambda ref: relevances[ref] >= least
    return narrow(list(relevances), predicates)


def _items(caller: Caller, matches: Sequence[Match], refs: Sequence[str]) -> dict[str, Item]:
    wanted = frozenset(refs)
    found = load_candidates(
        caller, matches={match.ref: match for match in matches if match.ref in wanted}, standing={}
    )
    return {candidate.ref: whole_item(candidate) for candidate in found if candidate.source_urls}


# -- Pages ---------------------------------------------------------------------------------------


def _page_of(caller: Caller, mql: Mql, now: datetime) -> _Page:
    if mql.cursor is None:
        return _Page(now=now, began_at=now)
    _, place = _open_cursor(caller, mql.cursor, query=_identity(mql))
    return _Page(now=now, **place)


def _identity(mql: Mql) -> str:
    """Name a query; how many rows a page shows and what it suggests do not change which query it is."""
    return query_digest({**as_wire(mql), "cursor": None, "k": None, "expand": None})


def _cursor(caller: Caller, mql: Mql, page: _Page) -> str:
    state = {
        "query": as_wire(mql),
        "began_at": page.began_at.isoformat(),
        "offset": page.offset,
        "after": list(page.after),
    }
    return QUERY_PREFIX + write_cursor(
        QUERY, vault_id=caller.vault.pk, holder=caller.actor, query=_identity(mql), state=state
    )


def _open_cursor(
    caller: Caller, cursor: str, *, query: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the query that a cursor continues, and where it goes on.

    Raises: Unparsable, NotHere or Unprocessable where it does not fit.
    """
    if not cursor.startswith(QUERY_PREFIX):
        raise Unparsable("the cursor is none that this server gave", errors={"cursor": "not a cursor"})
    state = read_cursor(
        cursor.removeprefix(QUERY_PREFIX), QUERY, vault_id=caller.vault.pk, holder=caller.actor, query=query
    )
    place = {
        "began_at": datetime.fromisoformat(state["began_at"]),
        "offset": state["offset"],
        "after": tuple(state["after"]),
    }
    return state["query"], place
