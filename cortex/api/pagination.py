"""Signed, opaque cursors, bound to the vault, the kind of list and the query that they continue."""

import hashlib
import json
from typing import Any

from django.core import signing

from cortex.errors import NotHere, Unparsable, Unprocessable

_SALT = "cortex.cursor"


def query_digest(query: Any) -> str:
    """Name a query: equal for equal queries, whatever the order of their keys."""
    raw = json.dumps(query, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(raw.encode()).hexdigest()[:24]


def write_cursor(kind: str, *, vault_id: str, holder: str, query: str, state: Any) -> str:
    """Sign where a list goes on.

    Args:
        kind: which list ("memories", "context", …); a cursor of one is none of another.
        holder: the actor who may follow it.
        query: `query_digest` of the request that it continues.
        state: what the list needs to go on; JSON.
    """
    return signing.dumps([kind, vault_id, holder, query, state], salt=_SALT, compress=True)


def read_cursor(
    cursor: str, kind: str, *, vault_id: str, holder: str, query: str | None, field: str = "cursor"
) -> Any:
    """Return the state of a cursor.

    Args:
        query: the digest that the cursor must continue; None where the cursor itself says what it continues.
    Raises: Unparsable if it is none of ours; NotHere if it is another vault's or another token's;
        Unprocessable if it continues another list or query.
    """
    try:
        found = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError):
        raise Unparsable("the cursor is none that this server gave", errors={field: "not a cursor"}) from None
    of_kind, of_vault, of_holder, of_query, state = found
    if (of_vault, of_holder) != (vault_id, holder):
        raise NotHere
    if of_kind != kind or query not in (None, of_query):
        raise Unprocessable("the cursor continues another query", errors={field: "continues another query"})
    return state
