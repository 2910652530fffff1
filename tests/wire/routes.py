"""Every route, those under /v1/ with the methods that they answer, read off the map of URLs itself."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
OPEN = {("GET", "schema")}


class Route(NamedTuple):
    method: str
    path: str  # as the URLconf writes it, below /v1/


def every_route() -> set[Route]:
    return {
        Route(method, path.removeprefix("v1/"))
        for path, view in _patterns(get_resolver().url_patterns)
        if path.startswith("v1/")
        for method in METHODS
        if hasattr(view, method.lower())
    }


def guarded_routes() -> set[Route]:
    """Return the routes that want a token: all but the description of all of them."""
    return {route for route in every_route() if tuple(route) not in OPEN}


def other_paths() -> set[str]:
    """Return what is not under /v1/, as the URLconf writes it."""
    return {path for path, _ in _patterns(get_resolver().url_patterns) if not path.startswith("v1/")}


def _patterns(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            yield path, getattr(pattern.callback, "cls", pattern.callback)
