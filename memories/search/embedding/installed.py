"""Where the files of installed packages lie, found without importing the packages."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from memories.search.embedding.base import UNKNOWN


@cache
def is_installed(module: str) -> bool:
    return find_spec(module) is not None


@cache
def file_in(module: str, *parts: str) -> Path | None:
    """Return a file that a top-level package carries; None where the package or the file is not there."""
    found = find_spec(module)
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder, *parts)
        if path.is_file():
            return path
    return None


@cache
def version_of(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return UNKNOWN
