"""The cursors of packs and queries: where an answer goes on, under the same question at the same moment.

A pack's cursor names all that was sent, so it is written in bytes: one says whether both moments are the same, eight
each are a moment in microseconds, two count the refs, five each are the digits of a ref; the refs of another form, if
there are any, follow as lines of text.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from contextpack.core.types import ContextRequest, Pack
from cortex.api.pagination import query_digest, read_bytes, write_cursor
from memories.access import Caller
from memories.ids import digits_of, memory_ref_of

CONTEXT: Final = "context"
QUERY: Final = "query"
QUERY_PREFIX: Final = "mqlc:"


def next_page(caller: Caller, request: ContextRequest, pack: Pack) -> str | None:
    """Return the cursor of what was left out, or None where nothing was."""
    complete = not pack.left_out and pack.coverage.status != "usable"
    if complete or not pack.items:
        return None
    sent = {ref for item in pack.items for ref in (item.ref, *item.folded_refs)}
    state = pack_state(request.as_of, request.known_at, request.already_sent | sent)
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
    state = read_bytes(
        cursor, CONTEXT, vault_id=caller.vault.pk, holder=caller.actor, query=context_digest(request)
    )
    as_of, known_at, sent = unpack_state(state)
    return {"already_sent": sent, "as_of": as_of, "known_at": known_at}


# -- In bytes --------------------------------------------------------------------------------------

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT_BYTES: Final = 8
_COUNT_BYTES: Final = 2
_REF_BYTES: Final = 5


def pack_state(as_of: datetime, known_at: datetime, sent: Collection[str]) -> bytes:
    return _pack_moments(as_of, known_at) + _pack_refs(sent)


def unpack_state(state: bytes) -> tuple[datetime, datetime, frozenset[str]]:
    """Return the moments, as UTC, and the refs of a state that was packed."""
    as_of, known_at, rest = _unpack_moments(state)
    return as_of, known_at, _unpack_refs(rest)


def _pack_moments(as_of: datetime, known_at: datetime) -> bytes:
    moments = [as_of] if as_of == known_at else [as_of, known_at]
    packed = (((moment - _EPOCH) // timedelta(microseconds=1)).to_bytes(_MOMENT_BYTES, signed=True)
              for moment in moments)  # fmt: skip
    return bytes([len(moments)]) + b"".join(packed)


def _unpack_moments(state: bytes) -> tuple[datetime, datetime, bytes]:
    end = 1 + _MOMENT_BYTES * state[0]
    moments = [
        _EPOCH + timedelta(microseconds=int.from_bytes(state[at : at + _MOMENT_BYTES], signed=True))
        for at in range(1, end, _MOMENT_BYTES)
    ]
    return moments[0], moments[-1], state[end:]


def _pack_refs(refs: Collection[str]) -> bytes:
    numbers = sorted(number for ref in refs if (number := digits_of(ref)) is not None)
    others = sorted(ref for ref in refs if digits_of(ref) is None)
    packed = b"".join(number.to_bytes(_REF_BYTES) for number in numbers)
    return len(numbers).to_bytes(_COUNT_BYTES) + packed + "\n".join(others).encode()


def _unpack_refs(state: bytes) -> frozenset[str]:
    end = _COUNT_BYTES + _REF_BYTES * int.from_bytes(state[:_COUNT_BYTES])
    numbers = [int.from_bytes(state[at : at + _REF_BYTES]) for at in range(_COUNT_BYTES, end, _REF_BYTES)]
    others = state[end:].decode()
    return frozenset([*map(memory_ref_of, numbers), *(others.split("\n") if others else ())])
