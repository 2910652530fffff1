"""Every failure that a caller can cause, drawn as a tree.

    CortexError
    ├── Unparsable     the input is no text, no JSON, no date            (400)
    ├── Unprocessable  it reads well, but breaks a rule                  (422)
    ├── NotAllowed     the caller's scopes do not reach                  (403)
    ├── NotHere        unknown, another vault's, or out of sight         (404)
    ├── StateConflict  true a moment ago, or decided already             (409)
    ├── Gone           it was here, and was forgotten on purpose         (410)
    ├── TooLarge       more than one request may carry                   (413)
    └── Unavailable    a part that is needed does not answer             (503)

An error carries a status *hint* and knows no server; `cortex.api.problems` alone turns it into HTTP.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType


class CortexError(Exception):
    """The root; never raised itself.

    Args:
        detail: one sentence for the reader, without memory text of another vault.
        errors: field → message, where a field is to blame; a sequence of pairs where one field has several.
    """

    status_hint = 500
    title = "Something went wrong"

    def __init__(
        self, detail: str = "", *, errors: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    ) -> None:
        self.detail = detail or self.title
        pairs = errors.items() if isinstance(errors, Mapping) else errors
        self.errors: tuple[tuple[str, str], ...] = tuple(pairs)
        super().__init__(self.detail)


class Unparsable(CortexError):
    status_hint = 400
    title = "The request cannot be parsed"


class Unprocessable(CortexError):
    status_hint = 422
    title = "The request breaks a rule"


class NotAllowed(CortexError):
    """Args:
    scopes: with which the call would be allowed, where scopes alone are wanting.
    """

    status_hint = 403
    title = "The token's scopes do not reach"

    def __init__(
        self,
        detail: str = "",
        *,
        errors: Mapping[str, str] = MappingProxyType({}),
        scopes: Iterable[str] = (),
    ) -> None:
        super().__init__(detail, errors=errors)
        self.scopes = tuple(scopes)


class NotHere(CortexError):
    status_hint = 404
    title = "There is nothing here"


class StateConflict(CortexError):
    status_hint = 409
    title = "That does not fit the present state"


class Gone(CortexError):
    status_hint = 410
    title = "It was forgotten"


class TooLarge(CortexError):
    status_hint = 413
    title = "That is more than one request may carry"


class Unavailable(CortexError):
    status_hint = 503
    title = "A needed part does not answer"
