"""The parts of a memory's page that are drawn: its chain through time, what it is about, what contradicts it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.contrib import admin
from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.utils import timezone

from memories.access import Caller
from memories.admin.charts import Chart, Holder, Node, one_hop, shortened, succession
from memories.admin.linking import list_url, row_url
from memories.admin.texts import texts_by_id
from memories.core.diffing import diff
from memories.models import Conflict, Entity, Memory, Mention
from memories.reading import Step

ENTITIES_DRAWN: Final = 8
NEIGHBOURS_DRAWN: Final = 12
OPEN_SHOWN: Final = 5


# -- The chain -----------------------------------------------------------------------------------


def drawn_chain(memory: Memory, steps: Sequence[Step], texts: Mapping[str, str], *, at: datetime) -> Chart:
    """Draw which memory of a chain the vault held when; one statement."""
    rows = Memory.objects.in_vault(memory.vault_id).filter(ref__in=[step.ref for step in steps])
    began = dict(rows.values_list("ref", "recorded_at"))
    holders = [
        Holder(
            key=step.ref,
            name=texts.get(step.ref) or step.ref,
            began_at=began[step.ref],
            ended_at=step.at,
            after=step.superseded_by,
            tone=_tone(step, memory),
            href=row_url(Memory, memory.vault_id, step.ref),
            note="" if step.at is None else f"Replaced {step.at:%Y-%m-%d %H:%M}",
        )
        for step in steps
        if step.ref in began
    ]
    heads = sum(holder.after is None for holder in holders)
    label = f"{len(holders)} memories in each other's place, oldest first; {heads} current"
    return succession(holders, until=at, label=label)


def _tone(step: Step, memory: Memory) -> str:
    if step.ref == memory.ref:
        return "blue"
    return "green" if step.superseded_by is None else "grey"


# -- What it is about ----------------------------------------------------------------------------


def drawn_neighbours(memory: Memory, entities: Sequence[Entity], text: str) -> Chart | None:
    """Draw a memory's entities, the rarest ones, and the current memories that share most of them; four statements."""
    if not entities:
        return None
    vault_id = memory.vault_id
    mentions = Mention.objects.filter(vault_id=vault_id)
    counts = dict(
        mentions.filter(entity_id__in=[entity.pk for entity in entities])
        .values_list("entity_id")
        .annotate(Count("pk"))
        .order_by()
    )
    near = sorted(entities, key=lambda entity: (counts.get(entity.pk, 0), entity.name))[:ENTITIES_DRAWN]
    places = {entity.pk: place for place, entity in enumerate(near)}
    far = _neighbours(memory, list(places))
    others = {pk: place for place, pk in enumerate(far)}
    pairs = mentions.filter(memory_id__in=far, entity_id__in=places).values_list("entity_id", "memory_id")
    texts = texts_by_id(vault_id, far)
    return one_hop(
        Node(name="This memory"),
        [Node(name=entity.name, href=row_url(Entity, vault_id, entity.ref)) for entity in near],
        [Node(name=texts[pk]["text"], href=row_url(Memory, vault_id, texts[pk]["ref"])) for pk in far],
        sorted((places[entity], others[other]) for entity, other in pairs),
        label=f"What “{shortened(text, 60)}” is about, and the memories that share it",
        head=("About", "Other memories about it"),
    )


def _neighbours(memory: Memory, entities: Sequence[int]) -> list[int]:
    rows = Mention.objects.filter(
        vault_id=memory.vault_id,
        entity_id__in=entities,
        memory__vault_id=memory.vault_id,
        memory__superseded_by__isnull=True,
        memory__redacted_at__isnull=True,
    ).exclude(memory_id=memory.pk)
    shared = rows.values("memory_id").annotate(shared=Count("pk"), last=Max("memory__captured_at"))
    ordered = shared.order_by("-shared", "-last", "memory_id")[:NEIGHBOURS_DRAWN]
    return [row["memory_id"] for row in ordered]


# -- What contradicts it -------------------------------------------------------------------------


def open_beside(request: HttpRequest, caller: Caller, memory: Memory) -> dict[str, Any]:
    """Return the open conflicts of a memory with the other side's text and what differs; two statements."""
    either = Q(left_id=memory.pk) | Q(right_id=memory.pk)
    rows = Conflict.objects.filter(either, vault_id=memory.vault_id, resolved_at__isnull=True)
    shown = list(rows.order_by("-detected_at", "pk")[:OPEN_SHOWN])
    others = {c.pk: c.right_id if c.left_id == memory.pk else c.left_id for c in shown}
    told = Memory.objects.visible_to(caller).filter(pk__in=others.values()).defer("term_hashes")
    sides = {row.pk: row for row in told}
    page: Any = admin.site._registry[Conflict]
    return {
        "open_conflicts": [_pair(memory, conflict, sides.get(others[conflict.pk])) for conflict in shown],
        "resolve_url": list_url(Conflict, memory.vault_id),
        "may_resolve": page.has_decide_permission(request),
    }


def _pair(memory: Memory, conflict: Conflict, other: Memory | None) -> dict[str, Any]:
    now = timezone.now()
    is_told = other is not None and not any(
        side.redacted_at is not None or (side.expires_at is not None and side.expires_at <= now)
        for side in (memory, other)
    )
    changes = diff(memory.content, other.content) if other is not None and is_told else []
    ours, theirs = ("left", "right") if conflict.left_id == memory.pk else ("right", "left")
    return {
        "conflict": conflict,
        "other": other,
        "is_told": is_told,
        "ours": [change for change in changes if change.op != "insert"],
        "theirs": [change for change in changes if change.op != "delete"],
        "keep_ours": f"keep_{ours}",
        "keep_theirs": f"keep_{theirs}",
    }
