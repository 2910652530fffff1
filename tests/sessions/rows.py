"""The rows that these tests need, made directly."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from memories.access import Caller, caller_for, operator_of
from memories.core.kinds import MemoryLayer, Status
from memories.models import AccessToken, Memory, Scope, Vault
from sessions.core.delta import Delta, Served
from sessions.models import WorkingSession
from sessions.stepping import Offer, Turn, advance

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_number = itertools.count()


def make_vault(slug: str = "ana") -> Vault:
    return Vault.objects.get_or_create(slug=slug)[0]


def make_memory(vault: Vault, ref: str, **fields: Any) -> Memory:
    given = {
        "content": f"What {ref} says.",
        "content_hash": f"hash-{next(_number)}",
        "layer": MemoryLayer.SEMANTIC,
        "status": Status.APPROVED,
        "true_since": NOW - timedelta(days=30),
        "recorded_at": NOW - timedelta(days=30),
    }
    return Memory.objects.create(vault=vault, ref=ref, **{**given, **fields})


def make_memories(vault: Vault, *refs: str, **fields: Any) -> None:
    for ref in refs:
        make_memory(vault, ref, **fields)


def change(vault: Vault, which: str, **fields: Any) -> None:
    Memory.objects.filter(vault_id=vault.pk, ref=which).update(**fields)


def supersede(vault: Vault, old: str, new: str) -> None:
    change(vault, old, superseded_by=new, superseded_at=NOW, superseded_from=NOW)


def forget(vault: Vault, which: str) -> None:
    Memory.objects.filter(vault_id=vault.pk, ref=which).delete()


def make_token(vault: Vault, *scopes: Scope, projects: tuple[str, ...] = ()) -> str:
    return AccessToken.issue(vault, name="test", scopes=scopes or (Scope.READ,), projects=projects)[1]


def caller_with(vault: Vault, *projects: str) -> Caller:
    return caller_for(make_token(vault, projects=projects))


def pack(*refs: str, rung: int = 2) -> list[Served]:
    return [Served(ref=ref, rung=rung, relevance=0.5, item_tokens=10) for ref in refs]


def step(
    vault: Vault,
    *refs: str,
    caller: Caller | None = None,
    session_id: str = "chat-1",
    rung: int = 2,
    offer: Offer | None = None,
    **options: Any,
) -> Delta:
    """Advance a session by a pack of these refs; each call is another question unless it says otherwise."""
    options.setdefault("request_digest", f"q{next(_number)}")
    turn = Turn(session_id=session_id, now=options.pop("now", NOW), **options)
    return advance(caller or operator_of(vault), turn, served=pack(*refs, rung=rung), offer=offer)


def known_to(vault: Vault, session_id: str = "chat-1") -> set[str]:
    return set(WorkingSession.objects.get(vault_id=vault.pk, session_id=session_id).state["known"])
