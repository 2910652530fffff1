"""The command line: verbs, options, and the examples that `--help` shows."""

import argparse
from collections.abc import Callable
from typing import Any, Final

from cortex_client.cli import verbs
from cortex_client.cli.completion import SHELLS
from cortex_client.cli.settings import DEFAULT_URL

KINDS: Final = (
    "claim",
    "decision",
    "event",
    "preference",
    "observation",
    "action",
    "question",
    "summary",
    "style",
    "negative",
    "procedure",
)
LAYERS: Final = ("semantic", "episodic", "style", "decision", "preference", "negative", "procedural")
AUTHORS: Final = ("user", "agent", "import", "inferred")
DIRECTIONS: Final = ("document", "neighbors", "more")

_EXITS: Final = """\
exit codes:
  0 done · 1 nothing found · 2 usage, or a file · 3 refused by the server · 4 not authorised
  5 no answer from the server · 6 the server is busy · 130 stopped with Ctrl-C · 141 the reader of the output left

The server is --url, else CORTEX_URL, else what `cortex token set` kept, else """

Verb = Callable[..., Any]


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cortex",
        description="Ask Cortex, and tell it what to remember.",
        epilog=f"{_EXITS}{DEFAULT_URL}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    all_verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for add in (_ask, _find, _remember, _expand, _forget, _session, _import, _export, _token, _completion):
        add(all_verbs)
    return parser


def _ask(all_verbs: Any) -> None:
    verb = _verb(
        all_verbs,
        "ask",
        verbs.ask,
        "what is known for a task, fitted to a budget",
        "cortex ask 'Prepare the Atlas launch'",
        "cortex ask --markdown --model claude --budget 3000 'Prepare the Atlas launch' > context.md",
        "cortex ask --session chat-42 'And who tells the press?'   # only what is new travels",
    )
    verb.add_argument("task", help="what you are about to do, in plain words; - reads it from standard input")
    verb.add_argument("--model", help="what reads the answer, such as claude or gpt-4o")
    verb.add_argument("--budget", type=int, dest="token_budget", metavar="TOKENS", help="at least 300")
    _narrowing(verb)
    verb.add_argument(
        "--session", metavar="ID", help="go on with a conversation, and keep its buffer in a file"
    )
    verb.add_argument("--markdown", action="store_true", help="print text for a prompt, in a pipe as well")


def _find(all_verbs: Any) -> None:
    verb = _verb(
        all_verbs,
        "find",
        verbs.find,
        "look memories up",
        "cortex find 'status page'",
        "cortex find --layer decision --layer negative --min-relevance 0.1 'Atlas launch'",
        "cortex find --all --count 50 'launch date'   # what was replaced, too",
    )
    verb.add_argument("words", help="what to look for; - reads it from standard input")
    _narrowing(verb)
    verb.add_argument("--count", "-n", type=int, dest="k", help="most memories to return, 1 to 100 (10)")
    verb.add_argument("--min-relevance", type=float, help="0 to 1")
    verb.add_argument(
        "--all", action="store_false", dest="valid_only", default=None, help="replaced ones as well"
    )
    verb.add_argument("--cursor", help="the next page of the same query")


def _remember(all_verbs: Any) -> None:
    verb = _verb(
        all_verbs,
        "remember",
        verbs.remember,
        "keep something",
        "cortex remember --kind decision --author user 'The launch is on 12 May.'",
        "cortex remember --capture - < minutes.txt   # finds the facts, decisions and preferences in it",
    )
    verb.add_argument("text", help="what to keep; - reads it from standard input")
    verb.add_argument("--kind", choices=KINDS, help="what it is (claim)")
    verb.add_argument("--author", choices=AUTHORS, help="who says so: user is trusted most (agent)")
    verb.add_argument("--project", help="the project that it belongs to; left out: shared by all")
    verb.add_argument("--tag", action="append", dest="tags", metavar="TAG", help="may be repeated")
    verb.add_argument("--occurred-at", metavar="TIME", help="when it happened, such as 2026-05-12 (ISO-8601)")
    verb.add_argument("--url-of-source", metavar="URL", help="where it is from")
    verb.add_argument(
        "--capture", action="store_true", help="keep the text as evidence and extract memories from it"
    )


def _expand(all_verbs: Any) -> None:
    verb = _verb(
        all_verbs,
        "expand",
        verbs.expand,
        "go on from a ref: its whole text, sources and history",
        "cortex expand mem_657343170144",
        "cortex expand --direction neighbors mem_657343170144",
    )
    verb.add_argument("ref", help="of a memory; or, with --direction more, the cursor of a query")
    verb.add_argument("--direction", choices=DIRECTIONS, default="document", help="(document)")


