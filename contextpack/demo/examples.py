"""Captured envelopes for the documentation, with what differs from run to run made the same.

Refs and receipts are numbered in the order in which they appear, moments are moved to one fixed day, and what
follows from both (the token count, the digest) is worked out anew. So a file changes only where the answer does.
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

_REF: Final = re.compile(r"\b([a-z]{3})_[0-9a-z]{12}\b")


def write_examples(
    envelopes: Mapping[str, dict[str, Any]], *, began_at: datetime, folder: Path
) -> list[Path]:
    """Write each envelope into `<folder>/<name>.json`, touching no file that says the same already.

    Args:
        began_at: when the demo began; becomes `SHOWN_AT`.
    Returns: the files, changed or not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, envelope in envelopes.items():
        path = folder / f"{name}.json"
        text = json.dumps(made_stable(envelope, began_at=began_at), indent=2, ensure_ascii=False) + "\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
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
