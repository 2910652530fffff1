"""Candidates, items, packs and requests with everything defaulted, for tests that need no database."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from contextpack.core.types import (
    Budget,
    Candidate,
    ContextRequest,
    Coverage,
    Item,
    ModelProfile,
    Pack,
    PackFormat,
    PackLayer,
    Rung,
)
from memories.core.kinds import Kind

NOON = datetime(2026, 7, 20, 12, tzinfo=UTC)
CLAUDE = ModelProfile(
    name="claude",
    context_window=200_000,
    pack_token_budget=12_000,
    chars_per_token=3.8,
    weights=(0.58, 0.27, 0.15),
    knapsack=True,
)


def make_ref(number: int) -> str:
    return f"mem_{number:012d}"


def make_candidate(
    number: int = 1, content: str = "The web team owns the site.", **changes: Any
) -> Candidate:
    plain = Candidate(
        ref=make_ref(number),
        content=content,
        layer=PackLayer.FACTS,
        kind=Kind.CLAIM,
        captured_at=NOON,
        source_urls=("https://example.org/notes",),
    )
    return replace(plain, **changes)


def make_item(
    number: int = 1, content: str = "The web team owns the site.", *, rung: Rung = Rung.FULL, **changes: Any
) -> Item:
    candidate = make_candidate(number, content, **changes)
    return Item(
        candidate=candidate,
        rung=rung,
        text=content,
        tokens=20,
        utility=0.5,
        density=0.025,
        source_urls=candidate.source_urls,
    )


def make_pack(*items: Item, status: str = "complete", **changes: Any) -> Pack:
    plain = Pack(items=items, budget=Budget(tokens=3000, used=120), coverage=Coverage(status=status))
    return replace(plain, **changes)


def make_request(**changes: Any) -> ContextRequest:
    plain = ContextRequest(
        task="plan the launch",
        format=PackFormat.SMP,
        model="claude-3-5-sonnet",
        profile=CLAUDE,
        budget=3000,
        now=NOON,
        as_of=NOON,
        known_at=NOON,
    )
    return replace(plain, **changes)
