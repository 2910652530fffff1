"""An export as files: one file, a folder or a zip. Nothing is unpacked to disk, and nothing endless is read."""

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from memories.core.imports.drafts import Document, Unread

READ_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".md", ".markdown")
LARGEST_FILE: Final = 1024**3  # bytes, unpacked
LARGEST_EXPORT: Final = 4 * 1024**3
MOST_FILES: Final = 100_000
# Text packs to a tenth; what packs to less than a two-hundredth was made to burst.
MOST_PACKED: Final = 200
_SMALL: Final = 1024**2


class NoExport(Exception):
    """There is nothing to read at a path, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    documents: tuple[Document, ...]
    unread: tuple[Unread, ...]


def unpack(path: Path) -> Unpacked:
    """Read the files of an export that may hold memories.

    Returns: the files by their path inside it, and those that were not read, with the reason.
    Raises: NoExport.
    """
    try:
        if path.is_dir():
            found = list(_in_folder(path))
        elif zipfile.is_zipfile(path):
            found = list(_in_zip(path))
        else:
            found = [_read_file(path, path.name)]
    except OSError as error:
        raise NoExport(f"Cannot read {path}: {error.strerror or error}") from None
    except zipfile.BadZipFile as error:
        raise NoExport(f"{path} is no zip that can be read: {error}") from None
    documents = tuple(each for each in found if isinstance(each, Document))
    unread = tuple(each for each in found if isinstance(each, Unread))
    if not documents and not unread:
        raise NoExport(f"{path} holds no file that could be an export ({', '.join(READ_SUFFIXES)})")
    return Unpacked(documents=documents, unread=unread)


def _in_folder(path: Path) -> Iterator[Document | Unread]:
    files = (each for each in sorted(path.rglob("*")) if each.suffix.lower() in READ_SUFFIXES)
    for number, file in enumerate(files):
        name = file.relative_to(path).as_posix()
        if any(part.startswith(".") for part in file.relative_to(path).parts):
            continue  # what an editor keeps for itself
        if number >= MOST_FILES:
            yield Unread(place=name, reason=f"more than {MOST_FILES} files")
            return
        if file.is_symlink() or not file.is_file():
            yield Unread(place=name, reason="no plain file")
            continue
        yield _read_file(file, name)


def _read_file(file: Path, name: str) -> Document | Unread:
    if file.stat().st_size > LARGEST_FILE:
        return Unread(place=name, reason=f"larger than {LARGEST_FILE} bytes")
    return Document(name=name, data=file.read_bytes())


def _in_zip(path: Path) -> Iterator[Document | Unread]:
    left = LARGEST_EXPORT
    with zipfile.ZipFile(path) as archive:
        for number, member in enumerate(archive.infolist()):
            if member.is_dir() or PurePosixPath(member.filename).suffix.lower() not in READ_SUFFIXES:
                continue
            reason = f"more than {MOST_FILES} files" if number >= MOST_FILES else _refused(member)
            if reason is None:
                data = _unpacked(archive, member, limit=min(LARGEST_FILE, left))
                if isinstance(data, bytes):
                    left -= len(data)
                    yield Document(name=member.filename, data=data)
                    continue
                reason = data
            yield Unread(place=member.filename[:200], reason=reason)


def _refused(member: zipfile.ZipInfo) -> str | None:
    place = PurePosixPath(member.filename.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or ":" in place.parts[0]:
        return "its path leads out of the export"
    if member.flag_bits & 1:
        return "it is encrypted"
    if member.file_size > _SMALL and member.file_size > MOST_PACKED * max(member.compress_size, 1):
        return "it is packed too densely to be text"
    return None


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, *, limit: int) -> bytes | str:
    """Read a member, but no more of it than the limit and than it announces; or say why it cannot be read."""
    limit = min(limit, member.file_size)
    try:
        with archive.open(member) as file:
            data = file.read(limit + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        return f"it is damaged: {error}"
    return data if len(data) <= limit else "longer than it says, or than may be read"
