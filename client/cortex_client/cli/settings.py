"""Which server and which token: from the environment, else from the file that `cortex token set` writes."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cortex_client.cli.failing import Unauthorised, Usage

DEFAULT_URL: Final = "http://127.0.0.1:8766"
URL: Final = "CORTEX_URL"
TOKEN: Final = "CORTEX_TOKEN"
_OWNER_ONLY: Final = 0o600
_OWNER_ONLY_FOLDER: Final = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A server and the token for it."""

    url: str
    token: str
    origin: str  # where the token is from, for people

    @property
    def fingerprint(self) -> str:
        """A name for this server seen with this token, from which neither can be read."""
        return hashlib.sha256(f"{self.url}\0{self.token}".encode()).hexdigest()[:16]


def config_file() -> Path:
    return _folder("XDG_CONFIG_HOME", ".config") / "config.json"


def state_folder() -> Path:
    return _folder("XDG_STATE_HOME", ".local/state")


def chosen_url(url: str | None) -> str:
    """Return the server that is meant: the one named, else of the environment, else of the file, else the default."""
    return (url or os.environ.get(URL) or kept().get("url") or DEFAULT_URL).rstrip("/")


def access(url: str | None) -> Access:
    """Return the server that is meant and the token for it.

    A token of the file goes only to the server that it was set for.

    Raises: Unauthorised where there is none.
    """
    server = chosen_url(url)
    if token := os.environ.get(TOKEN):
        return Access(url=server, token=token, origin=f"the environment ({TOKEN})")
    file = kept()
    if file.get("token") and file.get("url") == server:
        return Access(url=server, token=file["token"], origin=str(config_file()))
    raise Unauthorised(f"there is no token for {server}: set {TOKEN}, or run `cortex token set`")


def kept() -> dict[str, str]:
    """Return what the file holds; nothing where there is none.

    Raises: Usage where it cannot be read.
    """
    path = config_file()
    try:
        read: Any = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Usage(f"{path} cannot be read: {error}") from error
    if not isinstance(read, dict):
        raise Usage(f"{path} holds no object")
    return {name: value for name, value in read.items() if isinstance(value, str)}


def keep(*, url: str, token: str) -> Path:
    """Write the file anew, readable for its owner alone, and return where it is."""
    path = config_file()
    write_private(path, json.dumps({"url": url.rstrip("/"), "token": token}, indent=2) + "\n")
    return path


def write_private(path: Path, text: str) -> None:
    """Replace a file whole, so that no reader and no crash ever meets half of it.

    Raises: Usage where it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=_OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY), "w") as file:
            file.write(text)
        beside.replace(path)
    except OSError as error:
        raise Usage(f"{path} cannot be written: {error.strerror}") from error


def _folder(variable: str, default: str) -> Path:
    named = os.environ.get(variable)
    return (Path(named) if named else Path.home() / default) / "cortex"
