"""When a call is worth another try, and after how long."""

import random
from dataclasses import dataclass
from typing import Final

from cortex_client.errors import CortexError, NoAnswer, Problem

WORTH_ANOTHER_TRY: Final = frozenset({429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How patient a client is.

    A server that says `Retry-After` is believed, up to `longest_wait`; a wait beyond that is not begun, and the
    refusal raised at once. Without the header, waits double from `first_wait`, each shortened by up to a half at
    random so that clients that were refused together do not come back together.
    """

    attempts: int = 4  # in all, the first one included
    first_wait: float = 0.25  # seconds
    longest_wait: float = 30.0  # seconds

    def wait_after(self, error: CortexError, tried: int, *, repeatable: bool) -> float | None:
        """Return how many seconds to wait before the next try, or None where there should be none.

        Args:
            tried: how many attempts were made.
            repeatable: whether the call may be sent again although the server perhaps acted on it.
        """
        if tried >= self.attempts:
            return None
        if isinstance(error, NoAnswer):
            return self._backoff(tried) if repeatable else None
        if not isinstance(error, Problem) or error.status not in WORTH_ANOTHER_TRY:
            return None
        if error.retry_after is None:
            return self._backoff(tried)
        return error.retry_after if error.retry_after <= self.longest_wait else None

    def _backoff(self, tried: int) -> float:
        longest = min(self.longest_wait, self.first_wait * 2.0 ** (tried - 1))
        return longest * random.uniform(0.5, 1.0)


NO_RETRIES: Final = Retries(attempts=1)
