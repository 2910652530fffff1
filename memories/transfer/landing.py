"""One import into one vault: what its rows' refs mean here, and the loop that every class of row goes through."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from memories.models import Capture, Entity, Memory, Tombstone, Vault
from memories.rows import in_chunks
from memories.writing.erasing import cut_out

Row = dict[str, Any]
Reasons = list[str | None]
"""For each row of a chunk None, or why it was skipped."""

HERE: Final = "here already"
OTHERWISE: Final = "here already with other values, which stay"

M = TypeVar("M")


def sift(
    rows: Iterable[Row], refuse: Callable[[Row], str | None], make: Callable[[Row], M]
) -> tuple[Reasons, list[M]]:
    """Make something of each row that nothing speaks against, in order: what one row made may refuse a later one."""
    reasons, made = Reasons(), list[M]()
    for row in rows:
        reason = refuse(row)
        reasons.append(reason)
        if reason is None:
            made.append(make(row))
    return reasons, made


def is_same(stored: Any, values: Mapping[str, Any]) -> bool:
    return all(getattr(stored, name) == value for name, value in values.items())


@dataclass(slots=True, kw_only=True)
class Landing:
    """What an import has learnt about the refs of its file."""

    vault: Vault
    now: datetime
    captures: dict[str, int] = field(default_factory=dict)  # ref → id, and so on
    entities: dict[str, int] = field(default_factory=dict)
    memories: dict[str, int] = field(default_factory=dict)
    on_a_circle: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    redacted: set[str] = field(default_factory=set)
    forgotten_texts: list[str] = field(default_factory=list)
    lost_captures: set[str] = field(default_factory=set)  # whatever cites them was withdrawn here
    losses: dict[tuple[str, str | None], str] = field(default_factory=dict)
    """What a row that went in could not bring along, by class and ref."""

    def find_memories(self, rows: Sequence[Row], *columns: str) -> dict[str, int]:
        """Return ref → id for what is known here, under its ref or, for the same text, under another."""
        self._look_up(self.memories, Memory, rows, columns)
        return self.memories

    def find_captures(self, rows: Sequence[Row], column: str) -> dict[str, int]:
        self._look_up(self.captures, Capture, rows, (column,))
        return self.captures

    def find_entities(self, refs: Iterable[str]) -> dict[str, int]:
        self._look_up(self.entities, Entity, [{"ref": ref} for ref in refs], ("ref",))
        return self.entities

    def _look_up(
        self, known: dict[str, int], model: Any, rows: Sequence[Row], columns: Iterable[str]
    ) -> None:
        named = {row[column] for row in rows for column in columns} - known.keys() - {None}
        for chunk in in_chunks(named):
            found = model.objects.filter(vault_id=self.vault.pk, ref__in=chunk)
            known.update(found.values_list("ref", "pk"))

    def heed_forgotten(self, memories: Sequence[Row], sources: Iterable[Row]) -> None:
        """Find what of the file was forgotten or redacted here: its text must not come back, in whatever row."""
        for chunk in in_chunks({row["ref"] for row in memories}):
            stones = Tombstone.objects.filter(vault_id=self.vault.pk, ref__in=chunk)
            self.forgotten.update(stones.values_list("ref", flat=True))
            stored = Memory.objects.in_vault(self.vault.pk).filter(ref__in=chunk, redacted_at__isnull=False)
            self.redacted.update(stored.values_list("ref", flat=True))
        withdrawn = self.forgotten | self.redacted
        texts = [row["content"] for row in memories if row["ref"] in withdrawn and row["content"]]
        self.forgotten_texts = sorted(set(texts))
        citing: dict[str, set[str]] = {}
        for row in sources:
            if row["capture"] is not None:
                citing.setdefault(row["capture"], set()).add(row["memory"])
        self.lost_captures = {ref for ref, by in citing.items() if by <= withdrawn}

    def without_forgotten(self, text: str) -> str:
        return cut_out(text, self.forgotten_texts) if self.forgotten_texts else text

    def check_chains(self, rows: Iterable[Row]) -> None:
        """Find the memories whose successors lead back to them: no such chain may enter."""
        after = {row["ref"]: row["superseded_by"] for row in rows if row["superseded_by"] is not None}
        settled: set[str] = set()
        for start in after:
            path: list[str] = []
            ref = start
            while ref in after and ref not in settled:
                settled.add(ref)
                path.append(ref)
                ref = after[ref]
            if ref in path:
                self.on_a_circle.update(path[path.index(ref) :])
