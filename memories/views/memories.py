"""/v1/memories, one by one and in bulk."""

from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from cortex.api.problems import flatten
from cortex.api.serializers import refuse_query
from cortex.errors import CortexError
from memories.access import Caller, caller_of
from memories.answers import forget_memory, remember_claim
from memories.filters import MemoryFilter
from memories.idempotency import Answer
from memories.paging import Order, take_page
from memories.reading import find_memory, readable_by
from memories.serializers import (
    BulkBody,
    BulkSerializer,
    MemoryAnswer,
    MemoryListQuery,
    MemoryPage,
    MemorySerializer,
    PatchSerializer,
    memory_input,
    stated_values,
)
from memories.showing import memory_for, shown
from memories.views.base import IDEMPOTENCY_KEY, LargeBodies, MemoriesView, answer_once
from memories.writing import MemoryInput, Outcome, amend, remember_many

NEWEST_FIRST = Order(column="captured_at", descending=True)


class MemoryListView(MemoriesView):
    @extend_schema(
        operation_id="memories_write",
        request=MemorySerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: MemoryAnswer, 200: MemoryAnswer},
        description="Remember one typed memory; 200 when it was there already, with one occurrence more.",
    )
    def post(self, request: Request) -> Response:
        asked = MemorySerializer.from_request(request)
        return answer_once(request, lambda: remember_claim(caller_of(request), asked, now=timezone.now()))

    @extend_schema(operation_id="memories_list", parameters=[MemoryListQuery], responses=MemoryPage)
    def get(self, request: Request) -> Response:
        caller, now = caller_of(request), timezone.now()
        asked = MemoryListQuery.from_request(request)
        rows = MemoryFilter(asked, queryset=readable_by(caller, at=now), caller=caller, now=now).qs
        page = take_page(rows, NEWEST_FIRST, kind="memories", caller=caller, asked=asked)
        return Response({"results": shown(caller, page.rows), "next": page.next})


class MemoryBulkView(LargeBodies, MemoriesView):
    @extend_schema(
        operation_id="memories_write_bulk",
        request=BulkBody,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: OpenApiTypes.OBJECT},
        description="Remember up to 1,000 memories. A bad item is reported in its place; the good ones are kept.",
    )
    def post(self, request: Request) -> Response:
        items = BulkSerializer.from_request(request)["memories"]
        return answer_once(request, lambda: _remember_all(caller_of(request), items))


class MemoryView(MemoriesView):
    @extend_schema(
        operation_id="memories_read",
        responses={200: OpenApiTypes.OBJECT},
        description="One memory whole: also its sources, its chain of supersessions and its conflicts; for reviewers the "
        "latest decisions about it.",
    )
    def get(self, request: Request, ref: str) -> Response:
        refuse_query(request)
        caller = caller_of(request)
        return Response(memory_for(caller, find_memory(caller, ref)))

    @extend_schema(operation_id="memories_amend", request=PatchSerializer, responses=MemoryAnswer)
    def patch(self, request: Request, ref: str) -> Response:
        changes = stated_values(PatchSerializer.from_request(request))
        caller = caller_of(request)
        memory = amend(caller, ref, changes, now=timezone.now())
        return Response(shown(caller, [memory])[0])

    @extend_schema(
        operation_id="memories_forget",
        responses={200: OpenApiTypes.OBJECT},
        description="Erase a memory and every copy of its text, then search for it by every arm and report.",
    )
    def delete(self, request: Request, ref: str) -> Response:
        refuse_query(request)
        return Response(forget_memory(caller_of(request), ref, now=timezone.now()).body)


# -- Bulk ----------------------------------------------------------------------------------------


def _remember_all(caller: Caller, items: list[Any]) -> Answer:
    read = _read_items(items)
    outcomes = remember_many(
        caller, [item for item in read if isinstance(item, MemoryInput)], now=timezone.now()
    )
    stored = iter(outcomes)
    results = [_told(next(stored)) if isinstance(item, MemoryInput) else item for item in read]
    return Answer(status=200, body={"results": results})


def _read_items(items: list[Any]) -> list[MemoryInput | dict[str, Any]]:
    """Read each item by itself, with one serializer: making a thousand of them would take longer than writing."""
    reader = MemorySerializer()
    return [_read_item(reader, item) for item in items]


def _read_item(reader: MemorySerializer, item: Any) -> MemoryInput | dict[str, Any]:
    try:
        return memory_input(reader.run_validation(item))
    except ValidationError as error:
        return _refusal(422, list(flatten(error.detail)))


def _told(result: Outcome | CortexError) -> dict[str, Any]:
    if isinstance(result, CortexError):
        return _refusal(result.status_hint, list(result.errors) or [("body", result.detail)])
    return {"status": 201 if result.created else 200, "ref": result.memory.ref}


def _refusal(status: int, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    errors = [{"field": field, "message": message} for field, message in pairs]
    return {"status": status, "errors": errors}
