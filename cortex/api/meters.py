"""Figures of a running server for `/metrics`, right across its workers: each adds to files of its own.

Only a server counts (`start`); elsewhere counting does nothing, and nothing is imported for it. A worker takes the
first free seat, a number that is locked for as long as its process lives, and goes on with that seat's files. So a
worker that died loses no count, and there are never more files than there were workers at once.

A label is a route as the map of URLs writes it, or a word of our own: never a ref, a slug, a token or a text.
"""

import fcntl
import logging
import os
import struct
import sys
import threading
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:  # it loads a web server of its own, which no command needs
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

log = logging.getLogger(__name__)

NO_ROUTE: Final = "none"  # static files, and addresses where nothing is
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WHOLE: Final = ("admin/", "static/")  # what is one route here, however many it has there
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_KINDS: Final = ("counter", "histogram", "gauge_livesum", "gauge_livemax")
_FILE_BYTES: Final = 512 * 1024  # more than all routes with all statuses take
_MOST_SEATS: Final = 1_000


class Count(StrEnum):
    """What is counted from a server's first start on."""

    REQUESTS = "cortex_requests"
    PACKS = "cortex_packs"
    PACK_TOKENS = "cortex_pack_tokens"
    TOKENS_SAVED = "cortex_delta_tokens_saved"
    DEGRADED = "cortex_degraded_answers"
    RECEIPTS_LOST = "cortex_receipts_lost"
    WRITERS_REFUSED = "cortex_waiting_room_refusals"
    THROTTLED = "cortex_throttle_refusals"
    LOGINS_REFUSED = "cortex_login_refusals"


class Level(StrEnum):
    """What a process has at the moment; what those of all processes add up to is told, or the largest."""

    RECEIPTS_WAITING = "cortex_receipts_waiting"
    EMBEDDING_TROUBLE = "cortex_embedding_trouble"


_COUNTS: Final[Mapping[Count, tuple[str, tuple[str, ...]]]] = {
    Count.REQUESTS: ("Answers given, by route, method and status", ("route", "method", "status")),
    Count.PACKS: ("Packs made, by format and how complete they were", ("format", "coverage")),
    Count.PACK_TOKENS: ("Tokens of the packs made, as estimated, whatever of them had to travel", ()),
    Count.TOKENS_SAVED: ("Tokens that did not travel because a session held them already", ()),
    Count.DEGRADED: ("Packs that said that a part of the search was not there", ()),
    Count.RECEIPTS_LOST: ("Receipts and other late writes for which the queue had no room", ()),
    Count.WRITERS_REFUSED: ("Requests that found the database held and no seat to wait in", ()),
    Count.THROTTLED: ("Calls beyond the rate of their token", ()),
    Count.LOGINS_REFUSED: ("Logins to the admin that were not judged, for there were too many", ()),
}
_LEVELS: Final[Mapping[Level, tuple[str, str]]] = {
    Level.RECEIPTS_WAITING: ("Receipts and other late writes that wait for the database", "livesum"),
    Level.EMBEDDING_TROUBLE: ("1 while the embedder fails and memories wait for their vectors", "livemax"),
}


class Seat:
    """This process's number among those that count, and the lock that keeps it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pid = 0
        self._name = ""
        self._lock: IO[bytes] | None = None

    def name(self) -> str:
        """Return the seat; a process that was forked from one that had a seat takes another."""
        if self._pid != os.getpid():
            self._name, self._lock = self._taken()
            self._pid = os.getpid()
        return self._name

    def _taken(self) -> tuple[str, IO[bytes]]:
        for number in range(_MOST_SEATS):
            if (lock := _locked(self._folder / f"{number}.lock")) is not None:
                self._clear(str(number))
                return str(number), lock
        raise OSError("too many processes count already")

    def _clear(self, name: str) -> None:
        """Go on with what the seat counted before, but not with the levels of a process that is gone.

        A file has all its room from the start: one that grows on a full disk would kill whoever writes to it.
        """
        for kind in _KINDS:
            path = self._folder / f"{kind}_{name}.db"
            if kind.startswith("gauge") or not _is_whole(path):
                path.unlink(missing_ok=True)
            with path.open("ab") as file:
                if sys.platform == "linux":  # others have no such call, and find out too late
                    os.posix_fallocate(file.fileno(), 0, _FILE_BYTES)
                else:
                    file.truncate(max(file.tell(), _FILE_BYTES))


def _locked(path: Path) -> IO[bytes] | None:
    """Lock a file for as long as it stays open; None where another has it."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _is_whole(path: Path) -> bool:
    from prometheus_client.mmap_dict import MmapedDict

    try:
        for _ in MmapedDict.read_all_values_from_file(str(path)):  # type: ignore[no-untyped-call] # has no types
            pass
    except FileNotFoundError:
        return True
    except (RuntimeError, ValueError, struct.error):
        return False
    return True


