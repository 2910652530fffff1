"""Which memory speaks for which: walks over {ref: successor}, each bounded and safe from cycles."""

from collections.abc import Iterator, Mapping

from cortex.errors import StateConflict

CHAIN_LIMIT = 10_000


def active_head(ref: str, successor: Mapping[str, str], *, limit: int = CHAIN_LIMIT) -> str:
    """Return the memory that is current in place of `ref`: itself where nothing replaced it.

    Raises: StateConflict if the chain closes on itself or is longer than the limit.
    """
    head = ref
    for head in _walk(ref, successor, limit=limit):  # noqa: B007  the last one is the answer
        pass
    return head


def chain(ref: str, successor: Mapping[str, str]) -> tuple[str, ...]:
    """Return `ref` and all that replaced it in turn, the active head last.

    Raises: StateConflict if the chain closes on itself or is longer than `CHAIN_LIMIT`.
    """
    return tuple(_walk(ref, successor, limit=CHAIN_LIMIT))


def closes_cycle(ref: str, replacement: str, successor: Mapping[str, str]) -> bool:
    """Tell whether naming `replacement` as the successor of `ref` would lead back to `ref`."""
    seen: set[str] = set()
    current: str | None = replacement
    while current is not None and current not in seen:
        if current == ref:
            return True
        seen.add(current)
        current = successor.get(current)
    return False


def _walk(ref: str, successor: Mapping[str, str], *, limit: int) -> Iterator[str]:
    seen: set[str] = set()
    current: str | None = ref
    while current is not None:
        if current in seen:
            raise StateConflict("a chain of successors closes on itself")
        if len(seen) > limit:
            raise StateConflict(f"a chain of successors is longer than {limit}")
        seen.add(current)
        yield current
        current = successor.get(current)
