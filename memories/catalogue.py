"""What every question needs to know of every memory, and no text: read once, kept while nothing changes.

The rules:

- Whatever changes a row of a vault's memories gives it a new revision (`MemoryQuerySet.update`), so the number of
  rows and the sum of their revisions name a vault's state. Each question asks for that first, in one statement, and
  only then believes what is kept.
- What may be served to whom, and when, is never decided here: that is for a queryset, anew for each question.
- What is kept is bounded, and dropped when it was not asked for in a while or when anything is withdrawn.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db import connection
from numpy.typing import NDArray

from memories.models import Memory
from memories.querysets import MemoryQuerySet
from memories.rows import in_chunks
from memories.signals import content_withdrawn

ROWS_KEPT: Final = 200_000  # of all vaults together: about 20 MB
IDLE_SECONDS: Final = 600.0
NO_DAY: Final = np.iinfo(np.int64).min
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

Integers = NDArray[np.int64]
Fingerprint = tuple[int, int]

_FIELDS: Final = (
    "pk", "revision", "ref", "layer", "kind", "project", "captured_at", "occurred_at", "thread", "position",
    "speaker", "traits", "superseded_by", "superseded_at",
)  # fmt: skip
_STATE: Final = "SELECT count(*), coalesce(sum(revision), 0) FROM memories_memory WHERE vault_id = %s"
_REVISIONS: Final = "SELECT id, revision FROM memories_memory WHERE vault_id = %s"

Row = tuple[Any, ...]
"""One memory, in the order of `_FIELDS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """A vault's memories as columns, rows in the order of their ids."""

    rows: Sequence[Row]
    ids: Integers
    revisions: Integers
    refs: Sequence[str]
    layers: NDArray[np.str_]
    kinds: NDArray[np.str_]
    speakers: Sequence[str | None]  # distinct
    speaker: Integers  # of each row: its place among them
    traits: Integers
    days: Integers  # since 1970 in UTC, of `occurred_at`; NO_DAY where it is not known
    ages: Integers  # of each row: its place from the newest to the oldest, ties by ref
    threads: Integers  # numbers; each row without a thread has one of its own
    in_threads: Integers  # all rows, thread by thread, each in the order of its positions
    superseded: Integers  # the rows that have a successor

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def fingerprint(self) -> Fingerprint:
        return len(self.ids), int(self.revisions.sum())

    def rows_of(self, ids: Integers) -> Integers:
        """Return the rows of those of these ids that are here."""
        if not len(self.ids):
            return np.zeros(0, dtype=np.int64)
        places: Integers = np.searchsorted(self.ids, ids).astype(np.int64).clip(max=len(self.ids) - 1)
        found: Integers = places[self.ids[places] == ids]
        return found

    def replaced(
        self, *, known_at: datetime, projects: Collection[str] | None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield row, ref and the successor's ref of what was superseded by then, in these projects and in none."""
        for row in self.superseded.tolist():
            _, _, ref, _, _, project, *_, successor, at = self.rows[row]
            if at is not None and at <= known_at and (projects is None or not project or project in projects):
                yield row, ref, successor


def catalogue_of(vault_id: str) -> Catalogue:
    """Return a vault's catalogue as of now; one statement where nothing changed since it was read, else up to two
    more, and one for each 500 memories that changed."""
    state = _state_of(vault_id)
    kept = _KEPT.get(vault_id)
    if kept is not None and kept.fingerprint == state:
        return kept
    fresh = _read(vault_id) if kept is None else _brought_up_to_date(kept, vault_id)
    _KEPT.put(vault_id, fresh)
    return fresh


def ids_in(rows: MemoryQuerySet) -> Integers:
    """Return the ids of the rows of a queryset, in no particular order; one statement."""
    try:
        statement, values = rows.order_by().values_list("pk").query.sql_with_params()
    except EmptyResultSet:
        return np.zeros(0, dtype=np.int64)
    return _fetched(statement, values).ravel()


# -- Keeping -------------------------------------------------------------------------------------


class _Shelf:
    """The catalogues of the vaults that were asked last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, Catalogue]] = OrderedDict()
        self._changing = threading.Lock()

    def get(self, vault_id: str) -> Catalogue | None:
        with self._changing:
            self._drop_idle()
            if vault_id not in self._kept:
                return None
            _, found = self._kept[vault_id]
            self._kept[vault_id] = time.monotonic(), found
            self._kept.move_to_end(vault_id)
            return found

    def put(self, vault_id: str, catalogue: Catalogue) -> None:
        with self._changing:
            self._kept[vault_id] = time.monotonic(), catalogue
            self._kept.move_to_end(vault_id)
            while len(self._kept) > 1 and sum(len(held) for _, held in self._kept.values()) > ROWS_KEPT:
                self._kept.popitem(last=False)

    def drop(self, vault_id: str) -> None:
        with self._changing:
            self._kept.pop(vault_id, None)

    def _drop_idle(self) -> None:
        since = time.monotonic() - IDLE_SECONDS
        while self._kept and next(iter(self._kept.values()))[0] < since:
            self._kept.popitem(last=False)


_KEPT: Final = _Shelf()


def forget_kept(vault_id: str, **_: Any) -> None:
    """Keep nothing of a vault from which something was withdrawn: names of threads and speakers are words, too."""
    _KEPT.drop(vault_id)


content_withdrawn.connect(forget_kept, dispatch_uid="catalogue")


# -- Reading -------------------------------------------------------------------------------------


def _state_of(vault_id: str) -> Fingerprint:
    with connection.cursor() as cursor:
        cursor.execute(_STATE, [vault_id])
        count, revisions = cursor.fetchone()
    return int(count), int(revisions)


def _fetched(statement: str, values: Sequence[Any]) -> Integers:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return np.array(cursor.fetchall(), dtype=np.int64)


def _read(vault_id: str) -> Catalogue:
    return _laid_out(list(Memory.objects.in_vault(vault_id).order_by("pk").values_list(*_FIELDS)))


def _brought_up_to_date(kept: Catalogue, vault_id: str) -> Catalogue:
    """Read what changed, and take over the rest."""
    present = _fetched(_REVISIONS, [vault_id]).reshape(-1, 2)
    known = {(row[0], row[1]): row for row in kept.rows}
    rows: dict[int, Row] = {}
    changed = []
    for pk, revision in present.tolist():
        if (row := known.get((pk, revision))) is not None:
            rows[pk] = row
        else:
            changed.append(pk)
    for chunk in in_chunks(changed):
        found = Memory.objects.in_vault(vault_id).filter(pk__in=chunk).values_list(*_FIELDS)
        rows |= {row[0]: row for row in found}
    return _laid_out([rows[pk] for pk in sorted(rows)])


def _laid_out(rows: Sequence[Row]) -> Catalogue:
    columns = list(zip(*rows, strict=True)) or [()] * len(_FIELDS)
    (ids, revisions, refs, layers, kinds, _, captured, occurred, threads, positions, speakers, traits,
     successors, _) = columns  # fmt: skip
    numbered = _numbers_of(threads)
    distinct = list(dict.fromkeys(speakers))
    place_of = {speaker: place for place, speaker in enumerate(distinct)}
    last = np.iinfo(np.int64).max
    order = np.lexsort(
        (
            np.array(ids, dtype=np.int64),
            np.array([last if position is None else position for position in positions], dtype=np.int64),
            numbered,
        )
    )
    return Catalogue(
        rows=rows,
        ids=np.array(ids, dtype=np.int64),
        revisions=np.array(revisions, dtype=np.int64),
        refs=refs,
        layers=np.array(layers, dtype=np.str_),
        kinds=np.array(kinds, dtype=np.str_),
        speakers=distinct,
        speaker=np.array([place_of[speaker] for speaker in speakers], dtype=np.int64),
        traits=np.array(traits, dtype=np.int64),
        days=np.array([_day_of(moment) for moment in occurred], dtype=np.int64),
        ages=_ages_of(captured, refs),
        threads=numbered,
        in_threads=order,
        superseded=np.flatnonzero(np.array([successor is not None for successor in successors], dtype=bool)),
    )


def _numbers_of(threads: Sequence[str | None]) -> Integers:
    """Number the threads as they first come; each memory without one gets a number of its own, behind them."""
    numbers: dict[str, int] = {}
    alone = len(threads)
    return np.array(
        [
            place + alone if thread is None else numbers.setdefault(thread, len(numbers))
            for place, thread in enumerate(threads)
        ],
        dtype=np.int64,
    )


def _day_of(moment: datetime | None) -> int:
    return NO_DAY if moment is None else (moment - _EPOCH).days


def _ages_of(captured: Sequence[datetime], refs: Sequence[str]) -> Integers:
    micros = np.array([(moment - _EPOCH) // _MICROSECOND for moment in captured], dtype=np.int64)
    ages = np.empty(len(refs), dtype=np.int64)
    ages[np.lexsort((np.array(refs, dtype=np.str_), -micros))] = np.arange(len(refs))
    return ages
