"""The verbs: each makes its calls and returns what to print, as data and as text."""

import argparse
import getpass
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cortex_client.calls import Cortex
from cortex_client.cli import cards, completion, settings
from cortex_client.cli.buffers import file_of, keep_buffer, kept_buffer, kept_sessions
from cortex_client.cli.failing import Exit, Usage
from cortex_client.cli.settings import Access
from cortex_client.cli.terminal import Terminal, plain, warn
from cortex_client.conversation import Conversation, Turn
from cortex_client.errors import NotHere

STDIN: Final = "-"
_NARROWING: Final = ("project", "layers", "entities", "as_of", "known_at")
_ANSWERING: Final = frozenset({"usable", "complete"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a verb has to say; `text` is for people, `data` for programs, `raw` for both as it is."""

    data: Any = None
    text: Callable[[Terminal], str] | None = None
    raw: bytes | None = None
    exit: Exit = Exit.DONE


def ask(options: argparse.Namespace) -> Outcome:
    task = _said(options.task)
    asked = _given(options, "model", "token_budget", *_NARROWING)
    if options.session is not None:
        return _go_on(options, task, asked)
    with _server(options) as (cortex, _):
        if options.markdown:
            text = cortex.context_markdown(task, **asked)
            return Outcome(text=lambda _: _plain_lines(text))
        answer = cortex.context(task, **asked, format="json")
    return Outcome(
        data=answer,
        text=lambda terminal: cards.pack(terminal, answer),
        exit=_exit(answer["coverage"]["status"] in _ANSWERING),
    )


def find(options: argparse.Namespace) -> Outcome:
    asked = _given(options, "k", "min_relevance", "valid_only", "cursor", *_NARROWING)
    with _server(options) as (cortex, _):
        answer = cortex.query(find=_said(options.words), **asked)
    return Outcome(
        data=answer, text=lambda terminal: cards.found(terminal, answer), exit=_exit(answer["items"])
    )


def remember(options: argparse.Namespace) -> Outcome:
    text = _said(options.text)
    shared = _given(options, "author", "project", "occurred_at")
    with _server(options) as (cortex, _):
        if options.capture:
            if options.kind or options.tags:
                raise Usage("--capture finds out kinds by itself: leave --kind and --tag out")
            source = {"url": options.url_of_source} if options.url_of_source else {}
            kept = cortex.capture(text, **shared, **source)
            return Outcome(data=kept, text=lambda terminal: cards.captured(terminal, kept))
        cited = {"source": {"url": options.url_of_source}} if options.url_of_source else {}
        memory = cortex.remember(text, **shared, **_given(options, "kind", "tags"), **cited)
    return Outcome(data=memory, text=lambda terminal: cards.written(terminal, memory))


def expand(options: argparse.Namespace) -> Outcome:
    with _server(options) as (cortex, _):
        answer = cortex.expand(options.ref, direction=options.direction)
    return Outcome(
        data=answer,
        text=lambda terminal: cards.expanded(terminal, answer),
        exit=_exit(answer["document"] or answer["items"] or answer["entities"]),
    )


def forget(options: argparse.Namespace) -> Outcome:
    """Forget each ref that is there, and say so of all; one that is not there keeps no other."""
    _confirm(options)
    done, missing = [], []
    with _server(options) as (cortex, _):
        for ref in options.refs:
            try:
                done.append(cortex.forget(ref))
            except NotHere:
                missing.append(ref)
    for ref in missing:
        warn(f"{ref} is not here")
    return Outcome(
        data={"forgotten": done, "not_here": missing},
        text=lambda terminal: cards.forgotten(terminal, done),
        exit=_exit(not missing),
    )


# -- Conversations -------------------------------------------------------------------------------


def list_sessions(options: argparse.Namespace) -> Outcome:
    kept = [
        {"session_id": session_id, "held": len(buffer.held)}
        for session_id, buffer in kept_sessions(settings.access(options.url))
    ]
    return Outcome(
        data={"sessions": kept}, text=lambda terminal: cards.sessions(terminal, kept), exit=_exit(kept)
    )


def show_session(options: argparse.Namespace) -> Outcome:
    with _server(options) as (cortex, access):
        path = file_of(access, options.session)
        buffer, kept = kept_buffer(path), path.exists()
        try:
            server: Any = cortex.session(options.session)
        except NotHere:
            server = None
    held = [memory.to_wire() for memory in buffer.held.values()]
    answer = {"session_id": options.session, "held": held, "server": server}
    return Outcome(
        data=answer, text=lambda terminal: cards.held(terminal, answer), exit=_exit(kept or server)
    )


def drop_from_session(options: argparse.Namespace) -> Outcome:
    path = file_of(settings.access(options.url), options.session)
    if not path.exists():
        raise Usage(f"no conversation {options.session!r} is kept here")
    before = kept_buffer(path)
    dropped = sorted(set(options.refs) & before.held.keys()) if options.refs else sorted(before.held)
    keep_buffer(path, before.without(dropped))
    return Outcome(
        data={"dropped": dropped},
        text=lambda _: "".join(f"{plain(ref)} will come again\n" for ref in dropped),
        exit=_exit(dropped),
    )


def end_session(options: argparse.Namespace) -> Outcome:
    with _server(options) as (cortex, access):
        path = file_of(access, options.session)
        kept = path.exists()
        path.unlink(missing_ok=True)
        try:
            cortex.end_session(options.session)
        except NotHere:
            if not kept:
                raise
    return Outcome(data={"ended": options.session}, text=lambda _: f"{plain(options.session)} has ended\n")


def _go_on(options: argparse.Namespace, task: str, asked: dict[str, Any]) -> Outcome:
    with _server(options) as (cortex, access):
        path = file_of(access, options.session)
        chat = Conversation(cortex, options.session, buffer=kept_buffer(path), **asked)
        turn = chat.ask(task)
    keep_buffer(path, chat.buffer)
    if options.markdown:
        return Outcome(text=lambda _: _plain_lines(turn.markdown()))
    answer = _as_data(options.session, turn)
    return Outcome(
        data=answer,
        text=lambda terminal: cards.turn(terminal, answer),
        exit=_exit(turn.coverage["status"] in _ANSWERING),
    )


def _as_data(session_id: str, turn: Turn) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "task": turn.task,
        "pack": [memory.to_wire() for memory in turn.pack],
        "new": [memory.ref for memory in turn.new],
        "evicted": list(turn.delta.evicted),
        "superseded": dict(turn.delta.superseded),
        "retracted": list(turn.delta.retracted),
        "coverage": turn.coverage,
        "tokens": turn.tokens,
        "tokens_saved": turn.delta.tokens_saved,
        "receipt": turn.receipt,
    }


# -- Whole vaults --------------------------------------------------------------------------------


def take_in(options: argparse.Namespace) -> Outcome:
    if options.file == STDIN:
        lines = sys.stdin.buffer.read()
    else:
        try:
            lines = Path(options.file).read_bytes()
        except OSError as error:
            raise Usage(f"{options.file} cannot be read: {error.strerror}") from error
    with _server(options) as (cortex, _):
        report = cortex.import_lines(lines)
    return Outcome(data=report, text=lambda terminal: cards.imported(terminal, report))


def give_out(options: argparse.Namespace) -> Outcome:
    with _server(options) as (cortex, _):
        lines = cortex.export()
    if options.output is None:
        return Outcome(raw=lines)
    path = Path(options.output)
    settings.write_private(path, lines.decode())
    rows = lines.count(b"\n") - 1
    return Outcome(
        data={"rows": rows, "file": str(path)}, text=lambda _: f"{rows} rows are in {plain(str(path))}\n"
    )


# -- The token, and the shell --------------------------------------------------------------------


def set_token(options: argparse.Namespace) -> Outcome:
    shown = sys.stdin.isatty()
    token = (getpass.getpass("Token (it is not shown): ") if shown else sys.stdin.readline()).strip()
    if not token or not token.isascii() or any(character.isspace() for character in token):
        raise Usage("that is no token: it is one word, such as ctx_…")
    url = settings.chosen_url(options.url)
    path = settings.keep(url=url, token=token)
    return Outcome(
        data={"url": url, "file": str(path)},
        text=lambda _: f"The token for {plain(url)} is kept in {plain(str(path))}.\n",
    )


def show_token(options: argparse.Namespace) -> Outcome:
    access = settings.access(options.url)
    return Outcome(
        data={"url": access.url, "token_from": access.origin},
        text=lambda _: f"{plain(access.url)}, with a token from {plain(access.origin)}\n",
    )


def check_token(options: argparse.Namespace) -> Outcome:
    with _server(options) as (cortex, access):
        names = [tool["name"] for tool in cortex.tools()]
    return Outcome(
        data={"url": access.url, "token_from": access.origin, "tools": names},
        text=lambda _: (
            f"{plain(access.url)} knows the token. It may use: {plain(', '.join(names)) or 'no tool'}\n"
        ),
    )


def complete(options: argparse.Namespace) -> Outcome:
    from cortex_client.cli.parsing import build_parser  # which names this module's verbs

    return Outcome(raw=completion.script(options.shell, build_parser()).encode())


# -- What they share -----------------------------------------------------------------------------


class _server:
    """A server as the command line names it, for the length of a block."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._access = settings.access(options.url)
        try:
            self._cortex = Cortex(
                self._access.url, self._access.token, vault=options.vault, timeout=options.timeout
            )
        except ValueError as error:
            raise Usage(str(error)) from error

    def __enter__(self) -> tuple[Cortex, Access]:
        return self._cortex, self._access

    def __exit__(self, *ended: object) -> None:
        self._cortex.close()


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given; the server has its own defaults for the others."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _said(text: str) -> str:
    """Return an argument, or what standard input holds where it is `-`.

    Raises: Usage where there is nothing, or no text.
    """
    if text == STDIN:
        try:
            text = sys.stdin.buffer.read().decode().strip()
        except UnicodeDecodeError as error:
            raise Usage("standard input holds no UTF-8 text") from error
    if not text.strip():
        raise Usage("there is no text")
    return text


def _confirm(options: argparse.Namespace) -> None:
    if options.yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Usage("nobody can be asked here: say --yes to forget")
    sys.stderr.write(f"Erase {', '.join(plain(ref) for ref in options.refs)} for good? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Usage("nothing was forgotten")


def _plain_lines(text: str) -> str:
    return "".join(f"{plain(line)}\n" for line in text.splitlines())


def _exit(found: object) -> Exit:
    return Exit.DONE if found else Exit.NOTHING_FOUND
