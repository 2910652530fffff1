"""The verb capture: raw text becomes cited evidence, and the memories that are found in it."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import transaction

from cortex.errors import CortexError, Unprocessable
from memories.access import Caller
from memories.core.echo import strip_own_output
from memories.core.extraction import Draft, extract
from memories.core.kinds import Author, Kind
from memories.core.text import content_hash, normalise
from memories.models import Capture, Memory, Scope
from memories.signals import capture_waits
from memories.writing.citing import capture_url
from memories.writing.inputs import (
    CONTENT_LIMIT,
    CaptureInput,
    CaptureOutcome,
    MemoryInput,
    Outcome,
    SourceInput,
)
from memories.writing.preparing import NAME_LENGTH, TAG_LENGTH, TITLE_LENGTH, URL_LENGTH, Masking, check_url
from memories.writing.remembering import status_deserved, store_claims


def capture(caller: Caller, given: CaptureInput, *, now: datetime) -> CaptureOutcome:
    """Keep a text as evidence and remember what is found in it.

    Our own output in it is recognised and left out; secrets are masked. The same text from the same place is
    kept once, and its claims are counted again.

    Returns: no capture where nothing but our own output was in it.
    Raises: NotAllowed outside the caller's projects; Unprocessable for an empty text or a refused address.
    """
    caller.require(Scope.WRITE)
    caller.require_project(given.project)
    if not normalise(given.content):
        raise Unprocessable("the content says nothing", errors={"content": "no text in it"})
    if given.url:
        check_url(given.url, field="url")
    new = strip_own_output(given.content)
    if not normalise(new):
        return CaptureOutcome(capture=None, memories=(), created=False)
    with transaction.atomic():
        kept, created = _keep(caller, _masked(replace(given, content=new)), now=now)
        drafts = _drafts(caller, kept)
        results = store_claims(caller, drafts, status=status_deserved(caller), now=now)
        if kept.awaits_extraction:
            transaction.on_commit(partial(capture_waits.send, sender=Capture))
        return CaptureOutcome(capture=kept, memories=_distinct(results), created=created)


def _masked(given: CaptureInput) -> CaptureInput:
    masking = Masking()
    return replace(
        given,
        content=masking.text(given.content),
        title=masking.text(given.title, limit=TITLE_LENGTH),
        url=masking.text(given.url, limit=URL_LENGTH),
        source=masking.text(given.source, limit=NAME_LENGTH),
    )


def _keep(caller: Caller, given: CaptureInput, *, now: datetime) -> tuple[Capture, bool]:
    identity = {
        "vault_id": caller.vault.pk,
        "content_hash": content_hash(given.content),
        "project": given.project,
        "url": given.url,
        "author": given.author,
    }
    # A memory's own capture is none of these: it has no memory but that one, and goes with it.
    same = (
        Capture.objects.filter(**identity, content=given.content, source=given.source).order_by("pk").first()
    )
    if same is not None:
        return same, False
    made = Capture.objects.create(
        **identity,
        content=given.content,
        title=given.title,
        source=given.source,
        occurred_at=given.occurred_at,
        captured_at=now,
        awaits_extraction=bool(settings.CORTEX_LLM_URL),
    )
    return made, True


def _drafts(caller: Caller, kept: Capture) -> list[MemoryInput]:
    """Make a claim of everything that the text says; it is read in its thread, which is the capture."""
    found = extract(kept.content, occurred_at=kept.occurred_at, language=caller.vault.language)
    sources = [SourceInput(url=capture_url(kept.ref), title=kept.title)]
    if kept.url:
        sources.append(SourceInput(url=kept.url, title=kept.title))
    shared = MemoryInput(
        content=kept.content[:CONTENT_LIMIT],
        kind=Kind.OBSERVATION,
        project=kept.project,
        author=Author(kept.author),
        occurred_at=kept.occurred_at,
        thread=kept.ref,
        sources=tuple(sources),
    )
    claims = [
        replace(
            shared,
            content=draft.content,
            kind=draft.kind,
            entities=draft.entities,
            tags=_tags_of(draft),
            occurred_at=draft.occurred_at,
            position=draft.position,
            speaker=draft.speaker[:NAME_LENGTH] if draft.speaker else None,
        )
        for draft in found
    ]
    return claims or [shared]  # a text without a word is still something to cite and to forget


def _tags_of(draft: Draft) -> tuple[str, ...]:
    """Tell of an action who is to do it, and until when, as far as the text says so."""
    owner = f"owner:{draft.owner}"[:TAG_LENGTH] if draft.owner else ""
    return tuple(filter(None, (owner, f"due:{draft.due.isoformat()}" if draft.due else "")))


def _distinct(results: Iterable[Outcome | CortexError]) -> tuple[Memory, ...]:
    found = {result.memory.pk: result.memory for result in results if isinstance(result, Outcome)}
    return tuple(found.values())
