"""All that a run found out, and how it is kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from contextpack.evaluation.scoring import (
    Answered,
    Stray,
    abstention,
    answered_as_json,
    answered_from_json,
    by_category,
    by_history,
    figures,
    stray_from_json,
)

FORMAT: Final = 1


class NoReport(Exception):
    """A file that holds no report of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Under which circumstances the questions were asked; two runs differ in what differs here."""

    model: str
    embedder: str | None  # None: meaning was not searched
    weights: str | None  # digest of the ranking's weights; None where they stand in no module of their own
    asked_at: str | None  # the moment, where one was given; None: the clock
    limit: int | None
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What went into one history's vault."""

    history: str
    language: str
    turns: int
    withheld: int  # turns that read as an order to a model, and so are not served
    left_out: int  # questions that cannot be scored
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was asked, what was found, and under which circumstances."""

    setup: Setup
    budgets: tuple[int, ...]
    written: tuple[Written, ...]
    answered: tuple[Answered, ...]
    strays: tuple[Stray, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "setup": asdict(self.setup),
            "budgets": list(self.budgets),
            "summary": self._summary(),
            "written": [asdict(each) for each in self.written],
            "questions": [answered_as_json(each) for each in self.answered],
            "off_topic": [asdict(each) for each in self.strays],
        }

    def _summary(self) -> dict[str, Any]:
        return {
            "categories": self._figures(by_category(self.answered)),
            "histories": self._figures(by_history(self.answered)),
            "abstention": asdict(abstention(self.answered, self.strays)),
        }

    def _figures(self, groups: Mapping[str, Sequence[Answered]]) -> dict[str, dict[str, Any]]:
        return {
            name: {str(budget): asdict(figures(group, budget)) for budget in self.budgets}
            for name, group in groups.items()
            if group
        }


def keep(report: Report, path: Path) -> None:
    """Raises: OSError."""
    path.write_text(json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> Report:
    """Read what `keep` wrote.

    Raises: NoReport, whose text names the file.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NoReport(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise NoReport(f"{path} is not JSON") from None
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise NoReport(f"{path} was not written by evaluate, or by another version of it")
    try:
        return _from_json(kept)
    except (KeyError, TypeError, ValueError) as error:
        raise NoReport(f"{path} is no whole report: {error}") from None


def _from_json(kept: Mapping[str, Any]) -> Report:
    return Report(
        setup=Setup(**kept["setup"]),
        budgets=tuple(kept["budgets"]),
        written=tuple(Written(**row) for row in kept["written"]),
        answered=tuple(answered_from_json(row) for row in kept["questions"]),
        strays=tuple(stray_from_json(row) for row in kept["off_topic"]),
    )
