"""What a memory cites: given addresses, or a capture of its own text. Nothing uncited is written."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from memories.access import Caller
from memories.core.text import content_hash
from memories.models import Capture, Memory, Source
from memories.rows import in_chunks
from memories.writing.inputs import SourceInput
from memories.writing.preparing import Prepared

CAPTURE_PREFIX: Final = "cortex-capture://"


def capture_url(ref: str) -> str:
    return CAPTURE_PREFIX + ref


def captures_cited(caller: Caller, claims: Iterable[Prepared]) -> dict[str, int]:
    """Look up the captures that the claims' addresses name.

    Returns: address → capture id, for those of the caller's vault that the caller may see.
    """
    urls = {source.url for claim in claims for source in claim.given.sources if _names_capture(source)}
    refs = [url.removeprefix(CAPTURE_PREFIX) for url in urls if url]
    found: dict[str, int] = {}
    for chunk in in_chunks(refs):
        rows = Capture.objects.filter(vault_id=caller.vault.pk, ref__in=chunk)
        if caller.projects is not None:
            rows = rows.filter(project__in={"", *caller.projects})
        found |= {capture_url(ref): pk for ref, pk in rows.values_list("ref", "pk")}
    return found


def cites_unknown_capture(claim: Prepared, known: Mapping[str, int]) -> bool:
    return any(_names_capture(source) and source.url not in known for source in claim.given.sources)


def cite(
    vault_id: str,
    pairs: Sequence[tuple[Memory, Prepared]],
    *,
    captures: Mapping[str, int],
    now: datetime,
) -> None:
    """Write the sources of memories; a source that was there already stays as it is.

    Args:
        pairs: stored memories with the claim that was made; one without a source gets a capture of its own.
        captures: what `captures_cited` found for them.
    """
    made: list[Capture] = []
    sources: list[Source] = []
    for memory, claim in pairs:
        for given in claim.given.sources or (SourceInput(),):
            source = Source(vault_id=vault_id, memory_id=memory.pk, added_at=now, title=given.title)
            if given.url is None:
                capture = _own_capture(vault_id, claim, given, now=now)
                made.append(capture)
                source.url, source.capture_id = capture_url(capture.ref), capture.pk
            else:
                source.url, source.text = given.url, given.text
                source.capture_id = captures.get(given.url)
            sources.append(source)
    Capture.objects.bulk_create(made)
    Source.objects.bulk_create(sources, ignore_conflicts=True)


def without_sources(vault_id: str, memories: Iterable[Memory]) -> set[int]:
    """Return which of the memories cite nothing."""
    pks = {memory.pk for memory in memories}
    cited: set[int] = set()
    for chunk in in_chunks(pks):
        rows = Source.objects.filter(vault_id=vault_id, memory_id__in=chunk)
        cited.update(rows.values_list("memory_id", flat=True))
    return pks - cited


def _names_capture(source: SourceInput) -> bool:
    return source.url is not None and source.url.startswith(CAPTURE_PREFIX)


def _own_capture(vault_id: str, claim: Prepared, given: SourceInput, *, now: datetime) -> Capture:
    text = given.text or claim.given.content
    return Capture(
        vault_id=vault_id,
        content=text,
        content_hash=content_hash(text) if given.text else claim.content_hash,
        title=given.title,
        project=claim.given.project,
        author=claim.given.author,
        occurred_at=claim.given.occurred_at,
        captured_at=now,
    )
