"""CMP §6: a query only narrows; each knob yields a subset, and what is out of range is refused."""

from itertools import pairwise
from typing import Any, Final

from contextpack.demo.scene import Scene, refs_of
from contextpack.demo.seeds import SEARCH

PAGE: Final = 100
# Neither of these means anything; each must be refused, never clamped or ignored.
REFUSED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("min_relevance=2.5", {"find": SEARCH, "min_relevance": 2.5}),
    ("both ask and find", {"find": SEARCH, "ask": SEARCH}),
    ("neither ask nor find", {"k": 10}),
    ("an unknown layer", {"find": SEARCH, "layers": ["gossip"]}),
    ("an unknown field", {"find": SEARCH, "widen": True}),
)


def play(scene: Scene) -> None:
    scene.report.heading("§6  A query language that can only narrow")
    baseline = _find(scene)
    chain = [baseline, *(_find(scene, min_relevance=least) for least in _thresholds(baseline))]
    for answer in chain:
        _tell(scene, answer)
    _chain(scene, chain)
    layers = _find(scene, layers=["decision"])
    _tell(scene, layers)
    scene.report.check("any other knob narrows as well", set(_refs(layers)) < set(_refs(baseline)))
    _pages(scene, baseline)
    for what, query in REFUSED:
        scene.client.post("/v1/query", query, expect=422)
        scene.report.check(f"{what} is refused (422)", True)


def _find(scene: Scene, **knobs: Any) -> dict[str, Any]:
    answer: dict[str, Any] = scene.client.post("/v1/query", {"find": SEARCH, "k": PAGE, **knobs}).json()
    return answer


def _thresholds(baseline: dict[str, Any]) -> tuple[float, float]:
    """Return two thresholds that about two thirds and one third of the results reach."""
    found = sorted({item["relevance"] for item in baseline["items"]})
    return found[max(1, len(found) // 3)], found[max(2, 2 * len(found) // 3)]


def _tell(scene: Scene, answer: dict[str, Any]) -> None:
    knobs = {knob: value for knob, value in answer["mql"].items() if knob in {"min_relevance", "layers"}}
    told = ", ".join(f"{knob}={value}" for knob, value in knobs.items()) or "no knob"
    scene.report.line(
        f"find, {told}: returned={answer['returned']} "
        f"(narrowed_from={answer['narrowed_from']} narrowed_to={answer['narrowed_to']})"
    )


def _chain(scene: Scene, chain: list[dict[str, Any]]) -> None:
    sizes = " → ".join(str(answer["returned"]) for answer in chain)
    subsets = all(set(_refs(after)) < set(_refs(before)) for before, after in pairwise(chain))
    scene.report.check(f"a higher threshold leaves a true subset: {sizes}", subsets)
    same = len({answer["narrowed_from"] for answer in chain}) == 1
    scene.report.check("all narrow the same retrieval", same)
    removed = {step["knob"]: step["removed"] for step in chain[0]["narrowing"]}
    scene.report.check(
        "the one superseded memory is narrowed away by default", removed == {"valid_only": 1}, found=removed
    )
    least = [answer["mql"].get("min_relevance", 0.0) for answer in chain]
    reached = all(
        item["relevance"] >= bound
        for answer, bound in zip(chain, least, strict=True)
        for item in answer["items"]
    )
    scene.report.check("what is returned reaches the threshold", reached)


def _pages(scene: Scene, baseline: dict[str, Any]) -> None:
    size = max(1, len(baseline["items"]) // 3)
    page = _find(scene, k=size)
    told = _refs(page)
    while page["cursor"]:
        page = _find(scene, k=size, cursor=page["cursor"])
        told += _refs(page)
    scene.report.check(f"pages of {size} tell the same, each result once", told == _refs(baseline))


def _refs(answer: dict[str, Any]) -> list[str]:
    return refs_of(answer["items"])
