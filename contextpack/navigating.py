"""From a ref onwards: the whole document, the neighbours through shared entities, or more of a query (CMP §7)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db.models import Count

from contextpack.core.envelope import project_memory_object
from contextpack.core.mql import Expand
from contextpack.core.types import PackLayer
from contextpack.items import whole_item
from contextpack.querying import continue_query
from contextpack.retrieval import load_candidates
from cortex.errors import NotHere
from memories.access import Caller
from memories.models import Capture, Entity, Memory, Mention
from memories.showing import memory_document
from memories.wire import capture_as_wire

NEIGHBOUR_LIMIT: Final = 20
CAPTURE_REF_PREFIX: Final = "cap_"


def expand(caller: Caller, *, ref: str, direction: Expand, now: datetime) -> dict[str, Any]:
    """Follow a ref in one direction.

    Args:
        ref: a memory's or a capture's, or the `mqlc:` cursor of a query for `more`.
    Returns: `document` and `items`, empty where nothing lies that way or where it may not be told.
    Raises: NotHere for a ref that the caller has none of; for `more` also what a cursor raises.
    """
    if direction is Expand.MORE:
        return {
            "ref": ref,
            "direction": direction.value,
            "document": None,
            **continue_query(caller, ref, now=now),
        }
    if ref.startswith(CAPTURE_REF_PREFIX):
        capture = _find_capture(caller, ref)
        shown = direction is Expand.DOCUMENT and _may_be_told(caller, capture, now=now)
        return _answer(ref, direction, document=capture_as_wire(capture) if shown else None)
    memory = Memory.objects.visible_to(caller).filter(ref=ref).first()
    if memory is None:
        raise NotHere
    if not Memory.objects.visible_to(caller).servable(now).filter(ref=ref).exists():
        return _answer(ref, direction)
    if direction is Expand.DOCUMENT:
        return _answer(ref, direction, document=memory_document(caller, memory), refs=[ref], caller=caller)
    return _neighbours(caller, memory, now=now)


def _answer(
    ref: str,
    direction: Expand,
    *,
    document: Mapping[str, Any] | None = None,
    refs: list[str] | None = None,
    caller: Caller | None = None,
    entities: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    shown: list[Any] = []
    if refs and caller:
        found = load_candidates(caller, matches={}, standing=dict.fromkeys(refs, PackLayer.FACTS))
        shown = [project_memory_object(whole_item(candidate)) for candidate in found if candidate.source_urls]
    return {
        "ref": ref,
        "direction": direction.value,
        "document": document,
        "items": shown,
        "entities": entities or [],
        "cursor": None,
    }


def _find_capture(caller: Caller, ref: str) -> Capture:
    capture = Capture.objects.filter(vault_id=caller.vault.pk, ref=ref).first()
    if capture is None or not caller.sees(capture.project):
        raise NotHere
    return capture


def _may_be_told(caller: Caller, capture: Capture, *, now: datetime) -> bool:
    """Tell whether a capture's text may be served: it holds that of every memory which cites it."""
    vault_id = caller.vault.pk
    citing = Memory.objects.in_vault(vault_id).filter(
        sources__vault_id=vault_id, sources__capture_id=capture.pk
    )
    served = Memory.objects.visible_to(caller).servable(now)
    return not citing.exclude(pk__in=served.values("pk")).exists()


def _neighbours(caller: Caller, memory: Memory, *, now: datetime) -> dict[str, Any]:
    """What shares an entity with a memory and is served and true now; the more they share the earlier it comes."""
    vault_id = caller.vault.pk
    about = Mention.objects.filter(vault_id=vault_id, memory_id=memory.pk).values_list("entity_id", flat=True)
    entity_ids = list(about)
    near = (
        Memory.objects.visible_to(caller)
        .servable(now)
        .current_as_of(now, known_at=now)
        .filter(mentions__vault_id=vault_id, mentions__entity_id__in=entity_ids)
        .exclude(pk=memory.pk)
        .annotate(shared=Count("mentions"))
        .order_by("-shared", "-captured_at", "-pk")
        .values_list("ref", flat=True)[:NEIGHBOUR_LIMIT]
    )
    named = Entity.objects.filter(vault_id=vault_id, pk__in=entity_ids).order_by("name", "pk")
    entities = [{"id": ref, "name": name} for ref, name in named.values_list("ref", "name")]
    return _answer(memory.ref, Expand.NEIGHBORS, refs=list(near), caller=caller, entities=entities)
