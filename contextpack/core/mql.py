"""The Memory Query Language: a body is read as a query, or refused with reasons.

A query only ever narrows what its caller may read anyway. Whatever is malformed is refused, field by field, and
never clamped or ignored, so that no mistake in a filter widens a result. Source: CMP §6.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypedDict, TypeVar

from contextpack.core.types import Pack, Rung
from cortex.errors import Unprocessable
from memories.core.kinds import MemoryLayer

TEXT_LIMIT: Final = 8_000
ENTITIES_LIMIT: Final = 20
ENTITY_LIMIT: Final = 200
PROJECT_LIMIT: Final = 100
MODEL_LIMIT: Final = 200
CURSOR_LIMIT: Final = 4_096
MOMENT_LIMIT: Final = 40
BUDGET_RANGE: Final = (300, 6_000)
K_RANGE: Final = (1, 100)
DEFAULT_K: Final = 10
FOLLOW_UPS_LIMIT: Final = 3

RowT = TypeVar("RowT")


class Expand(StrEnum):
    """Where a reader may go on from a ref."""

    DOCUMENT = "document"
    NEIGHBORS = "neighbors"
    MORE = "more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mql:
    """One query, understood: either `ask` or `find` is set, and nothing is out of range."""

    ask: str | None = None
    find: str | None = None
    layers: tuple[MemoryLayer, ...] = ()
    entities: tuple[str, ...] = ()
    as_of: datetime | None = None
    known_at: datetime | None = None
    valid_only: bool = True
    min_relevance: float | None = None
    min_trust: float | None = None
    budget_tokens: int | None = None
    model: str | None = None
    expand: Expand | None = None
    k: int = DEFAULT_K
    project: str | None = None
    cursor: str | None = None

    @property
    def text(self) -> str:
        """What is asked or looked for."""
        return self.ask or self.find or ""


class Narrowing(TypedDict):
    knob: str
    removed: int


class FollowUp(TypedDict):
    tool: str
    arguments: dict[str, str]


def parse_mql(body: Mapping[str, object]) -> Mql:
    """Return what a query means.

    Args:
        body: decoded JSON, or the answer of `from_query_params`.
    Raises: Unprocessable, with a message for every field that is to blame.
    Source: CMP §6; the schema of the same language is `MQL_SCHEMA`.
    """
    values, errors = _read_fields(body)
    errors += _cross_errors(body)
    if errors:
        raise Unprocessable("The query is malformed; nothing was searched.", errors=errors)
    return Mql(**values)


def as_wire(mql: Mql) -> dict[str, Any]:
    """Return a query as understood, defaults included; parsed again, it is the same query."""
    known = ((field.name, getattr(mql, field.name)) for field in fields(mql))
    return {name: _wire_value(value) for name, value in known if value is not None and value != ()}


def from_query_params(params: Mapping[str, list[str]]) -> dict[str, Any]:
    """Turn the strings of a query string into the typed values that `parse_mql` reads.

    What does not read as its type stays as it came, so that it is refused there, with a reason.
    """
    return {name: _typed(name, values) for name, values in params.items()}


def parse_moment(text: str) -> datetime:
    """Return the moment that an ISO-8601 text names, in UTC.

    Args:
        text: without an offset it is UTC; a date alone is the start of its day.
    Raises: ValueError where it is none, or lies outside the calendar.
    """
    if not _MOMENT.fullmatch(text):
        raise ValueError("not ISO-8601")
    moment = datetime.fromisoformat(text)
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("outside the calendar") from error


def narrow(
    rows: Sequence[RowT], knobs: Mapping[str, Callable[[RowT], bool]]
) -> tuple[list[RowT], list[Narrowing]]:
    """Remove the rows that any knob refuses.

    Args:
        knobs: name → whether a row may stay; applied in order, each to what the one before left.
    Returns: the rows that stay, in their order, and how many each knob removed.
    """
    kept, narrowing = list(rows), list[Narrowing]()
    for knob, may_stay in knobs.items():
        staying = [row for row in kept if may_stay(row)]
        narrowing.append({"knob": knob, "removed": len(kept) - len(staying)})
        kept = staying
    return kept, narrowing


def follow_ups(refs: Sequence[str], mql: Mql, *, cursor: str | None = None) -> list[FollowUp]:
    """Suggest the calls that would answer more, and none that would answer nothing.

    Args:
        refs: of the result, best first.
        cursor: where the next page begins, if there is one.
    """
    calls: list[FollowUp] = []
    if mql.expand and mql.expand is not Expand.MORE and refs:
        calls.append(_expanding(refs[0], mql.expand))
    if cursor:
        calls.append(_expanding(cursor, Expand.MORE))
    return calls


def pack_follow_ups(pack: Pack) -> list[FollowUp]:
    """Suggest reading those memories in full that the budget let travel in a shorter form only."""
    shortened = [item.ref for item in pack.items if item.rung is not Rung.FULL]
    return [_expanding(ref, Expand.DOCUMENT) for ref in shortened[:FOLLOW_UPS_LIMIT]]


def _expanding(ref: str, direction: Expand) -> FollowUp:
    return {"tool": "expand", "arguments": {"ref": ref, "direction": direction.value}}


# -- Reading a body ------------------------------------------------------------------------------


class _Refused(ValueError):
    """A value breaks the rule of its field; the message is for the reader."""


def _read_fields(body: Mapping[str, object]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    values: dict[str, Any] = {}
    errors: list[tuple[str, str]] = []
    for name, value in body.items():
        try:
            values[name] = _READERS.get(name, _unknown)(value)
        except _Refused as refusal:
            errors.append((name, str(refusal)))
    return values, errors


def _cross_errors(body: Mapping[str, object]) -> list[tuple[str, str]]:
    asked = [name for name in ("ask", "find") if name in body]
    if not asked:
        return [("ask", "give one of ask and find")]
    if len(asked) == 2:
        return [(name, "give only one of ask and find") for name in asked]
    return [
        (name, "goes with ask only") for name in ("budget_tokens", "model") if name in body and "find" in body
    ]


def _unknown(_value: object) -> object:
    raise _Refused("is no field of a query")


def _text(limit: int) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str):
            raise _Refused("must be a string")
        if len(value) > limit:
            raise _Refused(f"must not be longer than {limit:,} characters")
        if not value.strip():
            raise _Refused("must not be blank; leave it out instead")
        return value.strip()

    return read


def _label(value: object) -> str:
    """Read a project's label, to the letter; the empty one selects what carries none."""
    if not isinstance(value, str):
        raise _Refused("must be a string")
    if len(value) > PROJECT_LIMIT:
        raise _Refused(f"must not be longer than {PROJECT_LIMIT:,} characters")
    return value


