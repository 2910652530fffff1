"""How a command ends: its exit code, and a word about it."""

from enum import IntEnum

from cortex_client.errors import CortexError, Problem


class Exit(IntEnum):
    DONE = 0
    NOTHING_FOUND = 1
    USAGE = 2
    REFUSED = 3
    UNAUTHORISED = 4
    UNREACHABLE = 5
    BUSY = 6
    STOPPED = 130
    UNREAD = 141


class Usage(Exception):
    """The command line, or a file that it names, is wrong."""


class Unauthorised(Exception):
    """There is no token to ask with."""


_BY_STATUS = {
    401: Exit.UNAUTHORISED,
    403: Exit.UNAUTHORISED,
    404: Exit.NOTHING_FOUND,
    429: Exit.BUSY,
    503: Exit.BUSY,
}


def exit_of(error: Usage | Unauthorised | CortexError) -> Exit:
    if isinstance(error, Usage):
        return Exit.USAGE
    if isinstance(error, Unauthorised):
        return Exit.UNAUTHORISED
    if isinstance(error, Problem):
        return _BY_STATUS.get(error.status, Exit.REFUSED)
    return Exit.UNREACHABLE
