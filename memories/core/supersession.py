"""Which memory speaks for which: walks over {ref: successor}, each bounded and safe from cycles."""

from collections.abc import Mapping


def active_heads(successor: Mapping[str, str]) -> dict[str, str]:
    """Return for every superseded memory the one that is current in its place.

    Args:
        successor: ref → what replaced it.
    Returns: ref → head, for each key of `successor`; each link is walked once, however long the chains. What
        stands in a cycle, or before one, has no head and is left out: reading never fails over a broken chain.
    """
    heads: dict[str, str | None] = {}
    for start in successor:
        path: list[str] = []
        walked: set[str] = set()
        current = start
        while current in successor and current not in heads and current not in walked:
            walked.add(current)
            path.append(current)
            current = successor[current]
        head = None if current in walked else heads.get(current, current)
        heads.update(dict.fromkeys(path, head))
    return {ref: head for ref, head in heads.items() if head is not None}


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


def walk_from(ref: str, successor: Mapping[str, str]) -> list[str]:
    """Return a memory and what replaced it, one after the other; of a cycle, each once."""
    way: dict[str, None] = {ref: None}
    while (ref := successor.get(ref, "")) and ref not in way:
        way[ref] = None
    return list(way)