def _integer(lowest: int, highest: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _Refused("must be an integer")
        if not lowest <= value <= highest:
            raise _Refused(f"must be from {lowest} to {highest}")
        return value

    return read


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Refused("must be a number")
    if not 0 <= value <= 1:  # this refuses NaN, too
        raise _Refused("must be from 0 to 1")
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Refused("must be true or false")
    return value


def _moment(value: object) -> datetime:
    text = _text(MOMENT_LIMIT)(value)
    try:
        return parse_moment(text)
    except ValueError as error:
        raise _Refused("must be an ISO-8601 date or time") from error


def _items(value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise _Refused("must be a list")
    if not value:  # read as "no filter", an empty selection would widen the result
        raise _Refused("must not be empty; leave it out instead")
    return list(value)


def _layers(value: object) -> tuple[MemoryLayer, ...]:
    layers = tuple(_one_of(MemoryLayer)(name) for name in _items(value))
    if len(set(layers)) < len(layers):
        raise _Refused("must not name a layer twice")
    return layers


def _entities(value: object) -> tuple[str, ...]:
    names = _items(value)
    if len(names) > ENTITIES_LIMIT:
        raise _Refused(f"must not name more than {ENTITIES_LIMIT} entities")
    return tuple(dict.fromkeys(_text(ENTITY_LIMIT)(name) for name in names))


EnumT = TypeVar("EnumT", bound=StrEnum)


def _one_of(choices: type[EnumT]) -> Callable[[object], EnumT]:
    def read(value: object) -> EnumT:
        for choice in choices:
            if value == choice.value:
                return choice
        raise _Refused(f"must be one of {', '.join(choices)}")

    return read


_READERS: Final[Mapping[str, Callable[[object], object]]] = {
    "ask": _text(TEXT_LIMIT),
    "find": _text(TEXT_LIMIT),
    "layers": _layers,
    "entities": _entities,
    "as_of": _moment,
    "known_at": _moment,
    "valid_only": _flag,
    "min_relevance": _share,
    "min_trust": _share,
    "budget_tokens": _integer(*BUDGET_RANGE),
    "model": _text(MODEL_LIMIT),
    "expand": _one_of(Expand),
    "k": _integer(*K_RANGE),
    "project": _label,
    "cursor": _text(CURSOR_LIMIT),
}


# -- Query strings and the wire ------------------------------------------------------------------

_MOMENT: Final = re.compile(r"[0-9A-Za-z:.,+\- ]+")
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_BOOLEANS: Final = {"true": True, "false": False}


def _typed(name: str, values: list[str]) -> object:
    if name in ("layers", "entities"):
        return [part.strip() for value in values for part in value.split(",")]
    if len(values) != 1:
        return values  # one value was due: a list is refused
    return _CONVERTERS.get(name, str)(values[0])


def _boolean(text: str) -> object:
    return _BOOLEANS.get(text, text)


def _whole(text: str) -> object:
    return int(text) if _INTEGER.fullmatch(text) else text


def _fraction(text: str) -> object:
    return float(text) if _NUMBER.fullmatch(text) else text


_CONVERTERS: Final[Mapping[str, Callable[[str], object]]] = {
    "valid_only": _boolean,
    "min_relevance": _fraction,
    "min_trust": _fraction,
    "budget_tokens": _whole,
    "k": _whole,
}


def _wire_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return [_wire_value(part) for part in value]
    return str(value) if isinstance(value, StrEnum) else value


# -- The schema ----------------------------------------------------------------------------------

_NOT_BLANK: Final = r"\S"


def _string_schema(description: str, limit: int) -> dict[str, Any]:
    return {
        "type": "string",
        "description": description,
        "minLength": 1,
        "maxLength": limit,
        "pattern": _NOT_BLANK,
    }


def _range_schema(kind: str, description: str, lowest: int, highest: int) -> dict[str, Any]:
    return {"type": kind, "description": description, "minimum": lowest, "maximum": highest}


def _choice_schema(choices: Iterable[str]) -> dict[str, Any]:
    return {"type": "string", "enum": [str(choice) for choice in choices]}


# No combinator at the root ("exactly one of ask and find"): several model providers refuse a tool whose schema
# has one, and with it every other tool. The descriptions say it, and the parser holds it.
MQL_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "ask": _string_schema(
            "What you are about to do or need to know; answered by a packed, budgeted selection. Give exactly "
            "one of ask and find.",
            TEXT_LIMIT,
        ),
        "find": _string_schema(
            "What to look for; answered by the matching memories, best first. Give exactly one of ask and find.",
            TEXT_LIMIT,
        ),
        "layers": {
            "type": "array",
            "description": "Keep only memories of these layers.",
            "items": _choice_schema(MemoryLayer),
            "minItems": 1,
            "uniqueItems": True,
        },
        "entities": {
            "type": "array",
            "description": "Keep only memories that mention one of these, by exact name or alias in any case.",
            "items": _string_schema("A name or an alias.", ENTITY_LIMIT),
            "minItems": 1,
            "maxItems": ENTITIES_LIMIT,
        },
        "as_of": _string_schema(
            "What was true then: an ISO-8601 date or time, UTC where it has no offset. Default: now.",
            MOMENT_LIMIT,
        ),
        "known_at": _string_schema(
            "What had been recorded by then: an ISO-8601 date or time, UTC where it has no offset. Default: now.",
            MOMENT_LIMIT,
        ),
        "valid_only": {
            "type": "boolean",
            "description": "Leave out superseded memories.",
            "default": True,
        },
        "min_relevance": _range_schema("number", "Drop what matches less well than this.", 0, 1),
        "min_trust": _range_schema("number", "Drop what is trusted less than this.", 0, 1),
        "budget_tokens": _range_schema(
            "integer", "What the selection may cost, in tokens; with ask only.", *BUDGET_RANGE
        ),
        "model": _string_schema(
            "The model that will read the selection, as free text; with ask only.", MODEL_LIMIT
        ),
        "expand": {
            **_choice_schema(Expand),
            "description": "Suggest a follow-up call for the best hit: its whole document, its neighbors, or more "
            "results.",
        },
        "k": {**_range_schema("integer", "Results per page.", *K_RANGE), "default": DEFAULT_K},
        "project": {
            "type": "string",
            "description": "Keep only memories of this project and the unlabelled ones, which all projects share; "
            "empty: only the unlabelled.",
            "maxLength": PROJECT_LIMIT,
        },
        "cursor": _string_schema(
            "Where the last page of this same query ended: its cursor (mqlc:…).", CURSOR_LIMIT
        ),
    },
}
