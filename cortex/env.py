"""Typed readers of the environment that fail loudly; `settings` is their only user."""

import os
import secrets
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

_env = environ.Env()


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


def number(name: str, default: int, *, least: int = 0) -> int:
    raw = text(name, str(default))
    if not raw.lstrip("-").isdigit() or int(raw) < least:
        raise ImproperlyConfigured(f"{name}={raw!r} is no whole number of at least {least}")
    return int(raw)


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    raw = text(name, default)
    if raw not in allowed:
        raise ImproperlyConfigured(f"{name}={raw!r} is none of {', '.join(allowed)}")
    return raw


def words(name: str, default: str) -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def database(name: str, default: str) -> dict[str, Any]:
    """Read a database URL and add the options that each engine needs."""
    config: dict[str, Any] = _env.db_url_config(text(name, default))
    if config["ENGINE"].endswith("sqlite3"):
        return config | _sqlite_options()
    if config["ENGINE"].endswith("postgresql"):
        return config | _postgres_options()
    raise ImproperlyConfigured(f"{name} must be a sqlite:/// or postgres:// URL")


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


def secret_key(name: str, keep_in: Path, *, production: bool) -> str:
    """Return the signing key: from the environment, else one generated once beside the database."""
    if given := text(name):
        return given
    if production:
        raise ImproperlyConfigured(f"{name} is required in production")
    if not keep_in.exists():
        keep_in.parent.mkdir(parents=True, exist_ok=True)
        keep_in.touch(mode=0o600)
        keep_in.write_text(secrets.token_urlsafe(48))
    return keep_in.read_text().strip()
