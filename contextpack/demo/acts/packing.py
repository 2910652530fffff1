"""CMP §4 and §5: packs nest as the budget grows, restatements fold, and a tight budget shortens before it drops."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from contextpack.demo.scene import Scene
from contextpack.demo.seeds import REPLACED, RESTATED

BUDGETS: Final = (300, 600, 900, 1_200, 1_800, 2_400, 3_000, 4_000, 6_000, 8_000, 12_000)
FULLNESS: Final = ("head", "summary", "full")

Rows = dict[str, dict[str, Any]]


def play(scene: Scene) -> None:
    scene.report.heading("§4, §5  Packs that nest, claims that fold")
    packs = {
        budget: scene.ask(model="claude", token_budget=budget, format="json").json() for budget in BUDGETS
    }
    rows = {budget: {row["ref"]: row for row in _rows(pack)} for budget, pack in packs.items()}
    scene.report.table(
        ("budget", "used", "items", "shortened", "facts per 1,000"),
        [(budget, *_figures(packs[budget], rows[budget])) for budget in BUDGETS],
    )
    scene.report.check(
        "no pack costs more than its budget",
        all(packs[budget]["budget"]["used"] <= budget for budget in BUDGETS),
    )
    scene.report.check(
        "each budget's pack holds all of the smaller one's", all(map(_nests, pairwise(rows.values())))
    )
    scene.report.check(
        "and none of its items in a shorter form", all(map(_no_shorter, pairwise(rows.values())))
    )
    rules = [any(row["layer"] == "constraints" for row in held.values()) for held in rows.values()]
    scene.report.check("every pack, however small, carries a hard rule", all(rules))
    _folding(scene, rows[BUDGETS[-1]])


def _folding(scene: Scene, rows: Rows) -> None:
    report = scene.report
    told = {scene.refs[key] for key in RESTATED}
    standing = told & rows.keys()
    report.check("a claim told three times is one item", len(standing) == 1, found=len(standing))
    survivor = rows[standing.pop()]
    report.check(
        "which names those folded into it, keeps their sources and counts them",
        set(survivor["folded_refs"]) == told - {survivor["ref"]}
        and len(survivor["source_urls"]) == survivor["occurrences"] == len(told),
        found=survivor,
    )
    folded = {ref for row in rows.values() for ref in row["folded_refs"]}
    report.check("nothing replaced hides among them", scene.refs[REPLACED] not in folded | rows.keys())


def _rows(pack: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for rows in pack["layers"].values():
        yield from rows


def _figures(pack: dict[str, Any], rows: Rows) -> tuple[object, ...]:
    shortened = sum(row["rung"] != "full" for row in rows.values())
    return pack["budget"]["used"], len(rows), shortened, pack["budget"]["distinct_facts_per_1k_tokens"]


def _nests(neighbours: tuple[Rows, Rows]) -> bool:
    smaller, larger = neighbours
    return smaller.keys() <= larger.keys()


def _no_shorter(neighbours: tuple[Rows, Rows]) -> bool:
    smaller, larger = neighbours
    return all(
        FULLNESS.index(larger[ref]["rung"]) >= FULLNESS.index(row["rung"]) for ref, row in smaller.items()
    )
