"""The vault as a whole: figures, export, import."""

from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from cortex.api.serializers import refuse_query
from cortex.errors import NotAllowed
from memories.access import Caller, caller_of
from memories.idempotency import Answer
from memories.models import Scope
from memories.stats import stats_of
from memories.transfer import export_lines, import_lines
from memories.transfer.parsers import LINES_PARSERS, NDJSON
from memories.views.base import IDEMPOTENCY_KEY, LargeBodies, MemoriesView, answer_once


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


class ExportView(MemoriesView):
    scopes: ClassVar[dict[str, Scope]] = {"GET": Scope.ADMIN}

    @extend_schema(
        operation_id="vault_export",
        responses={(200, NDJSON): OpenApiTypes.STR},
        description="The whole vault as JSON Lines, the number of rows of each class first. Nothing expired is in it.",
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        refuse_query(request)
        caller = caller_of(request)
        require_whole_vault(caller)
        lines = export_lines(caller.vault, now=timezone.now())
        return StreamingHttpResponse(
            lines,
            content_type=NDJSON,
            headers={"Content-Disposition": f'attachment; filename="{caller.vault.slug}.jsonl"'},
        )


class ImportView(LargeBodies, MemoriesView):
    scopes: ClassVar[dict[str, Scope]] = {"POST": Scope.ADMIN}
    parser_classes = LINES_PARSERS

    @extend_schema(
        operation_id="vault_import",
        request={NDJSON: OpenApiTypes.STR},
        parameters=[IDEMPOTENCY_KEY],
        responses={200: OpenApiTypes.OBJECT},
        description="Take exported lines in. The stored row wins; what is skipped is listed with its reason.",
    )
    def post(self, request: Request) -> Response:
        refuse_query(request)
        caller = caller_of(request)
        require_whole_vault(caller)
        lines: Any = request.data  # of our own parser: a list of bytes
        return answer_once(request, lambda: _import(caller, lines))


def require_whole_vault(caller: Caller) -> None:
    if caller.projects is not None:
        raise NotAllowed("this call needs a token that is not limited to projects")


def _import(caller: Caller, lines: list[bytes]) -> Answer:
    report = import_lines(caller.vault, lines, now=timezone.now())
    return Answer(status=200, body=report.as_wire())
