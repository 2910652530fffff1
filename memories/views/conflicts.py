"""/v1/conflicts: contradictions found on write, and which side stands."""

from typing import ClassVar

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import Caller, caller_of
from memories.idempotency import Answer
from memories.models import Scope
from memories.paging import Order, take_page
from memories.reading import conflicts_visible_to
from memories.serializers import ConflictListQuery, ResolveSerializer
from memories.showing import shown_conflicts
from memories.views.base import IDEMPOTENCY_KEY, MemoriesView, answer_once
from memories.writing import resolve_conflict

NEWEST_FIRST = Order(column="detected_at", descending=True)


class ConflictListView(MemoriesView):
    @extend_schema(
        operation_id="conflicts_list", parameters=[ConflictListQuery], responses={200: OpenApiTypes.OBJECT}
    )
    def get(self, request: Request) -> Response:
        caller = caller_of(request)
        asked = ConflictListQuery.from_request(request)
        rows = conflicts_visible_to(caller, at=timezone.now()).filter(
            resolved_at__isnull=not asked["resolved"]
        )
        page = take_page(rows, NEWEST_FIRST, kind="conflicts", caller=caller, asked=asked)
        return Response({"results": shown_conflicts(caller, page.rows), "next": page.next})


class ResolveConflictView(MemoriesView):
    scopes: ClassVar[dict[str, Scope]] = {"POST": Scope.REVIEW}

    @extend_schema(
        operation_id="conflicts_resolve",
        request=ResolveSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: OpenApiTypes.OBJECT},
        description="Keep one side, which then supersedes the other, or both, which clears the flag.",
    )
    def post(self, request: Request, ref: str) -> Response:
        keep = ResolveSerializer.from_request(request)["keep"]
        return answer_once(request, lambda: _resolve(caller_of(request), ref, keep))


def _resolve(caller: Caller, ref: str, keep: str) -> Answer:
    conflict = resolve_conflict(caller, ref, keep=keep, now=timezone.now())
    return Answer(status=200, body=shown_conflicts(caller, [conflict])[0])