def _forget(all_verbs: Any) -> None:
    verb = _verb(
        all_verbs,
        "forget",
        verbs.forget,
        "erase memories for good",
        "cortex forget mem_657343170144",
        "cortex find --json 'old office' | jq -r '.items[].ref' | xargs cortex forget --yes",
    )
    verb.add_argument("refs", nargs="+", metavar="ref", help="of a memory")
    verb.add_argument("--yes", "-y", action="store_true", help="do not ask; needed where nobody can be asked")


def _session(all_verbs: Any) -> None:
    steps = _group(
        all_verbs,
        "session",
        "the conversations of `cortex ask --session`",
        "cortex session list",
        "cortex session show chat-42",
        "cortex session drop chat-42 mem_657343170144   # lost in a compaction: it comes again",
        "cortex session end chat-42",
    )
    _verb(steps, "list", verbs.list_sessions, "which ones are kept here", "cortex session list")
    show = _verb(
        steps, "show", verbs.show_session, "the memories that one holds", "cortex session show chat-42"
    )
    show.add_argument("session", metavar="id")
    drop = _verb(
        steps,
        "drop",
        verbs.drop_from_session,
        "say that a text was lost, so that it comes again when it is needed",
        "cortex session drop chat-42 mem_657343170144",
        "cortex session drop chat-42   # all of it",
    )
    drop.add_argument("session", metavar="id")
    drop.add_argument("refs", nargs="*", metavar="ref", help="which; none: all")
    end = _verb(
        steps, "end", verbs.end_session, "forget one, here and on the server", "cortex session end chat-42"
    )
    end.add_argument("session", metavar="id")


def _import(all_verbs: Any) -> None:
    verb = _verb(
        all_verbs,
        "import",
        verbs.take_in,
        "put an export into the vault",
        "cortex import vault.jsonl",
        "cortex export | CORTEX_URL=https://elsewhere.example CORTEX_TOKEN=… cortex import -",
    )
    verb.add_argument("file", help="JSON Lines as `cortex export` writes them; - reads standard input")


def _export(all_verbs: Any) -> None:
    verb = _verb(
        all_verbs,
        "export",
        verbs.give_out,
        "the whole vault as JSON Lines",
        "cortex export --output vault.jsonl",
        "cortex export | gzip > vault.jsonl.gz",
    )
    verb.add_argument("--output", "-o", metavar="FILE", help="a file that its owner alone can read")


def _token(all_verbs: Any) -> None:
    steps = _group(
        all_verbs,
        "token",
        "the token that this command sends (`manage.py create_token` makes one)",
        "cortex token set                       # asks for it, and keeps it",
        "pass show cortex | cortex token set --url https://memory.example.org",
        "cortex token check",
    )
    _verb(
        steps,
        "set",
        verbs.set_token,
        "keep a token and its server; it is read from the terminal or standard input, and never shown",
        "cortex token set",
        "pass show cortex | cortex token set --url https://memory.example.org",
    )
    _verb(steps, "show", verbs.show_token, "where server and token are from", "cortex token show")
    _verb(
        steps, "check", verbs.check_token, "what the token may do, as the server says", "cortex token check"
    )


def _completion(all_verbs: Any) -> None:
    verb = _verb(
        all_verbs,
        "completion",
        verbs.complete,
        "a script that completes this command in a shell",
        'eval "$(cortex completion bash)"      # in ~/.bashrc',
        "cortex completion zsh > ~/.zfunc/_cortex",
        "cortex completion fish > ~/.config/fish/completions/cortex.fish",
    )
    verb.add_argument("shell", choices=SHELLS)


def _verb(steps: Any, name: str, run: Verb, help: str, *examples: str) -> argparse.ArgumentParser:
    parser = _described(steps, name, help, examples)
    parser.set_defaults(run=run, parser=parser)
    parser.add_argument("--url", help="the server")
    parser.add_argument("--vault", help="which vault an operator's key means; a token has its own")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="(30)")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", default=None, help="JSON, at a terminal as well")
    shape.add_argument("--text", action="store_false", dest="json", help="text, in a pipe as well")
    return parser


def _group(steps: Any, name: str, help: str, *examples: str) -> Any:
    parser = _described(steps, name, help, examples)
    return parser.add_subparsers(dest="step", metavar="STEP", required=True)


def _described(steps: Any, name: str, help: str, examples: tuple[str, ...]) -> argparse.ArgumentParser:
    shown = "".join(f"  {example}\n" for example in examples)
    parser: argparse.ArgumentParser = steps.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog=f"examples:\n{shown}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


def _narrowing(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--project", help="only this project, and what is shared by all")
    verb.add_argument(
        "--layer", action="append", dest="layers", choices=LAYERS, help="only this layer; may be repeated"
    )
    verb.add_argument(
        "--entity",
        action="append",
        dest="entities",
        metavar="NAME",
        help="only what is about it; may be repeated",
    )
    verb.add_argument("--as-of", metavar="TIME", help="what was true then (ISO-8601)")
    verb.add_argument("--known-at", metavar="TIME", help="what was known then (ISO-8601)")
