"""Lines into a vault. What is stored stays as it is: a line that meets it is skipped, and so is one that cannot
stand alone; each skipped line is listed with its reason, and the rest goes in. Importing twice changes nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, transaction
from rest_framework.exceptions import ValidationError

from cortex.api.parsing import parse_json
from cortex.api.problems import flatten
from cortex.errors import StateConflict, Unparsable, Unprocessable
from memories.models import Vault
from memories.rows import CHUNK, in_chunks
from memories.transfer.claims import land_memories
from memories.transfer.evidence import land_captures, land_entities, land_sources
from memories.transfer.landing import Landing, Reasons, Row
from memories.transfer.links import land_conflicts, land_proposals, land_supersessions, land_tombstones
from memories.transfer.rowforms import CLASSES, FORMAT, HEADER, PLURALS
from memories.transfer.rowserializers import READERS
from memories.writing.twins import is_taken

ATTEMPTS: Final = 3
_LANDINGS: Final[Mapping[str, Callable[[Landing, Sequence[Row]], Reasons]]] = {
    "capture": land_captures,
    "entity": land_entities,
    "memory": land_memories,
    "source": land_sources,
    "supersession": land_supersessions,
    "proposal": land_proposals,
    "conflict": land_conflicts,
    "tombstone": land_tombstones,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A line that was not taken, and why."""

    line: int
    class_name: str | None
    ref: str | None
    reason: str

    def as_wire(self) -> dict[str, Any]:
        return {"line": self.line, "class": self.class_name, "ref": self.ref, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """How many rows of each class went in, and the lines that did not."""

    imported: dict[str, int]
    skipped: tuple[Skipped, ...]

    def as_wire(self) -> dict[str, Any]:
        return {"imported": self.imported, "skipped": [skipped.as_wire() for skipped in self.skipped]}


@dataclass(slots=True, kw_only=True)
class _Run:
    rows: dict[str, list[tuple[int, dict[str, Any]]]] = field(
        default_factory=lambda: {name: [] for name in CLASSES}
    )
    skipped: list[Skipped] = field(default_factory=list)
    imported: Counter[str] = field(default_factory=Counter)

    def skip(self, line: int, name: str | None, row: Any, reason: str) -> None:
        named = (row.get("ref") or row.get("memory") or row.get("old")) if isinstance(row, dict) else None
        ref = named if isinstance(named, str) else None
        self.skipped.append(Skipped(line=line, class_name=name, ref=ref, reason=reason))


def import_lines(
    vault: Vault,
    lines: Iterable[bytes],
    *,
    now: datetime,
    progress: Callable[[str, int], None] | None = None,
) -> ImportReport:
    """Take exported lines into a vault, some hundred rows a transaction.

    Args:
        now: what has expired by then is skipped.
        progress: told the class and the number of its rows dealt with so far.
    Returns: what went in and what was skipped; the stored row wins over a line with its ref.
    Raises: Unprocessable if the lines do not begin as an export of a known format does.
    """
    run = _read(lines)
    landing = Landing(vault=vault, now=now)
    memories = [row for _, row in run.rows["memory"]]
    landing.check_chains(memories)
    landing.heed_forgotten(memories, (row for _, row in run.rows["source"]))
    for name in CLASSES:
        done = 0
        for chunk in in_chunks(run.rows[name], CHUNK):
            _land(landing, name, chunk, run)
            done += len(chunk)
            if progress is not None:
                progress(name, done)
    skipped = tuple(sorted(run.skipped, key=lambda skipped: skipped.line))
    imported = {PLURALS[name]: run.imported[name] for name in CLASSES}
    return ImportReport(imported=imported, skipped=skipped)


# -- Reading -------------------------------------------------------------------------------------


def _read(lines: Iterable[bytes]) -> _Run:
    run = _Run()
    readers = {name: reader() for name, reader in READERS.items()}
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    _check_header(next(numbered, (1, b""))[1])
    for number, line in numbered:
        try:
            row = parse_json(line)
        except Unparsable as error:
            run.skip(number, None, None, error.detail)
            continue
        name = row.pop("class", None) if isinstance(row, dict) else None
        if not isinstance(name, str) or name not in readers:
            run.skip(number, None, row, "no class of row that is known here")
            continue
        try:
            run.rows[name].append((number, readers[name].run_validation(row)))
        except ValidationError as error:
            reasons = "; ".join(f"{at}: {message}" for at, message in flatten(error.detail))
            run.skip(number, name, row, reasons)
    return run


def _check_header(line: bytes) -> None:
    try:
        header = parse_json(line)
    except Unparsable:
        header = None
    found = header.get(HEADER) if isinstance(header, dict) else None
    if found != FORMAT or isinstance(found, bool):
        raise Unprocessable(f'these are no exported lines: the first must say "{HEADER}": {FORMAT}')


# -- Storing -------------------------------------------------------------------------------------


def _land(landing: Landing, name: str, chunk: Sequence[tuple[int, dict[str, Any]]], run: _Run) -> None:
    """Store one chunk; where a parallel write comes first, look again."""
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                reasons = _LANDINGS[name](landing, [row for _, row in chunk])
        except IntegrityError as error:
            if not is_taken(error):
                raise
            continue
        for (number, row), reason in zip(chunk, reasons, strict=True):
            if reason is None:
                run.imported[name] += 1
            for said in (reason, landing.losses.pop((name, row.get("ref")), None)):
                if said is not None:
                    run.skip(number, name, row, said)
        return
    raise StateConflict("others keep writing the same rows; try again")
