"""Memories under a key, for adapters whose own world has keys or paths: to write again supersedes, to delete forgets."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from cortex_client.calls import Cortex, Json
from cortex_client.errors import Conflict, NotHere

ATTEMPTS: Final = 5  # of a write that another one overtakes
PAGE: Final = 200


class KeyedMemories:
    """Memories that carry a tag for their key. The texts are the adapter's; each must be unlike all others."""

    def __init__(self, cortex: Cortex, *, author: str) -> None:
        self.cortex = cortex
        self._author = author

    def rows(self, tag: str, **filters: Any) -> Iterator[Json]:
        """Yield the memories with a tag, the one that was written last first."""
        cursor: str | None = None
        while True:
            page = self.cortex.memories(tag=tag, **filters, limit=PAGE, cursor=cursor)
            yield from page["results"]
            cursor = page["next"]
            if cursor is None:
                return

    def latest(self, at: str) -> Json | None:
        """Return what was written last under a key, served or waiting for a review."""
        return next((row for row in self.rows(at) if _is_open(row)), None)

    def write(self, at: str, content: str, *, project: str, tags: Sequence[str], since: str = "") -> Json:
        """Write under a key, in place of what is there.

        Args:
            since: the beginning of a tag that tells when the key was written first; it is kept.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._write_once(at, content, project=project, tags=tags, since=since)
            except (Conflict, NotHere):  # another write or delete came between reading and writing
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def move(self, row: Json, content: str, *, tags: Sequence[str]) -> Json:
        """Write a successor under another key."""
        return self.cortex.supersede(
            row["ref"], content, tags=tags, author=self._author, reason="moved", entities=[]
        )

    def forget(self, at: str) -> bool:
        """Forget all that was ever written under a key, and what it replaced; tells whether anything was there."""
        refs = {ref for row in [*self.rows(at)] for ref in self._lineage(row["ref"])}
        for ref in sorted(refs):
            try:
                self.cortex.forget(ref)
            except NotHere:
                continue  # somebody else forgot it meanwhile
        return bool(refs)

    def _write_once(self, at: str, content: str, *, project: str, tags: Sequence[str], since: str) -> Json:
        old = _replaced_next(self.rows(at))
        if old is None:
            return self.cortex.remember(
                content, project=project, tags=[*tags], author=self._author, entities=[]
            )
        kept = [tag for tag in old["tags"] if since and tag.startswith(since)]
        begun = kept or ([f"{since}{old['captured_at']}"] if since else [])
        return self.cortex.supersede(
            old["ref"],
            content,
            tags=[*tags, *begun],
            author=self._author,
            reason="written again",
            entities=[],
        )

    def _lineage(self, ref: str) -> set[str]:
        try:
            chain = self.cortex.memory(ref)["chain"]
        except NotHere:
            return set()
        refs = [step["ref"] for step in chain]
        return {ref, *refs[: refs.index(ref)]} if ref in refs else {ref}


def digest(*parts: object) -> str:
    """Name something exactly: a tag is a word, and keys hold anything."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def _is_open(row: Json) -> bool:
    return row["superseded_by"] is None and row["status"] != "archived"


def _replaced_next(rows: Iterable[Json]) -> Json | None:
    """Return what a new text replaces: what is served, else what waits for a review."""
    open_ones = [row for row in rows if _is_open(row)]
    served = [row for row in open_ones if row["status"] == "approved"]
    return next(iter([*served, *open_ones]), None)
