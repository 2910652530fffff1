"""A LangGraph store that keeps its items in Cortex: `pip install './client[langgraph]'`.

    from cortex_client import Cortex
    from cortex_client.langgraph import CortexStore

    graph = builder.compile(store=CortexStore(Cortex("http://127.0.0.1:8766", "ctx_…")))

An item is a memory whose text is its value, key and namespace as JSON. What the two worlds see differently:

- A namespace is a project of Cortex, `("users", "7")` the project `users.7`, so that a token may be limited to it.
- A put on a key that is there supersedes: the old text stays in the history. A delete forgets every version.
- `get` reads what was written last under a key, even where it waits for a review; `search` finds only what Cortex
  serves: neither what waits, nor text that reads as an order to a model.
- Where there is a query, Cortex ranks: an item's score is the relevance, 0 to 1, and what does not match is not found.
  All text is searched, whatever `index` says; a ttl is refused.
- A secret in a value comes back masked, as everywhere in Cortex.
"""

import asyncio
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from cortex_client.calls import Cortex
from cortex_client.keyed import KeyedMemories, digest

QUERY_PAGE: Final = 100
PROJECT_LIMIT: Final = 100
QUERY_LIMIT: Final = 8_000

_STORE: Final = "langgraph"  # the tag of every item
_UNDER: Final = "langgraph:under:"  # a tag for each prefix of its namespace
_AT: Final = "langgraph:at:"  # the tag of its namespace and key
_SINCE: Final = "langgraph:since:"  # when its key was written first
_HOSTILE: Final = "instruction_like"

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """One memory of the store, read."""

    ref: str
    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    served: bool

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self | None:
        """Read a memory as the API lists it; None for what is no item, such as one whose words were taken away."""
        told = _unpacked(row["content"])
        if told is None:
            return None
        updated = datetime.fromisoformat(row["captured_at"])
        began = [tag.removeprefix(_SINCE) for tag in row["tags"] if tag.startswith(_SINCE)]
        return cls(
            ref=row["ref"],
            namespace=tuple(told["namespace"]),
            key=told["key"],
            value=told["value"],
            created_at=datetime.fromisoformat(began[0]) if began else updated,
            updated_at=updated,
            served=row["status"] == "approved" and _HOSTILE not in row["flags"],
        )

    def item(self) -> Item:
        return Item(
            value=self.value,
            key=self.key,
            namespace=self.namespace,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def found(self, score: float | None = None) -> SearchItem:
        return SearchItem(
            namespace=self.namespace,
            key=self.key,
            value=self.value,
            created_at=self.created_at,
            updated_at=self.updated_at,
            score=score,
        )


class CortexStore(BaseStore):
    """A `BaseStore` over a `Cortex`, which is safe for threads, as this is.

    Raises, from every operation: what the calls of `Cortex` raise.
    """

    supports_ttl = False

    def __init__(self, cortex: Cortex, *, author: str = "agent") -> None:
        """
        Args:
            author: who says what is put; an agent never overrules a user, whose items it can only propose to change.
        """
        self._cortex = cortex
        self._kept = KeyedMemories(cortex, author=author)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do these; what reads sees the state before them, and of two puts on one key the last one counts."""
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
                results.append(None)
            else:
                results.append(self._read(op))
        for put in puts.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, [*ops])

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"Unknown operation type: {type(op)}")

    # -- Writing ---------------------------------------------------------------------------------

    def _put(self, op: PutOp) -> None:
        at = _at(op.namespace, op.key)
        if op.value is None:
            self._kept.forget(at)
            return
        self._kept.write(
            at,
            _packed(op.namespace, op.key, op.value),
            project=_project(op.namespace),
            tags=_tags(op.namespace, op.key),
            since=_SINCE,
        )

    # -- Reading ---------------------------------------------------------------------------------

    def _get(self, op: GetOp) -> Item | None:
        row = self._kept.latest(_at(op.namespace, op.key))
        stored = _Stored.read(row) if row else None
        return stored.item() if stored else None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = op.offset + op.limit
        found = self._ranked(op, wanted) if (op.query or "").strip() else self._listed(op)
        kept: list[SearchItem] = []
        for item in found:
            if len(kept) >= wanted:
                break
            if _matches(item.value, op.filter or {}):
                kept.append(item)
        return kept[op.offset :]

    def _listed(self, op: SearchOp) -> Iterator[SearchItem]:
        tag = _under(op.namespace_prefix) if op.namespace_prefix else _STORE
        for row in self._kept.rows(tag, active=True):
            stored = _Stored.read(row)
            if stored and stored.served:
                yield stored.found()

    def _ranked(self, op: SearchOp, wanted: int) -> Iterator[SearchItem]:
        """Yield what answers a query below a prefix, best first, however many namespaces are there.

        Relevance is absolute, so the answers of several projects can be laid side by side.
        """
        scored: list[tuple[float, str]] = []
        for namespace in self._spaces_under(op.namespace_prefix):
            scored += islice(self._answers(str(op.query), namespace, op.filter or {}), wanted)
        for relevance, ref in sorted(scored, key=lambda pair: -pair[0]):
            stored = _Stored.read(self._cortex.memory(ref))  # an answer says nothing of when its key began
            if stored is not None:
                yield stored.found(relevance)

    def _answers(
        self, query: str, namespace: Namespace, wanted: Mapping[str, Any]
    ) -> Iterator[tuple[float, str]]:
        """Yield relevance and ref of what answers a query in a namespace and passes a filter."""
        asked: dict[str, Any] = {"find": query[:QUERY_LIMIT], "project": _project(namespace), "k": QUERY_PAGE}
        while True:
            answer = self._cortex.query(**asked)
            for row in answer["items"]:
                told = _unpacked(row["content"])
                if told is None or tuple(told["namespace"]) != namespace:
                    continue  # a memory of Cortex that is no item of this store
                if _matches(told["value"], wanted):
                    yield row["relevance"] or 0.0, row["ref"]
            if not answer["cursor"]:
                return
            asked["cursor"] = answer["cursor"]

    def _spaces_under(self, prefix: Namespace) -> Sequence[Namespace]:
        spaces = {
            stored.namespace
            for row in self._kept.rows(_under(prefix) if prefix else _STORE, active=True)
            if (stored := _Stored.read(row))
        }
        return sorted(spaces)

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        spaces: Iterable[Namespace] = self._spaces_under(_certain_prefix(op.match_conditions or ()))
        spaces = [space for space in spaces if all(_fits(each, space) for each in op.match_conditions or ())]
        if op.max_depth is not None:
            spaces = {space[: op.max_depth] for space in spaces}
        return sorted(spaces)[op.offset : op.offset + op.limit]


# -- What an item looks like in Cortex -----------------------------------------------------------


def _packed(namespace: Namespace, key: str, value: Mapping[str, Any]) -> str:
    """Return the text of a memory.

    `write` makes every text one of its own: Cortex takes texts that differ in case or spacing for one, and a key may go
    back to a value that it had.
    """
    told = {"value": value, "key": key, "namespace": namespace, "write": uuid.uuid4().hex[:8]}
    return json.dumps(told, ensure_ascii=False)


def _unpacked(content: str) -> dict[str, Any] | None:
    try:
        told = json.loads(content)
    except ValueError:
        return None
    whole = isinstance(told, dict) and {"value", "key", "namespace"} <= told.keys()
    return told if whole and isinstance(told["value"], dict) else None


def _project(namespace: Namespace) -> str:
    name = ".".join(namespace)
    return name if len(name) <= PROJECT_LIMIT else f"{name[:70]}…{digest(*namespace)}"


def _tags(namespace: Namespace, key: str) -> list[str]:
    prefixes = [_under(namespace[:depth]) for depth in range(1, len(namespace) + 1)]
    return [_STORE, *prefixes, _at(namespace, key)]


def _under(prefix: Namespace) -> str:
    return f"{_UNDER}{digest(*prefix)}"


def _at(namespace: Namespace, key: str) -> str:
    return f"{_AT}{digest(namespace, key)}"


# -- Filters, as LangGraph's own stores read them ------------------------------------------------


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_agrees(value.get(name), what) for name, what in wanted.items())


def _agrees(have: Any, want: Any) -> bool:
    if isinstance(want, Mapping):
        if any(str(name).startswith("$") for name in want):
            return all(_holds(have, operator, than) for operator, than in want.items())
        return isinstance(have, Mapping) and _matches(have, want)
    if isinstance(want, (list, tuple)):
        listed = isinstance(have, (list, tuple)) and len(have) == len(want)
        return listed and all(_agrees(one, other) for one, other in zip(have, want, strict=True))
    return bool(have == want)


def _holds(have: Any, operator: str, than: Any) -> bool:
    """Compare; what is no number is neither more nor less than any.

    Raises: ValueError for an operator that there is not.
    """
    if operator in {"$eq", "$ne"}:
        return bool(have == than) == (operator == "$eq")
    if operator not in {"$gt", "$gte", "$lt", "$lte"}:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        left, right = float(have), float(than)
    except (TypeError, ValueError):
        return False
    return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[operator]


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type not in {"prefix", "suffix"}:
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    part = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(want in {"*", have} for have, want in zip(part, path, strict=True))


def _certain_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """Return the labels before the first wildcard of a prefix, below which all that fits must be."""
    for condition in conditions:
        if condition.match_type == "prefix":
            path = [*condition.path, "*"]
            return tuple(path[: path.index("*")])
    return ()
