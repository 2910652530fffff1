"""Rows for tests: plain functions with a default for everything that a test does not care about."""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import count
from typing import Any

from memories.access import Caller
from memories.core.kinds import Kind, Status, layer_of
from memories.core.text import content_hash, hash_terms, pack_hashes, terms
from memories.models import ALL_SCOPES, AccessToken, Memory, Scope, Source, Vault
from memories.search.facade import index_memories

LONG_AGO = datetime(2026, 1, 5, 12, tzinfo=UTC)
_numbers = count(1)


def make_vault(slug: str = "", **fields: Any) -> Vault:
    return Vault.objects.create(slug=slug or f"vault-{next(_numbers)}", **fields)


def make_token(
    vault: Vault | None = None, *, scopes: Iterable[Scope] = (Scope.READ, Scope.WRITE), **fields: Any
) -> tuple[AccessToken, str]:
    """Return the token's row and its secret."""
    return AccessToken.issue(vault or make_vault(), name=fields.pop("name", "test"), scopes=scopes, **fields)


def make_caller(
    vault: Vault | None = None,
    *,
    scopes: Iterable[Scope] = ALL_SCOPES,
    projects: Iterable[str] | None = None,
    **fields: Any,
) -> Caller:
    return Caller(
        vault=vault or make_vault(),
        scopes=frozenset(scopes),
        projects=None if projects is None else frozenset(projects),
        **fields,
    )


def make_memory(
    vault: Vault | None = None,
    *,
    content: str = "The office is on the fourth floor",
    kind: Kind = Kind.CLAIM,
    at: datetime = LONG_AGO,
    source_url: str | None = "https://example.org/note",
    index: bool = True,
    **fields: Any,
) -> Memory:
    """Store a memory past the writing verbs: approved, cited and indexed unless told otherwise.

    Args:
        at: when it was captured and recorded, and since when it is true.
        source_url: what it cites; None leaves it uncited.
    """
    vault = vault or make_vault()
    defaults: dict[str, Any] = {
        "layer": layer_of(kind),
        "status": Status.APPROVED,
        "content_hash": content_hash(content),
        "captured_at": at,
        "recorded_at": at,
        "true_since": at,
        "term_hashes": pack_hashes(hash_terms(terms(content, vault.language), vault.language)),
    }
    memory = Memory.objects.create(vault=vault, content=content, kind=kind, **(defaults | fields))
    if source_url is not None:
        Source.objects.create(vault=vault, memory=memory, url=source_url)
    if index:
        index_memories(vault, [(memory.pk, content)])
    return memory
