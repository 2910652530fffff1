"""Files of long histories, read into values. What cannot be read is refused with the file and the place in it.

LoCoMo: an object with `session_1`, `session_1_date_time` and so on, each session a list of turns (`dia_id`, `speaker`,
`text`, perhaps `blip_caption`), and `qa`, a list of `question`, `category` and `evidence`. The sessions may also stand
one level down, in `conversation`, and a file may hold a list of such objects. `language` may name the stems to use.

LongMemEval: a list of questions, each with a haystack of its own (`haystack_sessions`, lists of `role` and `content`;
`haystack_dates`, `haystack_session_ids`, `answer_session_ids`).

Off topic: an object from a history's name to questions that it does not answer.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NoReturn

from contextpack.evaluation.histories import DEFAULT_LANGUAGE, History, Question, Turn

SECONDS_BETWEEN_TURNS: Final = 20  # only a session's beginning is dated
LOCOMO_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
UNANSWERABLE: Final = 5
UNANSWERABLE_SUFFIX: Final = "_abs"

_SESSION: Final = re.compile(r"session_(\d+)")
_TURN_ID: Final = re.compile(r"D:?(\d+):(\d+)")
_LOCOMO_MOMENT: Final = "%I:%M %p on %d %B, %Y"
_WEEKDAY: Final = re.compile(r"\s*\([A-Za-z]+\)\s*")
_LONGMEMEVAL_MOMENTS: Final = ("%Y/%m/%d %H:%M", "%Y/%m/%d")
_EXAMPLE: Final = datetime(2025, 3, 9, 16, 4, tzinfo=UTC)


class Shape(StrEnum):
    LOCOMO = "locomo"
    LONGMEMEVAL = "longmemeval"


class UnreadableFile(Exception):
    """A file that is not what it should be: which, where in it, and why."""

    def __init__(self, file: Path, place: str, reason: str) -> None:
        super().__init__(": ".join(part for part in (str(file), place, reason) if part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that a run is measured against."""

    histories: tuple[History, ...]
    off_topic: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # history → questions beside it


