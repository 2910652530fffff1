"""Signed, opaque cursors, bound to the vault, the kind of list and the query that they continue.

They travel with each answer, so they are short: what binds them is in them as a few bytes of digests, which the
signature covers; the signature itself has the 22 characters, 132 bits, of half a SHA-256.
"""

import hashlib
import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final

from django.core.signing import BadSignature, Signer

from cortex.errors import NotHere, Unparsable, Unprocessable

_SALT: Final = "cortex.cursor"
_SIGNATURE_LENGTH: Final = 22
_KIND_BYTES: Final = 2
_OWNER_BYTES: Final = 6
_QUERY_BYTES: Final = 8
_HEAD_BYTES: Final = _KIND_BYTES + _OWNER_BYTES + _QUERY_BYTES


class _ShortSigner(Signer):
    def signature(self, value: str | bytes, key: str | bytes | None = None) -> str:
        return super().signature(value, key)[:_SIGNATURE_LENGTH]


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
        state: what the list needs to go on; bytes as they are, all else as JSON.
    """
    packed = state if isinstance(state, bytes) else zlib.compress(json.dumps(state).encode())
    raw = _kind(kind) + _owner(vault_id, holder) + _query(query) + packed
    return _ShortSigner(salt=_SALT).sign(urlsafe_b64encode(raw).decode().rstrip("="))


def read_cursor(
    cursor: str, kind: str, *, vault_id: str, holder: str, query: str | None, field: str = "cursor"
) -> Any:
    """Return the state of a cursor, from JSON; see `read_bytes`."""
    packed = read_bytes(cursor, kind, vault_id=vault_id, holder=holder, query=query, field=field)
    return json.loads(zlib.decompress(packed))


def read_bytes(
    cursor: str, kind: str, *, vault_id: str, holder: str, query: str | None, field: str = "cursor"
) -> bytes:
    """Return the state of a cursor that was written as bytes.

    Args:
        query: the digest that the cursor must continue; None where the cursor itself says what it continues.
    Raises: Unparsable if it is none of ours; NotHere if it is another vault's or another token's;
        Unprocessable if it continues another list or query.
    """
    try:
        text = _ShortSigner(salt=_SALT).unsign(cursor)
    except BadSignature:
        raise Unparsable("the cursor is none that this server gave", errors={field: "not a cursor"}) from None
    raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    of_kind, rest = raw[:_KIND_BYTES], raw[_KIND_BYTES:_HEAD_BYTES]
    of_owner, of_query = rest[:_OWNER_BYTES], rest[_OWNER_BYTES:]
    if of_owner != _owner(vault_id, holder):
        raise NotHere
    if of_kind != _kind(kind) or (query is not None and of_query != _query(query)):
        raise Unprocessable("the cursor continues another query", errors={field: "continues another query"})
    return raw[_HEAD_BYTES:]


def _kind(kind: str) -> bytes:
    return _short(kind, _KIND_BYTES)


def _owner(vault_id: str, holder: str) -> bytes:
    return _short(f"{vault_id} {holder}", _OWNER_BYTES)


def _query(query: str) -> bytes:
    return _short(query, _QUERY_BYTES)


def _short(text: str, length: int) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:length]
