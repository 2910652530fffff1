"""Whole packs against real tokenizers, in every script and format: what they cost, and what a budget buys (F4, F7)."""

import pytest

from contextpack.core.assembly import assemble
from contextpack.core.profiles import PROFILES
from contextpack.core.rendering import headings_of, item_text
from contextpack.core.tokens import TokenFamily, estimate_tokens, family_of
from contextpack.core.types import Item, Pack, PackFormat, PackLayer, Pool
from tests.core.packs import NOON, make_candidate, make_item, make_request
from tests.core.test_tokens import ORACLES, TEXTS, ratio, texts_of

SPOKEN = [*texts_of("script"), *texts_of("english")]
READERS = [("generic", None), ("gpt", "gpt-4-turbo"), ("gpt", "gpt-4o")]
BUDGET = 2_000
UNDER = 1.10  # what a body may really cost, by the budget
OVER = 1.15  # what a body of English may be said to cost, by its real cost


def body(items: tuple[Item, ...], fmt: PackFormat) -> str:
    """Return the items of a pack as they are sent."""
    headings = {heading.path: heading.text for item in items for heading in headings_of(item.candidate, fmt)}
    return "".join(headings.values()) + "".join(item_text(item, fmt) for item in items)


def pack_of(texts: list[str], fmt: PackFormat, *, profile: str, model: str | None) -> Pack:
    """Assemble a pack from more memories than the budget holds, each with a sentence of its own before a text."""
    candidates = tuple(
        make_candidate(
            number * 7_919,
            f"{number}. {texts[number % len(texts)]}",
            occurred_at=NOON,
            relevance=0.5,
        )
        for number in range(60)
    )
    request = make_request(profile=PROFILES[profile], model=model, format=fmt, budget=BUDGET)
    return assemble(Pool(candidates=candidates), request)


@pytest.mark.parametrize("family", ORACLES)
@pytest.mark.parametrize("fmt", PackFormat)
def test_a_line_of_any_script_is_priced_near_its_real_cost(fmt, family):
    for name in SPOKEN:
        text = item_text(make_item(123_456_789, TEXTS[name], occurred_at=NOON), fmt)
        real = len(ORACLES[family].encode(text))
        assert 0.92 * real <= estimate_tokens(text, family) <= 1.36 * real, name


@pytest.mark.parametrize("family", TokenFamily)
@pytest.mark.parametrize("name", texts_of("pack"))
def test_a_pack_of_any_script_is_priced_near_its_real_cost(name, family):
    assert 0.9 <= ratio(name, family) <= 1.25


@pytest.mark.parametrize("family", TokenFamily)
@pytest.mark.parametrize("fmt", PackFormat)
def test_an_english_pack_is_priced_within_a_tenth_and_not_under(fmt, family):
    assert 0.98 <= ratio(f"pack/english {fmt.value}", family) <= 1.12


@pytest.mark.parametrize(("profile", "model"), READERS)
@pytest.mark.parametrize("fmt", PackFormat)
@pytest.mark.parametrize(
    "script", ["chinese", "japanese", "korean", "thai", "arabic", "russian", "hindi", "emoji", "code"]
)
def test_the_real_cost_of_a_pack_keeps_the_budget(script, fmt, profile, model):
    pack = pack_of([TEXTS[f"script/{script}"]], fmt, profile=profile, model=model)
    encoder = ORACLES[family_of(PROFILES[profile], model)]
    real = len(encoder.encode(body(pack.items, fmt)))
    assert len(pack.items) > 1
    assert real <= pack.budget.used * UNDER <= BUDGET * UNDER


@pytest.mark.parametrize(("profile", "model"), READERS)
@pytest.mark.parametrize("fmt", PackFormat)
def test_a_budget_is_not_wasted_on_english_by_estimating_too_much(fmt, profile, model):
    pack = pack_of([TEXTS[name] for name in texts_of("english")], fmt, profile=profile, model=model)
    encoder = ORACLES[family_of(PROFILES[profile], model)]
    real = len(encoder.encode(body(pack.items, fmt)))
    assert real <= pack.budget.used * 1.03 <= real * OVER
    assert all(item.candidate.layer is PackLayer.FACTS for item in pack.items)
