"""What the demo prints: a heading for each act, figures, and what was checked; the first failed check ends it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


class EvidenceMissing(Exception):
    """Something that the protocol promises did not happen."""


@dataclass(slots=True)
class Report:
    """Writes lines; counts what held."""

    write: Callable[[str], Any]
    held: int = 0

    def heading(self, text: str) -> None:
        self.write(f"\n{text}\n{'-' * len(text)}")

    def line(self, text: str = "") -> None:
        self.write(f"  {text}" if text else "")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print columns: words to the left, figures to the right."""
        cells = [[str(cell) for cell in row] for row in (head, *rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
        for row in cells:
            first = row[0].ljust(widths[0])
            rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            self.line("  ".join((first, *rest)))

    def check(self, sentence: str, holds: object, *, found: object = None) -> None:
        """Print what holds.

        Args:
            sentence: what is claimed.
            found: what was there instead, for the reader of a failure.
        Raises: EvidenceMissing where it does not hold.
        """
        if not holds:
            instead = "" if found is None else f" (found: {found})"
            raise EvidenceMissing(f"it does not hold that {sentence}{instead}")
        self.held += 1
        self.line(f"ok  {sentence}")
