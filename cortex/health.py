"""Whether the process lives, and whether it can serve; open without a token, free of anybody's data."""

from collections.abc import Callable, Mapping
from typing import Final

from django.apps import apps
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from memories.search import embedding, fulltext

OK: Final = "ok"


def healthz(request: HttpRequest) -> JsonResponse:
    """The process lives; no database is asked, so a database that is down restarts nothing."""
    return JsonResponse({"status": OK})


def readyz(request: HttpRequest) -> JsonResponse:
    """Every part that an answer needs, each with its state; 503 where one is not there."""
    parts = {name: _state(check) for name, check in _CHECKS.items()}
    ready = all(state == OK for name, state in parts.items() if name != "embedder")
    return JsonResponse({"status": OK if ready else "unavailable", **parts}, status=200 if ready else 503)


def _state(check: Callable[[], str]) -> str:
    try:
        return check()
    except DatabaseError as error:
        return f"failed: {type(error).__name__}"


def _database() -> str:
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))
    missing = sorted({model._meta.db_table for model in apps.get_models(include_auto_created=True)} - there)
    return f"without {', '.join(missing)}" if missing else OK


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    graph, ours = executor.loader.graph, executor.loader.migrated_apps
    if waiting := executor.migration_plan(graph.leaf_nodes()):
        return f"{len(waiting)} to apply"
    newer = [key for key in executor.loader.applied_migrations if key[0] in ours and key not in graph.nodes]
    return f"{len(newer)} of a newer version" if newer else OK


def _indexes() -> str:
    fulltext.check()
    return OK


def _embedder() -> str:
    active = embedding.active_embedder()
    return active.name if active else "none"


_CHECKS: Final[Mapping[str, Callable[[], str]]] = {
    "database": _database,
    "migrations": _migrations,
    "indexes": _indexes,
    "embedder": _embedder,
}
