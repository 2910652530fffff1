"""The verb amend: what is known about a memory changes; what it says never does."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Q

from cortex.errors import StateConflict
from memories.access import Caller
from memories.core.kinds import Author, Flag, Kind, layer_of
from memories.models import Memory, ProposedSupersession, Scope, Supersession
from memories.reading import find_memory
from memories.writing.naming import link_entities, unlink_entities
from memories.writing.preparing import (
    NAME_LENGTH,
    TAG_LENGTH,
    Masking,
    check_expiry,
    check_intervals,
    entity_names,
    flags_of,
    true_since_of,
)
from memories.writing.twins import is_twin

AMENDABLE: Final = (
    "summary",
    "kind",
    "layer",
    "project",
    "tags",
    "confidence",
    "entities",
    "occurred_at",
    "valid_from",
    "valid_to",
    "expires_at",
)
_DECIDING: Final = frozenset(
    {"summary", "kind", "layer", "project", "valid_from", "valid_to", "expires_at", "withheld"}
)
"""What decides whether a memory is served, to whom, and in which words."""


def amend(caller: Caller, ref: str, changes: Mapping[str, Any], *, now: datetime) -> Memory:
    """Change a memory's metadata.

    Args:
        changes: values by name, of `AMENDABLE`; a `layer` of None is derived from the kind again.
    Raises: NotHere; NotAllowed outside the caller's projects, or without the scope `memory:review` where that would
        overrule the user; Unprocessable for an interval that runs backwards or an expiry in the past; StateConflict where it was redacted, or its new project knows the same text or not its history.
    """
    caller.require(Scope.WRITE)
    with transaction.atomic():
        memory = find_memory(caller, ref, at=now)
        if memory.redacted_at is not None:
            raise StateConflict(f"{ref} was redacted")
        check_expiry(changes.get("expires_at"), now=now)
        changes, judgement = _judged(memory, changes)
        values = _column_values(memory, changes) | judgement
        if _overrules_user(memory, values):
            caller.require(Scope.REVIEW)
        if values.get("project", memory.project) != memory.project:
            caller.require_project(values["project"])
            _check_move(memory)
        _store(memory, values)
        if "entities" in changes:
            unlink_entities(memory.vault_id, [memory.pk])
            link_entities(memory.vault_id, {memory.pk: entity_names(tuple(changes["entities"]))}, now=now)
        return memory


def _overrules_user(memory: Memory, values: Mapping[str, Any]) -> bool:
    """Whether a change would end or reword what the user said."""
    changed = {name for name in _DECIDING & values.keys() if values[name] != getattr(memory, name)}
    return memory.author == Author.USER and bool(changed)


def _column_values(memory: Memory, changes: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: value for name, value in changes.items() if name != "entities"}
    values |= _layer(memory, changes)
    if "tags" in values:
        values["tags"] = list(values["tags"])
    valid_from = values.get("valid_from", memory.valid_from)
    check_intervals(valid_from, values.get("valid_to", memory.valid_to))
    occurred_at = values.get("occurred_at", memory.occurred_at)
    values["true_since"] = true_since_of(valid_from, occurred_at, memory.captured_at)
    return values


def _layer(memory: Memory, changes: Mapping[str, Any]) -> dict[str, Any]:
    """A derived layer follows the kind; a stated one stays until another is stated."""
    kind = Kind(changes.get("kind", memory.kind))
    if changes.get("layer") is not None:
        return {}
    is_derived = "layer" in changes or memory.layer == layer_of(Kind(memory.kind))
    return {"layer": layer_of(kind) if is_derived else memory.layer}


def _judged(memory: Memory, changes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Mask and judge the texts of a change like those of a write.

    Returns: the change without secrets, and the columns that the judgement sets: flags and withheld.
    """
    masking = Masking()
    masked = dict(changes)
    if masked.get("summary"):
        masked["summary"] = masking.text(masked["summary"])
    for name, limit in (("tags", TAG_LENGTH), ("entities", NAME_LENGTH)):
        if name in masked:
            masked[name] = masking.names(masked[name], limit=limit)
    told = (masked.get("summary") or "", *masked.get("tags", ()), *masked.get("entities", ()))
    wanted = flags_of(filter(None, told), masked=masking.count > 0)
    flags = [*memory.flags, *(str(flag) for flag in wanted if flag not in memory.flags)]
    return masked, {"flags": flags, "withheld": memory.withheld or Flag.INSTRUCTION_LIKE in wanted}


def _check_move(memory: Memory) -> None:
    """A chain lives in one project, so that whoever sees one end may see the other; a proposed one too."""
    either_end = Q(old_id=memory.pk) | Q(new_id=memory.pk)
    links = (Supersession, ProposedSupersession)
    linked = any(kind.objects.filter(either_end, vault_id=memory.vault_id).exists() for kind in links)
    if linked or memory.superseded_by is not None:
        raise StateConflict(f"{memory.ref} has a history in its project and cannot leave it")


def _store(memory: Memory, values: Mapping[str, Any]) -> None:
    try:
        with transaction.atomic():
            Memory.objects.in_vault(memory.vault_id).filter(pk=memory.pk).update(**values)
    except IntegrityError as error:
        if not is_twin(error):
            raise
        raise StateConflict("the project knows the same text already") from None
    for name, value in values.items():
        setattr(memory, name, value)
