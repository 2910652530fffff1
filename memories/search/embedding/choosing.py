"""Which embedder is in use. Choosing one loads nothing: a model is loaded by the first text that needs it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memories.search.embedding import minilm, multilingual, static
from memories.search.embedding.base import Embedder
from memories.search.embedding.endpoint import Endpoint, EndpointEmbedder
from memories.search.embedding.hashing import HashEmbedder

AUTO: Final = "auto"
NONE: Final = "none"
ENDPOINT: Final = "endpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way to embed on this machine, and which packages it lacks."""

    make: Callable[[], Embedder]
    missing_packages: Callable[[], tuple[str, ...]]


KINDS: Final[Mapping[str, Kind]] = {
    "minilm": Kind(make=minilm.MiniLmEmbedder, missing_packages=minilm.missing_packages),
    "static": Kind(make=static.StaticEmbedder, missing_packages=static.missing_packages),
    "hash": Kind(make=HashEmbedder, missing_packages=lambda: ()),
    "multilingual": Kind(
        make=multilingual.MultilingualEmbedder, missing_packages=multilingual.missing_packages
    ),
}
BEST_FIRST: Final = ("minilm", "static", "hash")


def active_embedder() -> Embedder | None:
    """Return the embedder that CORTEX_EMBEDDER names; None where meaning is not searched.

    Raises: ImproperlyConfigured where it is not installed.
    """
    choice = settings.CORTEX_EMBEDDER
    if choice == NONE:
        return None
    if choice == ENDPOINT:
        return _asking(_endpoint())
    return _made(best_installed() if choice == AUTO else choice)


def best_installed() -> str:
    return next(name for name in BEST_FIRST if not KINDS[name].missing_packages())


def lack_of(choice: str) -> str | None:
    """Say what the named embedder lacks, and how to get it; None where it lacks nothing."""
    kind = KINDS.get(choice)
    missing = kind.missing_packages() if kind else ()
    if not missing:
        return None
    return (
        f"CORTEX_EMBEDDER={choice} needs {', '.join(missing)}, not installed here. Install with: "
        f"pip install -r requirements/{choice}.lock (or choose CORTEX_EMBEDDER=auto)"
    )


@cache
def _made(name: str) -> Embedder:
    """Make the one embedder of this process that has a name."""
    if lack := lack_of(name):
        raise ImproperlyConfigured(lack)
    return KINDS[name].make()


@cache
def _asking(endpoint: Endpoint) -> EndpointEmbedder:
    return EndpointEmbedder(endpoint)


def _forget() -> None:
    """Let a forked process make its own: of its parent's locks some may be held by threads that it has not."""
    _made.cache_clear()
    _asking.cache_clear()


os.register_at_fork(after_in_child=_forget)


def _endpoint() -> Endpoint:
    return Endpoint(
        url=settings.CORTEX_EMBED_URL,
        key=settings.CORTEX_EMBED_KEY,
        model=settings.CORTEX_EMBED_MODEL,
        seconds=settings.CORTEX_EMBED_SECONDS,
    )
