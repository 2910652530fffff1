"""One run of the command: read the line, do it, print it, and end with the right code."""

import argparse
import os
import sys
from collections.abc import Sequence

from cortex_client.cli.failing import Exit, Unauthorised, Usage, exit_of
from cortex_client.cli.parsing import build_parser
from cortex_client.cli.terminal import Terminal, as_json, speak_utf8, warn
from cortex_client.cli.verbs import Outcome
from cortex_client.errors import CortexError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    speak_utf8(sys.stdout, sys.stderr)
    try:
        options = build_parser().parse_args(arguments)
        outcome: Outcome = options.run(options)
        _print(outcome, options)
    except (Usage, Unauthorised, CortexError) as error:
        warn(str(error))
        return exit_of(error)
    except KeyboardInterrupt:
        return Exit.STOPPED
    except BrokenPipeError:
        _let_go_of_output()
        return Exit.UNREAD
    return outcome.exit


def _print(outcome: Outcome, options: argparse.Namespace) -> None:
    if outcome.raw is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(outcome.raw)
        sys.stdout.buffer.flush()
        return
    wants_json = not sys.stdout.isatty() if options.json is None else options.json
    if outcome.text is not None and (outcome.data is None or not wants_json):
        sys.stdout.write(outcome.text(Terminal.of(sys.stdout)))
    else:
        sys.stdout.write(as_json(outcome.data))
    sys.stdout.flush()


def _let_go_of_output() -> None:
    """Keep the interpreter from writing to a closed pipe once more as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
