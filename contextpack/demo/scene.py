"""What every act plays on: the server, a client of it, the report, and the refs of what was written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextpack.demo.client import Client, Reply
from contextpack.demo.report import Report
from contextpack.demo.seeds import REPLACED, SEEDS, SUCCESSOR, TASK, Seed


@dataclass(slots=True, kw_only=True)
class Scene:
    client: Client
    report: Report
    began_at: datetime
    refs: dict[str, str] = field(default_factory=dict)  # a seed's key → its memory's ref
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)  # an example's name → the envelope

    def ask(self, *, expect: int = 200, **parameters: Any) -> Reply:
        """Call `/v1/context`, for the demo's own task unless another is named."""
        return self.client.post("/v1/context", {"task": TASK, "format": "smp", **parameters}, expect=expect)


def write_memories(scene: Scene) -> None:
    """Write the seeds one by one, as an agent would, and replace the one that is no longer true."""
    for seed in SEEDS:
        reply = scene.client.post("/v1/memories", seed.as_wire(scene.began_at), expect=201)
        scene.refs[seed.key] = reply.json()["ref"]
    replace_memory(scene, REPLACED, SUCCESSOR, reason="the page moved after the outage")
    scene.report.line(f"{len(SEEDS)} memories written, one of them replaced by a newer one")


def replace_memory(scene: Scene, key: str, successor: Seed, *, reason: str) -> str:
    """Supersede the memory of one seed by another; return the successor's ref."""
    body = {**successor.as_wire(scene.began_at), "reason": reason}
    reply = scene.client.post(f"/v1/memories/{scene.refs[key]}/supersede", body, expect=201)
    scene.refs[successor.key] = reply.json()["ref"]
    return scene.refs[successor.key]


def refs_of(items: Sequence[Mapping[str, Any]]) -> list[str]:
    return [item["ref"] for item in items]
