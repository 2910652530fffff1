"""The captures that a language model has yet to read, and how they are read.

Nothing is locked while the model thinks. What it proposes is written only if the capture still says the same.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from django.db.models import F
from django.utils import timezone

from memories.models import Capture, Vault
from memories.proposing.chat import AnswerUnusable, ChatModel, active_model
from memories.proposing.drafts import Judged, judged
from memories.search.turns import turn
from memories.writing.inferring import infer, settle

WINDOW_CHARACTERS: Final = 12_000
MOST_WINDOWS: Final = 10
_BEFORE_ALL: Final = -(2**63)
MOST_TRIES: Final = 3  # of answers that are no answer; a model that is away is no try

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What became of one capture: how many memories were proposed, and how many drafts dropped, by reason."""

    proposed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def waiting(vault_id: str, *, projects: frozenset[str] | None = None) -> int:
    rows = Capture.objects.filter(vault_id=vault_id, awaits_extraction=True)
    return (rows if projects is None else rows.filter(project__in={"", *projects})).count()


def count_everywhere() -> int:
    return sum(waiting(pk) for pk in list(Vault.objects.order_by("pk").values_list("pk", flat=True)))


def work_off(vault: Vault) -> Iterator[Read]:
    """Let the model read what waits in a vault, each capture once, taking turns with whoever else does.

    Yields: after each capture.
    Raises: ModelUnavailable; what was read before is stored.
    """
    model, last = active_model(), _BEFORE_ALL
    while model is not None:
        with turn("extraction"):
            rows = Capture.objects.filter(vault_id=vault.pk, awaits_extraction=True, pk__gt=last)
            capture = rows.order_by("pk").first()
            if capture is None:
                return
            last = capture.pk
            read = _read(vault, capture, model)
        yield read


def _read(vault: Vault, capture: Capture, model: ChatModel) -> Read:
    try:
        found = [judged(model.answer(text), text) for text in _windows(capture.content)]
    except AnswerUnusable as error:
        _count_try(capture)
        log.warning("a capture was read in vain", extra={"ref": capture.ref, "reason": str(error)})
        return Read(dropped=Counter({"answers": 1}))
    read = _proposed(vault, capture, found)
    log.info("a capture was read", extra={"ref": capture.ref, "proposed": read.proposed, **_told(read)})
    return read


def _proposed(vault: Vault, capture: Capture, found: list[Judged]) -> Read:
    dropped = sum((each.dropped for each in found), Counter[str]())
    drafts = [draft for each in found for draft in each.drafts]
    proposed = infer(vault, capture, drafts, now=timezone.now())
    if proposed is None:
        return Read(dropped=dropped + Counter({"text changed meanwhile": len(drafts)}))
    dropped["known already"] += len(drafts) - proposed
    return Read(proposed=proposed, dropped=+dropped)


def _told(read: Read) -> dict[str, int]:
    return {"dropped": read.dropped.total()}


def _count_try(capture: Capture) -> None:
    rows = Capture.objects.filter(vault_id=capture.vault_id, pk=capture.pk)
    rows.update(extraction_tries=F("extraction_tries") + 1)
    if capture.extraction_tries + 1 >= MOST_TRIES:
        settle(capture.vault_id, capture.pk)


def _windows(text: str) -> list[str]:
    """Cut a long text behind lines; of a very long one the beginning is read."""
    parts: list[str] = []
    start = 0
    while start < len(text) and len(parts) < MOST_WINDOWS:
        end = start + WINDOW_CHARACTERS
        cut = text.rfind("\n", start + WINDOW_CHARACTERS // 2, end) if end < len(text) else -1
        end = cut if cut > 0 else end
        parts.append(text[start:end])
        start = end
    return parts