class _Wrong(Exception):
    """What is wrong and where; the file is known further up."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(reason)
        self.place, self.reason = place, reason


def load(paths: Sequence[Path], *, shape: Shape | None = None, off_topic: Sequence[Path] = ()) -> Material:
    """Read files, and the `.json` files of folders.

    Args:
        shape: None tells it from each file.
        off_topic: files of questions beside the subject; such a file in a folder is found by itself.
    Raises: UnreadableFile.
    """
    histories: dict[str, History] = {}
    beside: dict[str, tuple[str, ...]] = {}
    for path in _files(paths):
        content = _json_of(path)
        if shape is None and _shape_of(content) is None and _is_off_topic(content):
            beside |= _off_topic(path, content)
            continue
        for history in _histories(path, content, shape):
            if history.name in histories:
                raise UnreadableFile(path, history.name, "there is a history of this name already")
            histories[history.name] = history
    for path in off_topic:
        beside |= _named_here(path, _off_topic(path, _json_of(path)), histories)
    if not histories:
        raise UnreadableFile(Path(*paths[:1]), "", "no history is in it")
    known = {name: asked for name, asked in beside.items() if name in histories}
    return Material(histories=tuple(histories.values()), off_topic=known)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = sorted(path.glob("*.json"))
        if not inside:
            raise UnreadableFile(path, "", "the folder holds no .json file")
        yield from inside


def _json_of(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFile(path, "", f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UnreadableFile(path, f"byte {error.start}", "is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise UnreadableFile(
            path, f"line {error.lineno}, column {error.colno}", f"is not JSON: {error.msg}"
        ) from None


def _histories(path: Path, content: Any, shape: Shape | None) -> list[History]:
    found = shape or _shape_of(content)
    try:
        if found is Shape.LONGMEMEVAL:
            return list(_longmemeval(content, group=path.stem))
        if found is Shape.LOCOMO:
            return list(_locomo_file(content, name=path.stem))
    except _Wrong as wrong:
        raise UnreadableFile(path, wrong.place, wrong.reason) from None
    raise UnreadableFile(path, "", "is neither in the shape of LoCoMo nor in that of LongMemEval")


def _shape_of(content: Any) -> Shape | None:
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict):
        return None
    if "qa" in first:
        return Shape.LOCOMO
    return Shape.LONGMEMEVAL if "haystack_sessions" in first else None


# -- LoCoMo --------------------------------------------------------------------------------------


def _locomo_file(content: Any, *, name: str) -> Iterator[History]:
    if isinstance(content, dict):
        yield _locomo(content, name=name, at="")
        return
    for index, sample in enumerate(_list(content, "the file")):
        at = f"[{index}]."
        sample = _object(sample, f"[{index}]")
        named = sample.get("sample_id", f"{name}-{index}")
        yield _locomo(sample, name=_text(named, f"{at}sample_id"), at=at)


def _locomo(sample: Mapping[str, Any], *, name: str, at: str) -> History:
    talk = _object(sample.get("conversation", sample), f"{at}conversation")
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    if not numbers:
        raise _Wrong(f"{at}session_1", "is missing")
    turns = [turn for number in numbers for turn in _locomo_session(talk, number, at)]
    _unique((turn.id for turn in turns), f"{at}dia_id")
    known = {turn.id for turn in turns}
    asked = [
        _locomo_question(item, f"{at}qa[{index}]", str(index), known)
        for index, item in enumerate(_list(sample.get("qa"), f"{at}qa"))
    ]
    return History(
        name=name,
        group=name,
        turns=tuple(turns),
        questions=tuple(question for question in asked if question),
        language=_text(sample.get("language", DEFAULT_LANGUAGE), f"{at}language"),
        left_out=sum(question is None for question in asked),
    )


def _locomo_session(talk: Mapping[str, Any], number: int, at: str) -> Iterator[Turn]:
    key = f"session_{number}"
    began_at = _moment(talk.get(f"{key}_date_time"), f"{at}{key}_date_time", (_LOCOMO_MOMENT,))
    for index, item in enumerate(_list(talk[key], f"{at}{key}")):
        place = f"{at}{key}[{index}]"
        turn = _object(item, place)
        text = _text(turn.get("text", ""), f"{place}.text")
        caption = turn.get("blip_caption")
        yield Turn(
            id=_text(turn.get("dia_id"), f"{place}.dia_id"),
            speaker=_text(turn.get("speaker"), f"{place}.speaker"),
            text=f"{text} [shared {caption}]" if caption else text,
            said_at=began_at + timedelta(seconds=SECONDS_BETWEEN_TURNS * index),
            session=key,
            position=index + 1,
        )


def _locomo_question(item: Any, place: str, question_id: str, known: set[str]) -> Question | None:
    """Return None for what cannot be scored; the published files cite a few turns that are not there."""
    asked = _object(item, place)
    category = asked.get("category")
    if category == UNANSWERABLE:
        return None
    if not isinstance(category, int) or category not in LOCOMO_CATEGORIES:
        raise _Wrong(f"{place}.category", f"is {category!r}, not one of 1 to 5")
    cited = (
        f"D{session}:{int(turn)}"
        for each in _list(asked.get("evidence"), f"{place}.evidence")
        for session, turn in _TURN_ID.findall(_text(each, f"{place}.evidence"))
    )
    evidence = tuple(dict.fromkeys(turn for turn in cited if turn in known))
    text = _text(asked.get("question"), f"{place}.question")
    if not evidence:
        return None
    return Question(id=question_id, text=text, category=LOCOMO_CATEGORIES[category], evidence=evidence)


# -- LongMemEval ---------------------------------------------------------------------------------


def _longmemeval(content: Any, *, group: str) -> Iterator[History]:
    for index, item in enumerate(_list(content, "the file")):
        yield _haystack(_object(item, f"[{index}]"), f"[{index}]", group)


def _haystack(item: Mapping[str, Any], place: str, group: str) -> History:
    name = _text(item.get("question_id"), f"{place}.question_id")
    sessions = _list(item.get("haystack_sessions"), f"{place}.haystack_sessions")
    dates = _list(item.get("haystack_dates"), f"{place}.haystack_dates")
    ids = _list(item.get("haystack_session_ids"), f"{place}.haystack_session_ids")
    if not len(sessions) == len(dates) == len(ids):
        raise _Wrong(
            place, f"has {len(sessions)} sessions, {len(dates)} dates and {len(ids)} ids of sessions"
        )
    answering = {str(each) for each in _list(item.get("answer_session_ids"), f"{place}.answer_session_ids")}
    turns: list[Turn] = []
    exact: list[str] = []
    broad: list[str] = []
    for number, (session, date, session_id) in enumerate(zip(sessions, dates, ids, strict=True)):
        at = f"{place}.haystack_sessions[{number}]"
        began_at = _moment(date, f"{place}.haystack_dates[{number}]", _LONGMEMEVAL_MOMENTS)
        for index, said in enumerate(_list(session, at)):
            turn, answers = _haystack_turn(said, f"{at}[{index}]", number, index, began_at)
            turns.append(turn)
            exact += [turn.id] if answers else []
            broad += [turn.id] if str(session_id) in answering else []
    question = Question(
        id=name,
        text=_text(item.get("question"), f"{place}.question"),
        category=_text(item.get("question_type", "unknown"), f"{place}.question_type"),
        evidence=tuple(exact or broad),
        as_of=_moment(item.get("question_date"), f"{place}.question_date", _LONGMEMEVAL_MOMENTS),
    )
    scored = bool(question.evidence) and not name.endswith(UNANSWERABLE_SUFFIX)
    return History(
        name=name,
        group=group,
        turns=tuple(turns),
        questions=(question,) if scored else (),
        left_out=0 if scored else 1,
    )


def _haystack_turn(said: Any, place: str, session: int, index: int, began_at: datetime) -> tuple[Turn, bool]:
    """Return the turn, and whether it is marked as holding the answer."""
    item = _object(said, place)
    turn = Turn(
        id=f"S{session + 1}:{index + 1}",
        speaker=_text(item.get("role"), f"{place}.role"),
        text=_text(item.get("content"), f"{place}.content"),
        said_at=began_at + timedelta(seconds=SECONDS_BETWEEN_TURNS * index),
        session=f"session_{session + 1}",
        position=index + 1,
    )
    return turn, bool(item.get("has_answer"))


# -- Off topic -----------------------------------------------------------------------------------


def _is_off_topic(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and bool(content)
        and all(
            isinstance(asked, list) and all(isinstance(one, str) for one in asked)
            for asked in content.values()
        )
    )


def _off_topic(path: Path, content: Any) -> dict[str, tuple[str, ...]]:
    if not _is_off_topic(content):
        raise UnreadableFile(path, "", "is no object from a history's name to a list of questions")
    return {name: tuple(asked) for name, asked in content.items()}


def _named_here(
    path: Path, beside: dict[str, tuple[str, ...]], histories: Mapping[str, History]
) -> dict[str, tuple[str, ...]]:
    if not beside.keys() & histories.keys():
        raise UnreadableFile(path, "", f"names none of the histories {', '.join(list(histories)[:10])}")
    return beside


# -- Reading -------------------------------------------------------------------------------------


def _object(value: Any, place: str) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else _refuse(value, place, "an object")


def _list(value: Any, place: str) -> list[Any]:
    return value if isinstance(value, list) else _refuse(value, place, "a list")


def _text(value: Any, place: str) -> str:
    return value if isinstance(value, str) else _refuse(value, place, "a text")


def _refuse(value: Any, place: str, wanted: str) -> NoReturn:
    raise _Wrong(place, "is missing" if value is None else f"is not {wanted}")


def _moment(value: Any, place: str, patterns: Sequence[str]) -> datetime:
    text = _WEEKDAY.sub(" ", _text(value, place)).strip()
    for pattern in patterns:
        try:
            return datetime.strptime(text, pattern).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise _Wrong(place, f"is {text!r}, not a moment like {_EXAMPLE:{patterns[0]}}")


def _unique(ids: Iterable[str], place: str) -> None:
    seen: set[str] = set()
    for each in ids:
        if each in seen:
            raise _Wrong(place, f"{each} is there twice")
        seen.add(each)
