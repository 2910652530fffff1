"""From a ref onwards: the whole document, the neighbours through shared entities, or more of a query (CMP §7)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Count

from contextpack.core.envelope import project_memory_object
from contextpack.core.mql import Expand
from contextpack.core.types import PackLayer
from contextpack.items import whole_item
from contextpack.querying import continue_query
from contextpack.retrieval import load_candidates
from cortex.errors import NotHere, Unprocessable
from memories.access import Caller
from memories.models import Capture, Entity, Memory, Mention
from memories.showing import memory_document
from memories.wire import capture_as_wire

NEIGHBOUR_LIMIT: Final = 20
CAPTURE_REF_PREFIX: Final = "cap_"


def expand(
    caller: Caller,
    *,
    ref: str,
    direction: Expand,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    now: datetime,
) -> dict[str, Any]:
    """Follow a ref in one direction.

    Args:
        ref: a memory's or a capture's, or the `mqlc:` cursor of a query for `more`, which has moments of its own.
        as_of: neighbours that were true then, and no document of what was not.
        known_at: by what the vault knew then: neither what was recorded later nor later news of it.
    Returns: `document` and `items`, empty where nothing lies that way or where it may not be told.
    Raises: NotHere for a ref that the caller has none of; for `more` also what a cursor raises.
    """
    if direction is Expand.MORE:
        _refuse_moments(as_of, known_at)
        return {
            "ref": ref,
            "direction": direction.value,
            "document": None,
            **continue_query(caller, ref, now=now),
        }
    if ref.startswith(CAPTURE_REF_PREFIX):
        capture = _find_capture(caller, ref)
        taken_down = known_at is None or capture.captured_at <= known_at
        shown = direction is Expand.DOCUMENT and taken_down and _may_be_told(caller, capture, now=now)
        return _answer(ref, direction, document=capture_as_wire(capture) if shown else None)
    memory = Memory.objects.visible_to(caller).filter(ref=ref).first()
    if memory is None:
        raise NotHere
    told = Memory.objects.visible_to(caller).servable(now).known_at(known_at or now)
    if as_of is not None:
        told = told.true_as_of(as_of)
    if not told.filter(ref=ref).exists():
        return _answer(ref, direction)
    if direction is Expand.DOCUMENT:
        document = memory_document(caller, memory)
        if known_at is not None:
            document = _as_known(document, known_at)
        return _answer(ref, direction, document=document, refs=[ref], caller=caller)
    return _neighbours(caller, memory, as_of=as_of or now, known_at=known_at or now, now=now)


def expand_as_asked(caller: Caller, asked: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
    """Answer what `ExpandSerializer` read."""
    return expand(
        caller,
        ref=asked["ref"],
        direction=Expand(asked["direction"]),
        as_of=asked.get("as_of"),
        known_at=asked.get("known_at"),
        now=now,
    )


def _refuse_moments(as_of: datetime | None, known_at: datetime | None) -> None:
    """Raises: Unprocessable."""
    named = [name for name, moment in (("as_of", as_of), ("known_at", known_at)) if moment is not None]
    if named:
        raise Unprocessable(
            "the next page is read at the moments of the first", errors=dict.fromkeys(named, "not with more")
        )


def _as_known(document: Mapping[str, Any], known_at: datetime) -> dict[str, Any]:
    """Leave out of a document what the vault learnt later: successors, sources, conflicts and how these ended."""
    chain = _chain_known(document["chain"], document["ref"], known_at)
    successor = next((step["superseded_by"] for step in chain if step["ref"] == document["ref"]), None)
    conflicts = [
        {**conflict, "resolved_at": None, "resolution": None, "resolved_by": None}
        if _is_later(conflict["resolved_at"], known_at)
        else conflict
        for conflict in document["conflicts"]
        if not _is_later(conflict["detected_at"], known_at)
    ]
    sources = [source for source in document["sources"] if not _is_later(source["added_at"], known_at)]
    return {
        **document,
        "chain": chain,
        "superseded_by": successor,
        "conflicts": conflicts,
        "sources": sources,
        "source_urls": [source["url"] for source in sources],
    }


def _chain_known(chain: Sequence[Mapping[str, Any]], ref: str, known_at: datetime) -> list[dict[str, Any]]:
    """Return the part of a history, oldest first, that was known at a moment; empty where it has none by then."""
    place = next((at for at, step in enumerate(chain) if step["ref"] == ref), len(chain))
    following = list[dict[str, Any]]()
    for step in chain[place:]:
        if _is_later(step["at"], known_at):
            following.append({**step, "superseded_by": None, "reason": "", "actor": None, "at": None})
            break
        following.append(dict(step))
    reached, preceding = {ref}, list[dict[str, Any]]()
    for step in reversed(chain[:place]):  # whatever replaced a step comes before it
        if step["superseded_by"] in reached and not _is_later(step["at"], known_at):
            reached.add(step["ref"])
            preceding.append(dict(step))
    line = [*reversed(preceding), *following]
    return line if len(line) > 1 or any(step["superseded_by"] for step in line) else []


def _is_later(moment: str | None, than: datetime) -> bool:
    return moment is not None and datetime.fromisoformat(moment) > than


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


def _neighbours(
    caller: Caller, memory: Memory, *, as_of: datetime, known_at: datetime, now: datetime
) -> dict[str, Any]:
    """What shares an entity with a memory, is served now and was true and known then; what shares most comes first."""
    vault_id = caller.vault.pk
    about = Mention.objects.filter(vault_id=vault_id, memory_id=memory.pk).values_list("entity_id", flat=True)
    entity_ids = list(about)
    near = (
        Memory.objects.visible_to(caller)
        .servable(now)
        .current_as_of(as_of, known_at=known_at)
        .filter(mentions__vault_id=vault_id, mentions__entity_id__in=entity_ids)
        .exclude(pk=memory.pk)
        .annotate(shared=Count("mentions"))
        .order_by("-shared", "-captured_at", "-pk")
        .values_list("ref", flat=True)[:NEIGHBOUR_LIMIT]
    )
    named = Entity.objects.filter(vault_id=vault_id, pk__in=entity_ids).order_by("name", "pk")
    entities = [{"id": ref, "name": name} for ref, name in named.values_list("ref", "name")]
    return _answer(memory.ref, Expand.NEIGHBORS, refs=list(near), caller=caller, entities=entities)
