"""Anthropic's memory tool (`memory_20250818`) over Cortex: the files that Claude keeps under /memories are memories.

    files = MemoryFiles(Cortex("http://127.0.0.1:8766", "ctx_…"), project="chat-with-ana")
    text, failed = files.run(tool_use.input)

It needs no package of Anthropic's. A file is a memory whose first line names its path; to change it supersedes, so its
history stays, and to delete it forgets every version for good. What Claude notes down here every other agent of the vault
finds as well, with `get_context` and the rest.
"""

import inspect
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from cortex_client.calls import Cortex
from cortex_client.errors import Problem
from cortex_client.keyed import KeyedMemories, digest

TOOL: Final[Mapping[str, str]] = {"type": "memory_20250818", "name": "memory"}
ROOT: Final = "/memories"
DEPTH: Final = 2  # of a folder's listing

_NUMBERS: Final = frozenset({"view_range", "insert_line"})
_TAG: Final = "memory-tool"
_HEADER: Final = re.compile(r"(/memories/[^\n]+) \(write [0-9a-f]{8}\)\n")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\%]")


class Refused(Exception):
    """A command that cannot be done; its text tells the model why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str
    text: str
    row: Mapping[str, Any]

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self | None:
        header = _HEADER.match(row["content"])
        if header is None:
            return None  # its words were taken away
        return cls(path=header.group(1), text=row["content"][header.end() :], row=row)


class MemoryFiles:
    """The commands of the tool, each a method that returns what the model is told.

    Raises, from each: Refused; what the calls of `Cortex` raise. `run` raises neither for what a model does wrong.
    """

    def __init__(self, cortex: Cortex, *, project: str = "", author: str = "agent") -> None:
        """
        Args:
            project: keeps these files apart from those of others; empty: all of the vault share them.
        """
        self._kept = KeyedMemories(cortex, author=author)
        self._project = project

    def run(self, command: Mapping[str, Any]) -> tuple[str, bool]:
        """Do what a tool call asks; returns the text of its result, and whether that `is_error`."""
        commands: dict[str, Callable[..., str]] = {
            "view": self.view,
            "create": self.create,
            "str_replace": self.str_replace,
            "insert": self.insert,
            "delete": self.delete,
            "rename": self.rename,
        }
        asked = {name: value for name, value in command.items() if name != "command"}
        wanted = commands.get(str(command.get("command")))
        if wanted is None:
            return (
                f"Error: there is no command {command.get('command')!r}; there are {', '.join(commands)}",
                True,
            )
        if wrong := _wrong(wanted, asked):
            return f"Error: {wrong}", True
        try:
            return wanted(**asked), False
        except Refused as error:
            return f"Error: {error}", True
        except Problem as error:
            return f"Error: Cortex refused: {error}", True

    # -- The commands ----------------------------------------------------------------------------

    def view(self, path: str, view_range: tuple[int, int] | None = None) -> str:
        path = _checked(path)
        file = self._file(path)
        if file is not None:
            return (
                f"Here's the content of {path} with line numbers:\n{_numbered(path, file.text, view_range)}"
            )
        below = {file.path: len(file.text.encode()) for file in self._below(path)}
        if not below and path != ROOT:
            raise Refused(f"The path {path} does not exist. Please provide a valid path.")
        lines = "".join(f"{_size(size)}\t{name}\n" for name, size in _listed(path, below).items())
        return f"Here are the files and directories up to {DEPTH} levels deep in {path}:\n{lines}"

    def create(self, path: str, file_text: str) -> str:
        path = _file_path(path)
        if self._file(path) is not None:
            raise Refused(f"File {path} already exists")
        self._refuse_folder(path)
        self._refuse_file_above(path)
        return self._write(path, file_text, f"File created successfully at: {path}")

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        file = self._existing(path)
        lines = [file.text.count("\n", 0, found.start()) + 1 for found in _found(old_str, file.text)]
        if not lines:
            raise Refused(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {file.path}."
            )
        if len(lines) > 1:
            raise Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: "
                f"{', '.join(map(str, lines))}. Please ensure it is unique"
            )
        text = file.text.replace(old_str, new_str, 1)
        shown = _numbered(file.path, text, (max(1, lines[0] - 2), lines[0] + new_str.count("\n") + 2))
        return self._write(file.path, text, f"The memory file has been edited.\n{shown}")

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        file = self._existing(path)
        lines = re.findall(r"[^\n]*\n|[^\n]+", file.text)
        if not isinstance(insert_line, int) or not 0 <= insert_line <= len(lines):
            raise Refused(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range of lines of the file: "
                f"[0, {len(lines)}]"
            )
        if insert_line and not lines[insert_line - 1].endswith("\n"):
            lines[insert_line - 1] += "\n"
        ended = insert_text if insert_text.endswith("\n") else f"{insert_text}\n"
        text = "".join([*lines[:insert_line], ended, *lines[insert_line:]])
        return self._write(file.path, text, f"The file {file.path} has been edited.")

    def delete(self, path: str) -> str:
        path = _file_path(path)
        there = [file.path for file in (self._file(path),) if file] or [
            file.path for file in self._below(path)
        ]
        if not there:
            raise Refused(f"The path {path} does not exist")
        for name in there:
            self._kept.forget(self._at(name))
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        old, new = _file_path(old_path), _file_path(new_path)
        file = self._file(old)
        moved = [file] if file else [*self._below(old)]
        if not moved:
            raise Refused(f"The path {old} does not exist")
        if new == old or new.startswith(f"{old}/"):
            raise Refused(f"{old} cannot be moved to {new}")
        if self._file(new) is not None or any(self._below(new)):
            raise Refused(f"The destination {new} already exists")
        self._refuse_file_above(new)
        for one in moved:
            path = new + one.path.removeprefix(old)
            self._kept.move(dict(one.row), _packed(path, one.text), tags=self._tags(path))
        return f"Successfully renamed {old} to {new}"

    # -- Files -----------------------------------------------------------------------------------

    def _write(self, path: str, text: str, told: str) -> str:
        row = self._kept.write(
            self._at(path), _packed(path, text), project=self._project, tags=self._tags(path)
        )
        if "secret_masked" in row["flags"]:
            return f"{told}\nNote: what looks like a key, a password or a card number was masked in it."
        return told

    def _existing(self, path: str) -> _File:
        path = _file_path(path)
        file = self._file(path)
        if file is None:
            raise Refused(f"The path {path} does not exist. Please provide a valid path.")
        return file

    def _file(self, path: str) -> _File | None:
        row = self._kept.latest(self._at(path))
        return _File.read(row) if row else None

    def _below(self, folder: str) -> Iterator[_File]:
        """Yield the files below a folder, each once, as they were written last; those elsewhere are not asked for."""
        seen = set()
        tag = _TAG if folder == ROOT else self._under(folder)
        for row in self._kept.rows(tag, project=self._project):
            if row["superseded_by"] is not None or row["status"] == "archived":
                continue
            file = _File.read(row)
            if file is not None and file.path.startswith(f"{folder}/") and file.path not in seen:
                seen.add(file.path)
                yield file

    def _refuse_folder(self, path: str) -> None:
        if any(self._below(path)):
            raise Refused(f"{path} is a directory")

    def _refuse_file_above(self, path: str) -> None:
        for above in _folders(path):
            if self._file(above) is not None:
                raise Refused(f"{above} is a file, not a directory")

    def _at(self, path: str) -> str:
        return f"{_TAG}:{digest(self._project, path)}"

    def _tags(self, path: str) -> list[str]:
        return [_TAG, self._at(path), *(self._under(folder) for folder in _folders(path))]

    def _under(self, folder: str) -> str:
        return f"{_TAG}:under:{digest(self._project, folder)}"


# -- Arguments, paths and texts -----------------------------------------------------------------------------


def _wrong(command: Callable[..., str], asked: Mapping[str, Any]) -> str | None:
    """Tell what is wrong with the arguments of a command."""
    try:
        inspect.signature(command).bind(**asked)
    except TypeError as error:
        return str(error)
    texts = (name for name, value in asked.items() if name not in _NUMBERS and not isinstance(value, str))
    return next((f"{name} must be a text" for name in texts), None)


def _folders(path: str) -> Iterator[str]:
    """Yield the folders that a file is in, the innermost first, without the root."""
    above = path.rpartition("/")[0]
    while above != ROOT:
        yield above
        above = above.rpartition("/")[0]


def _checked(path: str) -> str:
    """Return a path below /memories in its plain form.

    Raises: Refused for every other path, and for one that climbs, hides something or is spelt with escapes.
    """
    if not (path == ROOT or path.startswith(f"{ROOT}/")):
        raise Refused(f"Path must start with {ROOT}, got: {path}")
    parts = [part for part in path.removeprefix(ROOT).split("/") if part]
    if _UNSAFE.search(path) or any(part in {".", ".."} or part != part.strip() for part in parts):
        raise Refused(
            f"Path {path} would escape the {ROOT} directory, or holds characters that no path may have"
        )
    return "/".join([ROOT, *parts])


def _file_path(path: str) -> str:
    checked = _checked(path)
    if checked == ROOT:
        raise Refused(f"{ROOT} itself cannot be changed: name a file or a directory in it")
    return checked


def _packed(path: str, text: str) -> str:
    """Return the text of a memory; `write` makes each one unlike all others, so that no two files fold into one."""
    return f"{path} (write {uuid.uuid4().hex[:8]})\n{text}"


def _found(part: str, text: str) -> list[re.Match[str]]:
    return [*re.finditer(re.escape(part), text)] if part else []


def _numbered(path: str, text: str, view_range: Any) -> str:
    lines = text.split("\n")
    first, last = 1, len(lines)
    if view_range is not None:
        if not _is_range(view_range):
            raise Refused(
                f"Invalid `view_range` for {path}: two line numbers are expected, the last may be -1"
            )
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else min(last, view_range[1])
    shown = enumerate(lines[first - 1 : last], start=first)
    return "\n".join(f"{number:6}\t{line}" for number, line in shown)


def _is_range(view_range: Any) -> bool:
    two = isinstance(view_range, (list, tuple)) and len(view_range) == 2
    return two and all(isinstance(line, int) for line in view_range)


def _listed(folder: str, files: Mapping[str, int]) -> dict[str, int]:
    """Return what a folder's listing names, the folder itself first; a folder is as large as its files."""
    sizes: dict[str, int] = {}
    for path, size in files.items():
        parts = path.removeprefix(f"{folder}/").split("/")
        for depth in range(1, min(len(parts), DEPTH) + 1):
            name = "/".join([folder, *parts[:depth]]) + ("/" if depth < len(parts) else "")
            sizes[name] = sizes.get(name, 0) + size
    return {folder: sum(files.values()), **dict(sorted(sizes.items()))}


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("K", "M"):
        if size >= 1_024:
            size, unit = size / 1_024, larger
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"
