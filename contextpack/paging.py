"""The cursors of packs and queries: where an answer goes on, under the same question at the same moment."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from contextpack.core.types import ContextRequest, Pack
from cortex.api.pagination import query_digest, read_cursor, write_cursor
from memories.access import Caller

CONTEXT: Final = "context"
QUERY: Final = "query"
QUERY_PREFIX: Final = "mqlc:"


def next_page(caller: Caller, request: ContextRequest, pack: Pack) -> str | None:
    """Return the cursor of what was left out, or None where nothing was."""
    complete = not pack.left_out and pack.coverage.status != "usable"
    if complete or not pack.items:
        return None
    sent = {ref for item in pack.items for ref in (item.ref, *item.folded_refs)}
    state = {
        "sent": sorted(request.already_sent | sent),
        "as_of": request.as_of.isoformat(),
        "known_at": request.known_at.isoformat(),
    }
    return write_cursor(
        CONTEXT, vault_id=caller.vault.pk, holder=caller.actor, query=context_digest(request), state=state
    )


def context_digest(request: ContextRequest) -> str:
    """Name what a page must share with the page before it."""
    return query_digest(
        [request.task, request.format, request.model, request.budget, request.project, request.layers,
         request.entities]
    )  # fmt: skip


def read_context_page(caller: Caller, cursor: str, request: ContextRequest) -> dict[str, Any]:
    """Return the fields of a request that its cursor fixes: what was sent, and the moments.

    What may be served at all is still judged by the present: nothing that expired meanwhile comes back.

    Raises: Unparsable, NotHere, Unprocessable (another question's cursor).
    """
    state: Mapping[str, Any] = read_cursor(
        cursor, CONTEXT, vault_id=caller.vault.pk, holder=caller.actor, query=context_digest(request)
    )
    moments = {name: datetime.fromisoformat(state[name]) for name in ("as_of", "known_at")}
    return {"already_sent": frozenset(state["sent"]), **moments}
