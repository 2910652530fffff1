"""`/metrics`: what the server did and how it is, for Prometheus; sums over all vaults, and nothing of any."""

import hmac
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from cortex.api.meters import meters
from cortex.api.serializers import refuse_query
from cortex.errors import NotAllowed
from cortex.health import pending_vectors
from memories.access import BearerAuthentication, Caller
from memories.models import Scope
from memories.search import embedding

if TYPE_CHECKING:  # it loads a web server of its own, which only whoever counts needs
    from prometheus_client import Metric

_UP_SECONDS: Final = 5
_UP: Final = "metrics_database_up"


class Watcher:
    """Whoever has one of the operator's own keys: no caller, for no vault is meant."""


class WatchersAuthentication(BearerAuthentication):
    """The operator's keys, known without a database; else an access token, unless a key for this is set."""

    def authenticate(self, request: Request) -> Any:
        secret = request.headers.get("Authorization", "").partition(" ")[2].strip()
        keys = [key for key in (settings.CORTEX_METRICS_TOKEN, settings.CORTEX_API_KEY) if key]
        # Each is compared, so that the time tells nothing of which.
        known = [hmac.compare_digest(secret.encode(), key.encode()) for key in keys]
        bearer = request.headers.get("Authorization", "").lower().startswith("bearer ")
        return (Watcher(), None) if bearer and any(known) else super().authenticate(request)


class MayWatch(BasePermission):
    """The figures are the whole server's: a vault's admin reads them only where the operator set no key of its own."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        if isinstance(user, Watcher):
            return True
        if not isinstance(user, Caller):
            return False
        if settings.CORTEX_METRICS_TOKEN:
            raise NotAllowed("the figures of this server are for CORTEX_METRICS_TOKEN")
        user.require(Scope.ADMIN)
        return True


class MetricsView(APIView):
    """`GET /metrics`, in Prometheus's text format."""

    authentication_classes = [WatchersAuthentication]
    permission_classes = [MayWatch]

    @extend_schema(exclude=True)  # its form is Prometheus's own
    def get(self, request: Request) -> HttpResponse:
        refuse_query(request)
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

        registry = CollectorRegistry()
        meters.collect_into(registry)
        registry.register(_Readings())
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Readings:
    """What is looked up when somebody asks."""

    def collect(self) -> Iterable["Metric"]:
        return _read()


def _read() -> Iterator["Metric"]:
    from prometheus_client.metrics_core import GaugeMetricFamily

    is_up = _database_is_up()
    yield GaugeMetricFamily("cortex_database_up", "1 where the database answers", value=float(is_up))
    pending = pending_vectors() if is_up else None
    if pending is not None:
        says = "Memories that no search by meaning finds yet"
        yield GaugeMetricFamily("cortex_pending_vectors", says, value=pending)
    active = embedding.active_embedder()
    chosen = GaugeMetricFamily(
        "cortex_embedder_info", "The embedder in use; none where there is none", labels=["name"]
    )
    chosen.add_metric([active.name if active else "none"], 1)
    yield chosen


def _database_is_up() -> bool:
    return bool(cache.get_or_set(_UP, _answers, _UP_SECONDS))


def _answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
