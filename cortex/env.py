"""Typed readers of the environment that fail loudly; `settings` is their only user."""

import os
import re
import secrets
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

_env = environ.Env()
_LARGEST: Final = 2**63 - 1
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_DIGITS: Final = re.compile(r"-?[0-9]{1,18}")
_RATE: Final = re.compile(r"[1-9][0-9]{0,8}/(s|sec|second|m|min|minute|h|hour|d|day)")


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def flag(name: str, *, default: bool) -> bool:
    """Read a switch: 1/0, true/false, yes/no, on/off."""
    raw = text(name, "1" if default else "0").lower()
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name}={raw!r} is neither on nor off; write 1 or 0")


def number(name: str, default: int, *, least: int = 0, most: int = _LARGEST) -> int:
    raw = text(name, str(default))
    if not _DIGITS.fullmatch(raw) or not least <= int(raw) <= most:
        upto = "" if most == _LARGEST else f" and at most {most}"
        raise ImproperlyConfigured(f"{name}={raw!r} is no whole number of at least {least}{upto}")
    return int(raw)


def rate(name: str, default: str) -> str:
    """Read how many calls a period may see, such as 600/min; empty: as many as come."""
    raw = text(name, default)
    if raw and not _RATE.fullmatch(raw):
        raise ImproperlyConfigured(
            f"{name}={raw!r} is no rate; write 600/min (or /s, /hour, /day), or nothing for no limit"
        )
    return raw


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    raw = text(name, default)
    if raw not in allowed:
        raise ImproperlyConfigured(f"{name}={raw!r} is none of {', '.join(allowed)}")
    return raw


def web_address(name: str, *, required: bool = False) -> str:
    """Read the address of another server; it is not repeated in an error, for it may hold a password."""
    raw = text(name)
    if not raw and not required:
        return ""
    try:
        parts = urlsplit(raw)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ImproperlyConfigured(f"{name} must be the address of a server, http://… or https://…")
    return raw


def own_address(name: str, *, for_oauth: bool = False) -> str:
    """Read the address under which people and clients reach this server, without a slash at its end.

    Args:
        for_oauth: it names the issuer of tokens; then it is needed, holds no path, and is encrypted unless it never
            leaves the machine.
    """
    raw = text(name).rstrip("/")
    if not raw:
        if for_oauth:
            raise ImproperlyConfigured(f"CORTEX_OAUTH=1 needs {name}, such as https://memory.example.org")
        return ""
    try:
        parts = urlsplit(raw)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if (
        not usable
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
        or not raw.isprintable()
        or " " in raw
    ):
        raise ImproperlyConfigured(f"{name} must be an address such as https://memory.example.org")
    if for_oauth and parts.path:
        raise ImproperlyConfigured(f"{name}={raw!r} has a path; with CORTEX_OAUTH=1 it is a bare host")
    if for_oauth and parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise ImproperlyConfigured(f"{name}={raw!r} must begin with https:// where CORTEX_OAUTH=1")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}"


def require_package(name: str, *, needed_by: str, extra: str) -> None:
    if find_spec(name) is None:
        raise ImproperlyConfigured(
            f"{needed_by} needs packages that are not installed: pip install '.[{extra}]'"
        )


def words(name: str, default: str) -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def database(name: str, default: str) -> dict[str, Any]:
    """Read a database URL and add the options that each engine needs."""
    raw = text(name, default)
    scheme, separator, _ = raw.partition("://")
    engine = str(_env.DB_SCHEMES.get(scheme, "")) if separator else ""
    if not engine.endswith(("sqlite3", "postgresql")):
        raise ImproperlyConfigured(f"{name} must be a sqlite:/// or postgres:// URL")
    try:
        config: dict[str, Any] = _env.db_url_config(raw)
    except ValueError:  # it may quote the password
        raise ImproperlyConfigured(f"{name} cannot be read; is its port a number?") from None
    return config | (_sqlite_options() if engine.endswith("sqlite3") else _postgres_options())


def sqlite_file(path: Path) -> dict[str, Any]:
    """Return the settings of a database in a file, with the options that the engine needs."""
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)} | _sqlite_options()


def _sqlite_options() -> dict[str, Any]:
    # IMMEDIATE: a transaction that will write queues at its start instead of failing half way.
    # secure_delete: forgotten text is overwritten in the file, not only unlinked.
    # cache_size (KiB) and mmap_size: the default cache of 2 MB holds no vault; every pack would read it anew.
    pragmas = (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY; "
        "PRAGMA cache_size=-32768; PRAGMA mmap_size=268435456"
    )
    options = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": pragmas}
    return {"OPTIONS": options, "CONN_MAX_AGE": None, "ATOMIC_REQUESTS": False}


def _postgres_options() -> dict[str, Any]:
    # A prepared statement gets a generic plan that ignores how large the vault is.
    # Compiling a statement takes longer than any of ours runs.
    options = {"prepare_threshold": None, "connect_timeout": 5, "options": "-c jit=off"}
    return {"OPTIONS": options, "CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True, "ATOMIC_REQUESTS": False}


def folder(name: str, default: Path) -> Path:
    """Read where to keep something, and make the folder where it is not there."""
    path = Path(text(name) or default)
    return made(path, why=f"{name}={path}")


def made(path: Path, *, why: str) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{why}: the folder {path} cannot be made: {error.strerror}") from None
    return path


def secret_key(name: str, keep_in: Path, *, production: bool) -> str:
    """Return the signing key: from the environment, else one generated once beside the database."""
    if given := text(name):
        return given
    if production:
        raise ImproperlyConfigured(f"{name} is required in production")
    try:
        if not keep_in.exists():
            _keep_new_key(keep_in)
        kept = keep_in.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} is not set and {keep_in} cannot be used: {error.strerror}"
        ) from None
    if not kept:
        raise ImproperlyConfigured(f"{keep_in} is empty; remove it, and a new key is made")
    return kept


def _keep_new_key(path: Path) -> None:
    """Make a key whole under another name and give it its own only then: of two first starts, one wins."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-") as file:
        file.write(secrets.token_urlsafe(48))
        file.flush()
        with suppress(FileExistsError):
            path.hardlink_to(file.name)
