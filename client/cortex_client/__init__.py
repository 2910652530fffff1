"""A client for Cortex that keeps a model's memory buffer in step with the server.

`Cortex` makes the calls, `Conversation` keeps the buffer of one session. Standard library only.
"""

from cortex_client.buffer import Buffer, Delta
from cortex_client.calls import Cortex
from cortex_client.conversation import Conversation, Question, Savings, Turn
from cortex_client.errors import (
    Conflict,
    CortexError,
    Forbidden,
    Gone,
    NoAnswer,
    NotHere,
    Problem,
    RateLimited,
    TooLarge,
    Unauthorized,
    Unavailable,
    Unparsable,
    Unprocessable,
)
from cortex_client.memory import Memory
from cortex_client.rendering import as_markdown
from cortex_client.retrying import NO_RETRIES, Retries
from cortex_client.transport import Call, HttpTransport, Reply, Transport

__all__ = [
    "NO_RETRIES",
    "Buffer",
    "Call",
    "Conflict",
    "Conversation",
    "Cortex",
    "CortexError",
    "Delta",
    "Forbidden",
    "Gone",
    "HttpTransport",
    "Memory",
    "NoAnswer",
    "NotHere",
    "Problem",
    "Question",
    "RateLimited",
    "Reply",
    "Retries",
    "Savings",
    "TooLarge",
    "Transport",
    "Turn",
    "Unauthorized",
    "Unavailable",
    "Unparsable",
    "Unprocessable",
    "as_markdown",
]
