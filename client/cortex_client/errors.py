"""What can go wrong with a call, as a tree.

CortexError
├── NoAnswer            nothing usable came back: refused, timed out, cut short
└── Problem             the server answered with a problem document (RFC 9457)
    ├── Unparsable      400
    ├── Unauthorized    401
    ├── Forbidden       403
    ├── NotHere         404
    ├── Conflict        409
    ├── Gone            410
    ├── TooLarge        413
    ├── Unprocessable   422
    ├── RateLimited     429
    └── Unavailable     503
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class CortexError(Exception):
    """The root of all that this package raises by itself."""


class NoAnswer(CortexError):
    """No answer arrived whole. Whether the server acted on the call is unknown."""


class Problem(CortexError):
    """The server refused, and said why.

    Attributes:
        status: of the response.
        title, detail: what it says for people.
        fields: the name of each field that is to blame → what is wrong with it.
        retry_after: seconds after which it may be tried again; None where the server does not say.
    """

    kinds: ClassVar[dict[int, type["Problem"]]] = {}

    def __init_subclass__(cls, *, status: int) -> None:
        Problem.kinds[status] = cls

    def __init__(
        self,
        status: int,
        *,
        title: str = "",
        detail: str = "",
        fields: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.title = title
        self.detail = detail
        self.fields = dict(fields or {})
        self.retry_after = retry_after
        blamed = "; ".join(f"{field}: {message}" for field, message in self.fields.items())
        super().__init__(
            " ".join(part for part in (str(status), detail or title, f"({blamed})" if blamed else "") if part)
        )


class Unparsable(Problem, status=400):
    """It could not be read."""


class Unauthorized(Problem, status=401):
    """The token is missing, wrong, revoked or past its end."""


class Forbidden(Problem, status=403):
    """The token's scopes do not reach that far."""


class NotHere(Problem, status=404):
    """There is no such thing, or none that this token may see."""


class Conflict(Problem, status=409):
    """It does not fit the state, such as a second successor."""


class Gone(Problem, status=410):
    """It was here and has been withdrawn."""


class TooLarge(Problem, status=413):
    """The body is larger than the server takes."""


class Unprocessable(Problem, status=422):
    """It reads, but breaks a rule; `fields` says which."""


class RateLimited(Problem, status=429):
    """The token's rate is used up."""


class Unavailable(Problem, status=503):
    """The server is busy."""


def problem_of(status: int, document: Any, *, retry_after: float | None = None) -> Problem:
    """Return the exception for a refusal.

    Args:
        document: the parsed body; whatever is no problem document is passed over.
    """
    told: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    fields = {
        str(error.get("field", "")): str(error.get("message", ""))
        for error in told.get("errors") or ()
        if isinstance(error, Mapping)
    }
    kind = Problem.kinds.get(status, Problem)
    return kind(
        status,
        title=str(told.get("title", "")),
        detail=str(told.get("detail", "")),
        fields=fields,
        retry_after=retry_after,
    )
