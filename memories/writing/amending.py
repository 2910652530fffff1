"""The verb amend: what is known about a memory changes; what it says never does."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, transaction

from cortex.errors import StateConflict
from memories.access import Caller
from memories.core.hostility import is_instruction_like
from memories.core.kinds import Flag, Kind, layer_of
from memories.core.secrets import mask_secrets
from memories.models import Memory, Scope, Supersession
from memories.reading import find_memory
from memories.writing.naming import link_entities, unlink_entities
from memories.writing.preparing import check_intervals, entity_names, true_since_of

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


def amend(caller: Caller, ref: str, changes: Mapping[str, Any], *, now: datetime) -> Memory:
    """Change a memory's metadata.

    Args:
        changes: values by name, of `AMENDABLE`; a `layer` of None is derived from the kind again.
    Raises: NotHere; NotAllowed outside the caller's projects; Unprocessable for an interval that runs backwards;
        StateConflict where it was redacted, or its new project knows the same text or not its history.
    """
    caller.require(Scope.WRITE)
    with transaction.atomic():
        memory = find_memory(caller, ref, at=now)
        if memory.redacted_at is not None:
            raise StateConflict(f"{ref} was redacted")
        values = _column_values(memory, changes)
        if values.get("project", memory.project) != memory.project:
            caller.require_project(values["project"])
            _check_move(memory)
        _store(memory, values)
        if "entities" in changes:
            unlink_entities(memory.vault_id, [memory.pk])
            link_entities(memory.vault_id, {memory.pk: entity_names(tuple(changes["entities"]))}, now=now)
        return memory


def _column_values(memory: Memory, changes: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: value for name, value in changes.items() if name != "entities"}
    values |= _layer(memory, changes)
    if "tags" in values:
        values["tags"] = list(dict.fromkeys(values["tags"]))
    if values.get("summary"):
        values |= _summary(memory, values["summary"])
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


def _summary(memory: Memory, summary: str) -> dict[str, Any]:
    """A summary may be told in place of the text, so it is masked and judged like one."""
    masked, count = mask_secrets(summary)
    hostile = is_instruction_like(masked)
    wanted = [
        flag for flag, holds in ((Flag.SECRET_MASKED, count), (Flag.INSTRUCTION_LIKE, hostile)) if holds
    ]
    flags = [*memory.flags, *(str(flag) for flag in wanted if flag not in memory.flags)]
    return {"summary": masked, "flags": flags, "withheld": memory.withheld or hostile}


def _check_move(memory: Memory) -> None:
    """A chain lives in one project, so that whoever sees one end may see the other."""
    replaces = Supersession.objects.filter(vault_id=memory.vault_id, new_id=memory.pk).exists()
    if replaces or memory.superseded_by is not None:
        raise StateConflict(f"{memory.ref} has a history in its project and cannot leave it")


def _store(memory: Memory, values: Mapping[str, Any]) -> None:
    try:
        with transaction.atomic():
            Memory.objects.in_vault(memory.vault_id).filter(pk=memory.pk).update(**values)
    except IntegrityError:
        raise StateConflict("the project knows the same text already") from None
    for name, value in values.items():
        setattr(memory, name, value)
