"""`manage.py mcp_stdio`: the Model Context Protocol over standard input and output, for desktop clients."""

import logging
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from typing import Any, BinaryIO, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from rest_framework.exceptions import AuthenticationFailed

from contextpack.core.mcp import (
    ACCEPTED,
    INTERNAL_ERROR,
    PARSE_ERROR,
    UNSTATED,
    Reply,
    answer,
    refusal,
    settled_version,
)
from contextpack.mcp import CallersTools
from cortex.api.parsing import parse_json
from cortex.api.rendering import dump_json
from cortex.errors import Unparsable
from memories.access import DEFAULT_VAULT, Caller, caller_for
from memories.management.directory import usable_database, vault_named
from memories.models import Scope, Vault

TOKEN_VARIABLE: Final = "CORTEX_TOKEN"
LOCAL_SCOPES: Final = frozenset({Scope.READ, Scope.WRITE})  # an agent at this machine reviews nothing
LOCAL_ACTOR: Final = "local"

log = logging.getLogger(__name__)

WhoCalls = Callable[[], Caller]


class Command(BaseCommand):
    help = (
        "Serve the Model Context Protocol over standard input and output, one message a line, until it ends."
    )
    requires_system_checks: list[str] = []  # a desktop client waits for the first answer

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--token",
            help=f"whose rights it has; better in the variable {TOKEN_VARIABLE}, which no list of processes shows "
            "(default: to read and write in the vault, as whoever runs this command could anyway)",
        )
        parser.add_argument(
            "--vault", metavar="SLUG", help=f"(default: {DEFAULT_VAULT}); a token has its own"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        secret = options["token"] or os.environ.get(TOKEN_VARIABLE, "")
        slug = options["vault"]
        wire = sys.stdout.buffer
        # Whatever prints prints to the log: nothing but messages may reach the wire.
        with redirect_stdout(sys.stderr), suppress(BrokenPipeError, KeyboardInterrupt), usable_database():
            who = _known_by(secret, slug) if secret else _local(slug)
            who()  # a token that opens nothing is told at once, not with the first call
            _serve(sys.stdin.buffer, wire, who)


def _known_by(secret: str, slug: str | None) -> WhoCalls:
    """Look the token up for every message: it may expire or be revoked meanwhile."""

    def find() -> Caller:
        try:
            return caller_for(secret, vault_slug=slug)
        except AuthenticationFailed as error:
            raise CommandError(str(error.detail)) from None

    return find


def _local(slug: str | None) -> WhoCalls:
    if slug in {None, DEFAULT_VAULT}:
        vault, _ = Vault.objects.get_or_create(slug=DEFAULT_VAULT, defaults={"name": "Default"})
    else:
        vault = vault_named(str(slug))
    caller = Caller(vault=vault, scopes=LOCAL_SCOPES, actor=LOCAL_ACTOR)
    return lambda: caller


def _serve(lines: BinaryIO, wire: BinaryIO, who: WhoCalls) -> None:
    """Answer line by line. The revision that a handshake settles holds until the next one."""
    spoken = UNSTATED
    for line in _lines(lines):
        message, reply = _exchange(line, who, spoken)
        spoken = settled_version(message, reply) or spoken
        if reply.body is not None:
            wire.write(dump_json(reply.body) + b"\n")
            wire.flush()


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield each line that says something; None for one that is longer than a message may be."""
    limit = settings.BODY_LIMIT_BYTES
    while line := stream.readline(limit + 1):
        if len(line) <= limit:
            if line.strip():
                yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(limit)
        yield None


def _exchange(line: bytes | None, who: WhoCalls, spoken: str) -> tuple[Any, Reply]:
    if line is None:
        return None, refusal(PARSE_ERROR, f"a message is at most {settings.BODY_LIMIT_BYTES} bytes long")
    try:
        message = parse_json(line)
    except Unparsable as error:
        return None, refusal(PARSE_ERROR, f"Parse error: {error.detail}")
    try:
        return message, answer(message, CallersTools(caller=who()), spoken=spoken)
    except CommandError:
        raise
    except Exception:  # whatever it is, the client waits for an answer to this id, and the next message comes
        log.exception("a message could not be answered")
        return message, _broken(message)
    finally:
        _let_go()


def _let_go() -> None:
    """Close the database: an idle client holds no connection, and finds none that the server dropped meanwhile."""
    connections.close_all()


def _broken(message: Any) -> Reply:
    """Tell of a fault of ours, which must not end the conversation."""
    if isinstance(message, dict) and "id" not in message:
        return ACCEPTED
    request_id = message.get("id") if isinstance(message, dict) else None
    error = {"code": INTERNAL_ERROR, "message": "Something went wrong here; it is in the log"}
    return Reply(body={"jsonrpc": "2.0", "id": request_id, "error": error})
