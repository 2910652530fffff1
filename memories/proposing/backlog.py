"""The captures that a language model has yet to read, and how they are read.

Nothing is locked while the model thinks. What it proposes is written only if the capture still says the same.

A capture that gets no answer holds up no other: the walk goes on, and begins each time in another place. Where the model
answered others in the same walk the capture is to blame, and after a few such tries it waits no more; where several
in a row got no answer, or none did, the model is away, and nothing is counted.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from django.db.models import F, Q
from django.utils import timezone

from memories.ids import random_key
from memories.models import Capture, Vault
from memories.proposing.chat import AnswerUnusable, ChatModel, ModelUnavailable, active_model
from memories.proposing.drafts import Judged, judged
from memories.search.turns import turn
from memories.writing.inferring import infer, settle

WINDOW_CHARACTERS: Final = 12_000
MOST_WINDOWS: Final = 10
_BEFORE_ALL: Final = -(2**63)
MOST_TRIES: Final = (
    3  # of answers that are no answer, or none while others got one; a model that is away is no try
)
AWAY_AFTER: Final = 3  # captures in a row without an answer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What became of one capture: how many memories were proposed, and how many drafts dropped, by reason."""

    vault_id: str
    proposed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def waiting(vault_id: str, *, projects: frozenset[str] | None = None) -> int:
    rows = Capture.objects.filter(vault_id=vault_id, awaits_extraction=True)
    return (rows if projects is None else rows.filter(project__in={"", *projects})).count()


def count_everywhere(*, seconds: float) -> int:
    """Count what waits in all vaults, as far as that comes in so many seconds; beyond them it is at least so much."""
    ends_at, count = time.monotonic() + seconds, 0
    for pk in list(Vault.objects.order_by("pk").values_list("pk", flat=True)):
        count += waiting(pk)
        if time.monotonic() > ends_at:
            break
    return count


@dataclass(slots=True, kw_only=True)
class _Walk:
    """What one walk over captures has learnt about the model."""

    has_answered: bool = False
    unanswered: list[Capture] = field(default_factory=list)  # since the last answer
    detail: str = ""

    def goes_on(self) -> None:
        """Note an answer: those that got none just before are to blame themselves."""
        self.has_answered = True
        for capture in self.unanswered:
            _count_try(capture, self.detail)
        self.unanswered.clear()

    def misses(self, capture: Capture, detail: str) -> None:
        """Note that a capture got no answer.

        Raises: ModelUnavailable where several in a row got none.
        """
        self.unanswered.append(capture)
        self.detail = detail
        if len(self.unanswered) >= AWAY_AFTER:
            raise ModelUnavailable(detail)

    def ends(self) -> None:
        """Raises: ModelUnavailable where none was answered."""
        if self.unanswered and not self.has_answered:
            raise ModelUnavailable(self.detail)
        self.goes_on()


def work_off(*vaults: Vault) -> Iterator[Read]:
    """Let the model read what waits in some vaults, each capture once, taking turns with whoever else does.

    Yields: after each capture.
    Raises: ModelUnavailable; what was read before is stored.
    """
    model, walk = active_model(), _Walk()
    if model is None:
        return
    for vault in vaults:
        begins = random_key()
        for ahead in (Q(pk__gte=begins), Q(pk__lt=begins)):
            yield from _work_off(vault, ahead, model, walk)
    walk.ends()


def _work_off(vault: Vault, ahead: Q, model: ChatModel, walk: _Walk) -> Iterator[Read]:
    last = _BEFORE_ALL
    while True:
        with turn("extraction"):
            rows = Capture.objects.filter(ahead, vault_id=vault.pk, awaits_extraction=True, pk__gt=last)
            capture = rows.order_by("pk").first()
            if capture is None:
                return
            last = capture.pk
            read = _tried(vault, capture, model, walk)
        yield read


def _tried(vault: Vault, capture: Capture, model: ChatModel, walk: _Walk) -> Read:
    try:
        read = _read(vault, capture, model)
    except ModelUnavailable as error:
        walk.misses(capture, error.detail)
        return Read(vault_id=vault.pk, dropped=Counter({"no answer": 1}))
    walk.goes_on()
    return read


def _read(vault: Vault, capture: Capture, model: ChatModel) -> Read:
    try:
        found = [judged(model.answer(text), text) for text in _windows(capture.content)]
    except AnswerUnusable as error:
        _count_try(capture, str(error))
        return Read(vault_id=vault.pk, dropped=Counter({"answers": 1}))
    read = _proposed(vault, capture, found)
    log.info("a capture was read", extra={"ref": capture.ref, "proposed": read.proposed, **_told(read)})
    return read


def _proposed(vault: Vault, capture: Capture, found: list[Judged]) -> Read:
    dropped = sum((each.dropped for each in found), Counter[str]())
    drafts = [draft for each in found for draft in each.drafts]
    proposed = infer(vault, capture, drafts, now=timezone.now())
    if proposed is None:
        return Read(vault_id=vault.pk, dropped=dropped + Counter({"text changed meanwhile": len(drafts)}))
    dropped["known already"] += len(drafts) - proposed
    return Read(vault_id=vault.pk, proposed=proposed, dropped=+dropped)


def _told(read: Read) -> dict[str, int]:
    return {"dropped": read.dropped.total()}


def _count_try(capture: Capture, reason: str) -> None:
    rows = Capture.objects.filter(vault_id=capture.vault_id, pk=capture.pk)
    rows.update(extraction_tries=F("extraction_tries") + 1)
    given_up = capture.extraction_tries + 1 >= MOST_TRIES
    if given_up:
        settle(capture.vault_id, capture.pk)
    said = "a capture is not read: it was tried often enough" if given_up else "a capture was read in vain"
    log.warning(said, extra={"ref": capture.ref, "reason": reason})


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
