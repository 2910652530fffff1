"""The tables of the memories app, re-exported so that Django and readers find them in one place."""

from memories.models.decision import Decision, KeptRef
from memories.models.entity import Alias, Entity, Mention
from memories.models.index import LooseVector, SearchDocument, VectorChunk
from memories.models.links import (
    Conflict,
    IdempotencyRecord,
    ProposedSupersession,
    Supersession,
    Tombstone,
)
from memories.models.memory import Capture, Memory, Source
from memories.models.vault import ALL_SCOPES, AccessToken, Scope, Vault

__all__ = [
    "ALL_SCOPES",
    "AccessToken",
    "Alias",
    "Capture",
    "Conflict",
    "Decision",
    "Entity",
    "IdempotencyRecord",
    "KeptRef",
    "LooseVector",
    "Memory",
    "Mention",
    "ProposedSupersession",
    "Scope",
    "SearchDocument",
    "Source",
    "Supersession",
    "Tombstone",
    "Vault",
    "VectorChunk",
]
