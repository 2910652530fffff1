"""CMP §1 and §2: the envelope explains itself, and every item says where it comes from and why it is here."""

import json
from datetime import datetime
from typing import Any, Final

from contextpack.demo.protocol import (
    ENVELOPE_KEYS,
    ITEM_KEYS,
    PACK_LAYERS,
    RELEVANCE_BASES,
    RETRIEVERS,
    RULES,
    SECURITY,
    WHY_KEYS,
)
from contextpack.demo.scene import Scene, refs_of
from contextpack.demo.seeds import REPLACED, TASK

BUDGET: Final = 11_000


def play(scene: Scene) -> None:
    scene.report.heading("§1, §2  An envelope that explains itself")
    envelope = scene.ask(model="claude", token_budget=BUDGET).json()
    scene.shown["example_smp_claude"] = envelope
    _envelope(scene, envelope)
    _items(scene, envelope["items"])
    first = envelope["items"][0]
    scene.report.line("the first item:")
    for line in json.dumps(first, indent=2, ensure_ascii=False).splitlines():
        scene.report.line(f"  {line}")


def _envelope(scene: Scene, envelope: dict[str, Any]) -> None:
    report, legend = scene.report, envelope["legend"]
    report.check(
        "the envelope has exactly the protocol's keys", tuple(envelope) == ENVELOPE_KEYS, found=list(envelope)
    )
    report.check("the legend describes each of them", tuple(legend["envelope"]) == ENVELOPE_KEYS)
    report.check("the legend describes each field of an item", tuple(legend["item"]) == ITEM_KEYS)
    report.check("its four rules are the protocol's, word for word", tuple(legend["rules"]) == RULES)
    report.check("it says that memory text is data", legend["security"] == SECURITY)
    report.check(
        "what is unused is there and null",
        all(envelope[key] is None for key in ("working_memory", "graph", "pin")),
    )
    known = scene.ask(model="claude", token_budget=BUDGET, legend=False).json()
    report.check(
        "a client that knows the legend may leave it out, and nothing else changes",
        known["legend"] is None and known["items"] == envelope["items"],
    )


def _items(scene: Scene, items: list[dict[str, Any]]) -> None:
    report = scene.report
    report.check(f"each of the {len(items)} items has exactly the typed fields", all(map(_is_typed, items)))
    report.check("each says why it is here, in words of the task", all(map(_says_why, items)))
    report.check("each cites its source", all(item["source_url"] for item in items))
    report.check("no memory comes twice", len(set(refs_of(items))) == len(items))
    report.check("what was replaced is not served", scene.refs[REPLACED] not in refs_of(items))
    report.check("its successor is", scene.refs["status-page-new"] in refs_of(items))
    unscored = [item for item in items if item["relevance"] is None]
    report.check(
        f"where nothing was scored, relevance is null ({len(unscored)} items)",
        all(item["why"]["fused_rank"] is None and item["relevance_basis"] is None for item in unscored),
    )


def _is_typed(item: dict[str, Any]) -> bool:
    return (
        tuple(item) == ITEM_KEYS
        and item["layer"] in PACK_LAYERS
        and item["relevance_basis"] in RELEVANCE_BASES
        and _is_share(item["relevance"])
        and _is_share(item["confidence"])
        and datetime.fromisoformat(item["occurred_at"]).tzinfo is not None
        and isinstance(item["entities"], list)
    )


def _is_share(value: float | None) -> bool:
    return value is None or 0.0 <= value <= 1.0


def _says_why(item: dict[str, Any]) -> bool:
    why, task = item["why"], TASK.lower()
    return (
        tuple(why) == WHY_KEYS
        and bool(why["retrievers"])
        and RETRIEVERS.issuperset(why["retrievers"])
        and all(word in task for word in why["matched_terms"])
    )
