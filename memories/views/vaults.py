"""The vault as a whole: figures, export, import."""

from typing import ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from cortex.api.serializers import refuse_query
from memories.access import caller_of
from memories.models import Scope
from memories.stats import stats_of
from memories.views.base import MemoriesView


class StatsView(MemoriesView):
    scopes: ClassVar[dict[str, Scope]] = {"GET": Scope.READ}

    @extend_schema(
        operation_id="stats_read",
        responses={200: OpenApiTypes.OBJECT},
        description="Counts by status, layer and kind; pending_vectors is 0 once all is searchable by meaning.",
    )
    def get(self, request: Request) -> Response:
        refuse_query(request)
        return Response(stats_of(caller_of(request)))
