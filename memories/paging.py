"""Lists page by page: a keyset, not an offset, so that nothing is repeated or skipped while rows come and go."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from cortex.api.pagination import query_digest, read_cursor, write_cursor
from memories.access import Caller

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A column, then the key: rows of one moment or name keep their order."""

    column: str
    descending: bool = False

    def columns(self) -> tuple[str, str]:
        sign = "-" if self.descending else ""
        return f"{sign}{self.column}", f"{sign}pk"

    def behind(self, value: Any, pk: int) -> Q:
        """Everything that comes after one row. The outer bound lets an index find the place."""
        word = "lt" if self.descending else "gt"
        beyond = Q(**{f"{self.column}__{word}": value}) | Q(**{self.column: value, f"pk__{word}": pk})
        return Q(**{f"{self.column}__{word}e": value}) & beyond


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[M]):
    """Some rows of a list, and the cursor of those behind them, if any."""

    rows: list[M]
    next: str | None


def take_page(
    rows: QuerySet[M, M], order: Order, *, kind: str, caller: Caller, asked: Mapping[str, Any]
) -> Page[M]:
    """Cut one page out of a list.

    Args:
        kind: which list it is; a cursor of one is none of another.
        asked: the validated query with its `limit`, and the `cursor` where it goes on.
    Raises: Unparsable, NotHere or Unprocessable for a cursor that is none, another's or another query's.
    """
    narrowing = {name: value for name, value in asked.items() if name not in {"limit", "cursor"}}
    binding = {"vault_id": caller.vault.pk, "holder": caller.actor, "query": query_digest(narrowing)}
    if "cursor" in asked:
        written, pk = read_cursor(asked["cursor"], kind, **binding)
        rows = rows.filter(order.behind(_read(written), pk))
    found = list(rows.order_by(*order.columns())[: asked["limit"] + 1])
    page, more = found[: asked["limit"]], len(found) > asked["limit"]
    state = [_write(getattr(page[-1], order.column)), page[-1].pk] if more else None
    return Page(rows=page, next=write_cursor(kind, state=state, **binding) if more else None)


def _write(value: Any) -> list[str]:
    return ["moment", value.isoformat()] if isinstance(value, datetime) else ["text", str(value)]


def _read(written: list[str]) -> Any:
    form, value = written
    return datetime.fromisoformat(value) if form == "moment" else value
