"""Captured envelopes for the documentation, with what differs from run to run made the same.

Refs and receipts are numbered in the order in which they appear, moments are moved to one fixed day, and what
follows from both (the token count, the digest) is worked out anew. Memories that match equally well may still change
places from run to run, so a file that differs in nothing else is left alone.
"""

import copy
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from contextpack.core.canonical import canonical_bytes, digest, wire_text
from contextpack.core.profiles import resolve_profile
from contextpack.core.tokens import estimate_tokens, family_of

SHOWN_AT: Final = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)

NEAR: Final = 0.02

_NUMBERED: Final = frozenset({"budget", "receipt", "follow_ups"})
_REF: Final = re.compile(r"\b([a-z]{3})_[0-9a-z]{12}\b")


def write_examples(
    envelopes: Mapping[str, dict[str, Any]], *, began_at: datetime, folder: Path
) -> list[Path]:
    """Write each envelope into `<folder>/<name>.json`, unless the file there tells the same already.

    Args:
        began_at: when the demo began; becomes `SHOWN_AT`.
    Returns: the files, changed or not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, envelope in envelopes.items():
        path = folder / f"{name}.json"
        stable = made_stable(envelope, began_at=began_at)
        if not path.exists() or not tell_the_same(json.loads(path.read_text()), stable):
            path.write_text(json.dumps(stable, indent=2, ensure_ascii=False) + "\n")
        written.append(path)
    return written


def made_stable(envelope: dict[str, Any], *, began_at: datetime) -> dict[str, Any]:
    """Return an envelope that is equal for equal answers, whenever and with whatever ids they were given."""
    stable: dict[str, Any] = json.loads(_renumbered(json.dumps(copy.deepcopy(envelope), ensure_ascii=False)))
    shift = SHOWN_AT - began_at
    for item in stable["items"]:
        item["occurred_at"] = _moved(item["occurred_at"], shift)
    stable["budget"]["used"] = _tokens(stable)
    if stable["receipt"] is not None:
        stable["receipt"]["assembled_at"] = SHOWN_AT.isoformat()
        stable["receipt"]["pack_digest"] = digest(canonical_bytes(stable["items"]))
    return stable


def tell_the_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two stable envelopes hold the same memories under the same description.

    The order among near equals, what is numbered by it, and relevance within `NEAR` do not count.
    """
    return _gist(one) == _gist(other) and all(
        abs(here - there) <= NEAR for here, there in zip(_relevances(one), _relevances(other), strict=True)
    )


def _gist(envelope: dict[str, Any]) -> dict[str, Any]:
    kept = {name: part for name, part in envelope.items() if name not in _NUMBERED}
    memory = envelope["working_memory"]
    return {
        **kept,
        "items": [
            {
                **item,
                "ref": None,
                "relevance": item["relevance"] is None,
                "why": {**item["why"], "fused_rank": None},
            }
            for item in _by_source(envelope)
        ],
        "working_memory": memory and {"keys": list(memory), "cursor": memory["cursor"]},
    }


def _relevances(envelope: dict[str, Any]) -> list[float]:
    return [item["relevance"] or 0.0 for item in _by_source(envelope)]


def _by_source(envelope: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(envelope["items"], key=lambda item: (item["source_url"], item["content"]))


def _renumbered(text: str) -> str:
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        kind = match.group(1)
        count = sum(name.startswith(kind) for name in names) + 1
        return names.setdefault(match.group(), f"{kind}_{count:012d}")

    return _REF.sub(rename, text)


def _moved(moment: str | None, shift: timedelta) -> str | None:
    return None if moment is None else (datetime.fromisoformat(moment) + shift).isoformat()


def _tokens(envelope: dict[str, Any]) -> int:
    """Count the items as the server does: as one text, in the tokens of the model that reads them."""
    asked = envelope["model"]["requested"]
    text = "".join(wire_text(item) + "," for item in envelope["items"])
    return estimate_tokens(text, family_of(resolve_profile(asked), asked))
