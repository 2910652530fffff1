"""What a shell needs to complete the command: read off its parser, so that no option is ever missing."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SHELLS: Final = ("bash", "zsh", "fish")

# Both shells count words from the command's own: 0 in bash, 1 in zsh, whose arrays the function makes alike.
_BASH: Final = """\
_cortex() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" path="" part words
  for part in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path $part" in
{paths}
    esac
  done
  COMPREPLY=()
  case "$path $before" in
{values}
    *)
      case "$path" in
{words}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _cortex cortex
"""
_ZSH: Final = """\
#compdef cortex
autoload -U +X bashcompinit && bashcompinit
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    flags: Sequence[str]
    about: str
    takes: bool  # whether a value follows
    choices: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What may follow a path of verbs, such as `token set`; the root's path is empty."""

    path: tuple[str, ...]
    steps: Mapping[str, str]  # the verb → what it is for
    options: Sequence[Option]
    words: Sequence[str]  # the choices of its arguments


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    levels = [*_levels(parser, ())]
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](levels)


def _levels(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Level]:
    steps: dict[str, str] = {}
    below: dict[str, argparse.ArgumentParser] = {}
    options, words = [], []
    for action in parser._actions:  # argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):
            below.update(action.choices)
            steps.update({choice.dest: choice.help or "" for choice in action._choices_actions})
        elif action.option_strings:
            options.append(
                Option(
                    flags=action.option_strings,
                    about=action.help or "",
                    takes=action.nargs != 0,
                    choices=[*(action.choices or ())],
                )
            )
        else:
            words += [*(action.choices or ())]
    yield Level(path=path, steps=steps, options=options, words=words)
    for name, step in below.items():
        yield from _levels(step, (*path, name))


def _bash(levels: Sequence[Level]) -> str:
    paths = [
        f'      "{_spelled(level.path)} {step}") path="{_spelled((*level.path, step))}" ;;'
        for level in levels
        for step in level.steps
    ]
    values = [
        f'    {"|".join(_quoted(level.path, flag) for flag in option.flags)}) words="{" ".join(option.choices)}" ;;'
        for level in levels
        for option in level.options
        if option.takes
    ]
    words = [f'        "{_spelled(level.path)}") words="{" ".join(_offered(level))}" ;;' for level in levels]
    return _BASH.format(paths="\n".join(paths), values="\n".join(values), words="\n".join(words))


def _zsh(levels: Sequence[Level]) -> str:
    return _ZSH + _bash(levels)


def _fish(levels: Sequence[Level]) -> str:
    lines = ["complete -c cortex -f -n __fish_use_subcommand"]
    for level in levels:
        within = _within(level)
        lines += [
            f"complete -c cortex -f {within} -a {step} -d {_said(about)}"
            for step, about in level.steps.items()
        ]
        lines += [f"complete -c cortex -f {within} -a '{' '.join(level.words)}'"] if level.words else []
        lines += [f"complete -c cortex {within} {_flags(option)}" for option in level.options]
    return "\n".join(lines) + "\n"


def _within(level: Level) -> str:
    if not level.path:
        return "-n __fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in level.path)
    others = " ".join(level.steps)
    return f"-n '{seen}{f'; and not __fish_seen_subcommand_from {others}' if others else ''}'"


def _flags(option: Option) -> str:
    named = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    value = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.takes else ""
    return f"{named}{value} -d {_said(option.about)}"


def _offered(level: Level) -> list[str]:
    return [*level.steps, *level.words, *(flag for option in level.options for flag in option.flags)]


def _spelled(path: tuple[str, ...]) -> str:
    return "".join(f"/{name}" for name in path)


def _quoted(path: tuple[str, ...], flag: str) -> str:
    return f'"{_spelled(path)} {flag}"'


def _said(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