class Meters:
    """All meters of a process; those of its fellow workers are read along."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._guard = threading.Lock()
        self._counts: dict[Count, Counter] = {}
        self._levels: dict[Level, Gauge] = {}
        self._seconds: Histogram | None = None

    def start(self, folder: Path) -> None:
        """Count from now on, in files of this folder. Without room for them the server goes on, uncounted."""
        with self._guard:
            if self._folder is not None:
                return
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._make(folder)
            except OSError as error:
                log.warning("nothing is counted for /metrics", extra={"reason": str(error.strerror or error)})
                return
            self._folder = folder

    def _make(self, folder: Path) -> None:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)  # read whenever a file is opened
        from prometheus_client import Counter, Gauge, Histogram, values

        values.ValueClass = values.MultiProcessValue(Seat(folder).name)  # type: ignore[no-untyped-call]
        self._counts = {
            count: Counter(count.value, says, labels, registry=None)
            for count, (says, labels) in _COUNTS.items()
        }
        self._levels = {
            level: Gauge(level.value, says, registry=None, multiprocess_mode=mode)  # type: ignore[arg-type]
            for level, (says, mode) in _LEVELS.items()
        }
        self._seconds = Histogram(
            "cortex_request_seconds",
            "Seconds from a request's head to its answer's, by route",
            ("route",),
            buckets=_SECONDS,
            registry=None,
        )

    def count(self, count: Count, amount: float = 1, **labels: str) -> None:
        if (counter := self._counts.get(count)) is not None:
            (counter.labels(**labels) if labels else counter).inc(amount)

    def level(self, level: Level, value: float) -> None:
        if (gauge := self._levels.get(level)) is not None:
            gauge.set(value)

    def answered(self, route: str | None, method: str | None, status: int, seconds: float) -> None:
        """Count one request.

        Args:
            route: the pattern of the map of URLs that it met, with names in the place of refs.
        """
        if self._seconds is None:
            return
        told = _shortened(route)
        known = method if method in _METHODS else "other"
        self.count(Count.REQUESTS, route=told, method=known or "other", status=str(status))
        self._seconds.labels(route=told).observe(seconds)

    def collect_into(self, registry: "CollectorRegistry") -> bool:
        """Add the figures of all workers to a registry.

        Returns: False where nothing is counted.
        """
        if self._folder is None:
            return False
        from prometheus_client.multiprocess import MultiProcessCollector

        _forget_the_dead(self._folder)
        MultiProcessCollector(registry, str(self._folder))  # type: ignore[no-untyped-call] # has no types
        return True


def _shortened(route: str | None) -> str:
    if not route:
        return NO_ROUTE
    return next((f"/{start}" for start in _WHOLE if route.startswith(start)), f"/{route}")


def _forget_the_dead(folder: Path) -> None:
    """Drop the levels of processes that are gone; what they counted stays."""
    from prometheus_client.multiprocess import mark_process_dead

    for name, lock in _free_seats(folder):
        with lock:
            mark_process_dead(name, str(folder))  # type: ignore[no-untyped-call] # has no types


def _free_seats(folder: Path) -> Iterator[tuple[str, IO[bytes]]]:
    for path in folder.glob("*.lock"):
        if (lock := _locked(path)) is not None:
            yield path.stem, lock


meters: Final = Meters()
