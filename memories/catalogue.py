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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db import connection
from numpy.typing import NDArray

from memories.core.kinds import Kind, MemoryLayer
from memories.core.traits import Trait
from memories.models import Memory
from memories.querysets import MemoryQuerySet
from memories.rows import in_chunks
from memories.signals import content_withdrawn

ROWS_KEPT: Final = 200_000  # of all vaults together: about 35 MB
IDLE_SECONDS: Final = 600.0
NO_DAY: Final = np.iinfo(np.int64).min
_LAST: Final = np.iinfo(np.int64).max
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LAYERS: Final = {layer.value: number for number, layer in enumerate(MemoryLayer)}
_KINDS: Final = {kind.value: number for number, kind in enumerate(Kind)}

Integers = NDArray[np.int64]
Fingerprint = tuple[int, int]

_FIELDS: Final = (
    "pk", "revision", "layer", "kind", "captured_at", "occurred_at", "thread", "position", "speaker", "traits",
    "ref", "project", "superseded_by", "superseded_at",
)  # fmt: skip
_STATE: Final = "SELECT count(*), coalesce(sum(revision), 0) FROM memories_memory WHERE vault_id = %s"
_REVISIONS: Final = "SELECT id, revision FROM memories_memory WHERE vault_id = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """That a memory was superseded: by which one, and when the vault learnt it."""

    memory_id: int
    ref: str
    project: str
    successor: str
    at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """A vault's memories as columns of whole numbers, rows in the order of their ids."""

    ids: Integers
    revisions: Integers
    layers: Integers
    kinds: Integers
    captured: Integers  # microseconds since 1970
    days: Integers  # since 1970 in UTC, of `occurred_at`; NO_DAY where it is not known
    threads: Integers  # a digest of each thread; each row without one has a number of its own
    positions: Integers
    speaker: Integers  # a place among `speakers`
    traits: Integers
    refs: NDArray[np.object_]
    speakers: tuple[str | None, ...]  # distinct
    links: tuple[Link, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        return len(self.ids), int(self.revisions.sum())

    @cached_property
    def ages(self) -> Integers:
        """Of each row its place from the newest to the oldest, ties by ref."""
        ages = np.empty(len(self), dtype=np.int64)
        ages[np.lexsort((self.refs.astype(np.str_), -self.captured))] = np.arange(len(self))
        return ages

    @cached_property
    def in_threads(self) -> Integers:
        """All rows thread by thread, each in the order of its positions; what has no position comes last."""
        return np.lexsort((self.ids, self.positions, self.threads))

    def rows_of(self, ids: Integers) -> Integers:
        """Return the rows of those of these ids that are here."""
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        places: Integers = np.searchsorted(self.ids, ids).astype(np.int64).clip(max=len(self) - 1)
        found: Integers = places[self.ids[places] == ids]
        return found

    def in_layers(self, rows: Integers, layers: Collection[MemoryLayer]) -> NDArray[np.bool_]:
        return np.isin(self.layers[rows], [_LAYERS[layer] for layer in layers])

    def of_kinds(self, rows: Integers, kinds: Collection[Kind]) -> NDArray[np.bool_]:
        return np.isin(self.kinds[rows], [_KINDS[kind] for kind in kinds])

    def have(self, rows: Integers, trait: Trait) -> NDArray[np.bool_]:
        return self.traits[rows] & trait > 0

    def layer_and_kind(self, row: int) -> tuple[MemoryLayer, Kind]:
        return list(MemoryLayer)[self.layers[row]], list(Kind)[self.kinds[row]]

    def replaced(self, *, known_at: datetime, projects: Collection[str] | None) -> Iterator[Link]:
        """Yield what was superseded by then, in these projects and in none; None: in any."""
        for link in self.links:
            in_sight = projects is None or not link.project or link.project in projects
            if in_sight and link.at is not None and link.at <= known_at:
                yield link


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
        self._tidying: threading.Timer | None = None

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
            self._look_again()

    def drop(self, vault_id: str) -> None:
        with self._changing:
            self._kept.pop(vault_id, None)

    def _drop_idle(self) -> None:
        since = time.monotonic() - IDLE_SECONDS
        while self._kept and next(iter(self._kept.values()))[0] < since:
            self._kept.popitem(last=False)

    def _look_again(self) -> None:
        """See to it that what nobody asks for goes, although nobody asks."""
        if self._tidying is None and self._kept:
            self._tidying = threading.Timer(IDLE_SECONDS, self._tidy)
            self._tidying.daemon = True
            self._tidying.start()

    def _tidy(self) -> None:
        with self._changing:
            self._tidying = None
            self._drop_idle()
            self._look_again()


_KEPT: Final = _Shelf()


def forget_kept(vault_id: str, **_: Any) -> None:
    """Keep nothing of a vault from which something was withdrawn: who spoke may have been told by that alone.

    Other processes notice when that vault is next asked, or when it was idle.
    """
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
    return _columns_of(Memory.objects.in_vault(vault_id).order_by("pk").values_list(*_FIELDS))


def _brought_up_to_date(kept: Catalogue, vault_id: str) -> Catalogue:
    """Read what changed, and take over the rest."""
    present = _fetched(_REVISIONS, [vault_id]).reshape(-1, 2)
    places = np.searchsorted(kept.ids, present[:, 0]).clip(max=max(0, len(kept) - 1))
    same = np.zeros(len(present), dtype=bool)
    if len(kept):
        same = (kept.ids[places] == present[:, 0]) & (kept.revisions[places] == present[:, 1])
    staying = np.sort(places[same])
    changed = [
        row
        for chunk in in_chunks(present[~same, 0].tolist())
        for row in Memory.objects.in_vault(vault_id).filter(pk__in=chunk).values_list(*_FIELDS)
    ]
    return _joined(kept, staying, _columns_of(changed))


_NUMBERS: Final = (
    "ids",
    "revisions",
    "layers",
    "kinds",
    "captured",
    "days",
    "threads",
    "positions",
    "traits",
)
_COLUMNS: Final = (*_NUMBERS, "refs")


def _joined(kept: Catalogue, staying: Integers, fresh: Catalogue) -> Catalogue:
    """Make one catalogue of some rows of one and all rows of another; the speakers of others are not kept."""
    order = np.argsort(np.concatenate([kept.ids[staying], fresh.ids]))
    columns = {
        name: np.concatenate([getattr(kept, name)[staying], getattr(fresh, name)])[order] for name in _COLUMNS
    }
    speaking = np.unique(kept.speaker[staying])
    speakers = tuple(dict.fromkeys((*(kept.speakers[place] for place in speaking.tolist()), *fresh.speakers)))
    place_of = {speaker: place for place, speaker in enumerate(speakers)}
    old, new = (
        np.array([place_of.get(speaker, -1) for speaker in each.speakers], dtype=np.int64)
        for each in (kept, fresh)
    )
    gone = frozenset(kept.ids.tolist()) - frozenset(kept.ids[staying].tolist()) if kept.links else frozenset()
    return Catalogue(
        **columns,
        speaker=np.concatenate([old[kept.speaker[staying]], new[fresh.speaker]])[order],
        speakers=speakers,
        links=(*(link for link in kept.links if link.memory_id not in gone), *fresh.links),
    )


def _columns_of(rows: Iterable[tuple[Any, ...]]) -> Catalogue:
    speakers: dict[str | None, int] = {}
    refs: list[str] = []
    links: list[Link] = []
    numbers: list[tuple[int, ...]] = []
    for row in rows:
        (
            pk,
            revision,
            layer,
            kind,
            captured,
            occurred,
            thread,
            position,
            speaker,
            traits,
            ref,
            project,
            after,
            at,
        ) = row
        numbers.append(
            (
                pk,
                revision,
                _LAYERS[layer],
                _KINDS[kind],
                (captured - _EPOCH) // _MICROSECOND,
                NO_DAY if occurred is None else (occurred - _EPOCH).days,
                pk if thread is None else _digest_of(thread),
                _LAST if position is None else position,
                traits,
                speakers.setdefault(speaker, len(speakers)),
            )
        )
        refs.append(ref)
        if after is not None:
            links.append(Link(memory_id=pk, ref=ref, project=project, successor=after, at=at))
    table = np.array(numbers, dtype=np.int64).reshape(-1, len(_NUMBERS) + 1).T
    order = np.argsort(table[0])
    columns = dict(zip((*_NUMBERS, "speaker"), np.ascontiguousarray(table[:, order]), strict=True))
    return Catalogue(
        **columns,
        refs=np.array(refs, dtype=np.object_)[order],
        speakers=tuple(speakers),
        links=tuple(links),
    )


def _digest_of(thread: str) -> int:
    """Return a number for a thread, below all keys of rows; its name is a text that may be forgotten."""
    return -int.from_bytes(blake2b(thread.encode("utf-8", "surrogatepass"), digest_size=7).digest()) - 1
