"""What is measured against: turns that were said, and questions whose evidence is known by turn."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

DEFAULT_LANGUAGE: Final = "english"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing that somebody said."""

    id: str  # unique within its history
    speaker: str
    text: str
    said_at: datetime  # aware
    session: str
    position: int  # within its session, from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and the turns without which it cannot be answered."""

    id: str
    text: str
    category: str
    evidence: tuple[str, ...]  # ids of turns; never empty
    as_of: datetime | None = None  # None: now


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A conversation, or several, that go into one vault.

    `group` is what a sample is drawn from: the file's name where a file holds a history for each question.
    """

    name: str
    group: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    language: str = DEFAULT_LANGUAGE
    left_out: int = 0  # questions that cannot be scored, having no evidence or no answer


def sampled(histories: Sequence[History], limit: int | None) -> tuple[History, ...]:
    """Keep so many questions of each group, the same ones every time; None keeps all.

    Returns: the histories that still have questions, in order.
    """
    if limit is None:
        return tuple(histories)
    kept = {key for group in _groups(histories) for key in _sample(histories, group, limit)}
    chosen = (
        replace(one, questions=tuple(asked for asked in one.questions if (one.name, asked.id) in kept))
        for one in histories
    )
    return tuple(one for one in chosen if one.questions)


def _groups(histories: Iterable[History]) -> list[str]:
    return list(dict.fromkeys(one.group for one in histories))


def _sample(histories: Iterable[History], group: str, limit: int) -> list[tuple[str, str]]:
    keys = [(one.name, asked.id) for one in histories if one.group == group for asked in one.questions]
    return random.Random(group).sample(keys, min(limit, len(keys)))
