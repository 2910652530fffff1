"""The verb infer: what a model found in a capture is proposed, if the capture still says what the model read."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from memories.access import Caller
from memories.core.kinds import Author, Kind, Status
from memories.core.text import content_hash
from memories.models import Capture, Memory, Scope, Vault
from memories.writing.citing import capture_url
from memories.writing.inputs import MemoryInput, Outcome, SourceInput
from memories.writing.preparing import Masking
from memories.writing.remembering import store_claims

EXTRACTOR: Final = "extractor"


def infer(vault: Vault, read: Capture, drafts: Sequence[Mapping[str, Any]], *, now: datetime) -> int | None:
    """Propose drafts of memories; none is served before a review, and none changes what is there.

    Args:
        read: the capture as it was when the model was asked.
    Returns: how many were new; None, and nothing written, where the capture was forgotten or changed meanwhile.
    """
    with transaction.atomic():
        kept = (
            Capture.objects.select_for_update()
            .filter(vault_id=vault.pk, pk=read.pk, awaits_extraction=True)
            .first()
        )
        if kept is None or (kept.content, kept.title) != (read.content, read.title):
            return None
        # Whoever may read the capture reads what is made of it: it tells them of no project but the capture's own.
        caller = Caller(
            vault=vault,
            scopes=frozenset({Scope.WRITE}),
            projects=frozenset({kept.project}),
            actor=EXTRACTOR,
        )
        claims = _unknown(vault.pk, [_claim(kept, draft) for draft in drafts])
        stored = store_claims(caller, claims, status=Status.PENDING, now=now)
        settle(vault.pk, kept.pk)
        return sum(isinstance(each, Outcome) and each.created for each in stored)


def settle(vault_id: str, capture_id: int) -> None:
    """Note that a capture waits for no model any more."""
    Capture.objects.filter(vault_id=vault_id, pk=capture_id).update(awaits_extraction=False)


def _claim(kept: Capture, draft: Mapping[str, Any]) -> MemoryInput:
    return MemoryInput(
        content=draft["content"],
        kind=Kind(draft["kind"]),
        project=kept.project,
        author=Author.INFERRED,
        confidence=draft.get("confidence"),
        occurred_at=kept.occurred_at,
        entities=tuple(draft.get("entities", ())),
        sources=(SourceInput(url=capture_url(kept.ref), title=kept.title, text=draft["quote"]),),
    )


def _unknown(vault_id: str, claims: Sequence[MemoryInput]) -> list[MemoryInput]:
    """Leave out what a memory of the project says already, or said until somebody corrected or withdrew it."""
    hashes = {content_hash(Masking().text(claim.content)): claim for claim in claims}
    rows = Memory.objects.in_vault(vault_id).filter(content_hash__in=list(hashes))
    known = set(rows.values_list("project", "content_hash"))
    return [claim for digest, claim in hashes.items() if (claim.project, digest) not in known]
