"""Translate in, ask one question, translate out."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from contextpack.answering import answer_context
from contextpack.books import find_pin, find_receipt, receipt_as_wire, why_not
from contextpack.core.mql import MQL_SCHEMA, from_query_params, parse_mql
from contextpack.navigating import expand_as_asked
from contextpack.querying import answer_query
from contextpack.replaying import replay
from contextpack.serializers import (
    ContextRequestSerializer,
    ExpandSerializer,
    Replay,
    SchemaFormat,
    ToolCallSerializer,
    ToolSchemaSerializer,
    context_request,
)
from contextpack.tools import call_tool, tool_schemas, writes
from cortex.api.serializers import check_query, refuse_query
from cortex.errors import Unprocessable
from memories.access import caller_of
from memories.idempotency import Answer
from memories.models import Scope
from memories.views.base import IDEMPOTENCY_KEY, answer_once

_PACK = OpenApiResponse(
    OpenApiTypes.OBJECT, description="a pack in the format asked for; text/markdown for format=markdown"
)
_REF = OpenApiParameter("ref", str, OpenApiParameter.PATH)


class ContextView(APIView):
    """`/v1/context`: the pack for a task."""

    scopes: ClassVar = {"GET": Scope.READ, "POST": Scope.READ}

    @extend_schema(
        operation_id="get_context",
        parameters=[ContextRequestSerializer],
        responses={200: _PACK},
        description=(
            "The pack for a task. An address holds 112,384 bytes, any task and a cursor; what stands between you and "
            "the server may take fewer. Send a long task or a long list of dropped refs by POST."
        ),
    )
    def get(self, request: Request) -> HttpResponse:
        return self._answer(request)

    @extend_schema(operation_id="post_context", request=ContextRequestSerializer, responses={200: _PACK})
    def post(self, request: Request) -> HttpResponse:
        return self._answer(request)

    def _answer(self, request: Request) -> HttpResponse:
        caller = caller_of(request)
        asked = context_request(caller, ContextRequestSerializer.from_request(request), now=timezone.now())
        answer = answer_context(caller, asked)
        return HttpResponse(answer.content, content_type=answer.content_type, headers=dict(answer.headers))


class QueryView(APIView):
    """`/v1/query`: the Memory Query Language."""

    scopes: ClassVar = {"GET": Scope.READ, "POST": Scope.READ}

    @extend_schema(
        operation_id="get_query",
        parameters=[
            OpenApiParameter(name, str, description=knob.get("description", ""))
            for name, knob in MQL_SCHEMA["properties"].items()
        ],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> Response:
        check_query(request)
        return self._answer(request, from_query_params(dict(request.query_params.lists())))

    @extend_schema(
        operation_id="post_query",
        request={"application/json": MQL_SCHEMA},
        responses={200: OpenApiTypes.OBJECT},
    )
    def post(self, request: Request) -> Response:
        refuse_query(request)
        return self._answer(request, request.data)

    def _answer(self, request: Request, body: Any) -> Response:
        if not isinstance(body, dict):
            raise Unprocessable("a query is an object", errors={"body": "an object is expected"})
        return Response(answer_query(caller_of(request), parse_mql(body), now=timezone.now()))


class ExpandView(APIView):
    """`/v1/expand`: onwards from a ref."""

    scopes: ClassVar = {"GET": Scope.READ}

    @extend_schema(operation_id="expand", parameters=[ExpandSerializer], responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        asked = ExpandSerializer.from_request(request)
        return Response(expand_as_asked(caller_of(request), asked, now=timezone.now()))


class ReceiptView(APIView):
    """`/v1/receipts/{ref}`: what was served, and why."""

    scopes: ClassVar = {"GET": Scope.READ}

    @extend_schema(operation_id="get_receipt", parameters=[_REF], responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, ref: str) -> Response:
        refuse_query(request)
        caller = caller_of(request)
        return Response(receipt_as_wire(caller, find_receipt(caller, ref)))


class WhyNotView(APIView):
    """`/v1/receipts/{ref}/why-not/{memory}`: what kept a memory out of a pack."""

    scopes: ClassVar = {"GET": Scope.READ}

    @extend_schema(
        operation_id="why_not",
        parameters=[_REF, OpenApiParameter("memory", str, OpenApiParameter.PATH)],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, ref: str, memory: str) -> Response:
        refuse_query(request)
        caller = caller_of(request)
        return Response(why_not(caller, find_receipt(caller, ref), memory))


class ReplayView(APIView):
    """`/v1/receipts/{ref}/replay`: the same candidates packed again."""

    scopes: ClassVar = {"GET": Scope.READ}

    @extend_schema(
        operation_id="replay_receipt",
        parameters=[_REF],
        responses={200: Replay},
        description=(
            "Packs the candidates of a receipt again, matched as they were, from what their memories are today, and "
            "compares: the same pack, or what became of candidates since and how the pack would differ. No memory "
            "text is told."
        ),
    )
    def get(self, request: Request, ref: str) -> Response:
        refuse_query(request)
        caller = caller_of(request)
        return Response(replay(caller, find_receipt(caller, ref), now=timezone.now()))


class PinView(APIView):
    """`/v1/pins/{ref}`: the same bytes for ever, as long as all of what they say may be served."""

    scopes: ClassVar = {"GET": Scope.READ}

    @extend_schema(operation_id="get_pin", parameters=[_REF], responses={200: _PACK})
    def get(self, request: Request, ref: str) -> HttpResponse:
        refuse_query(request)
        pin = find_pin(caller_of(request), ref, now=timezone.now())
        return HttpResponse(bytes(pin.body), content_type=pin.content_type)


class ToolCallView(APIView):
    """`/v1/tools/call`: the tools, for callers that speak no MCP. Each tool asks for its own scope."""

    scopes: ClassVar = {"POST": None}

    @extend_schema(
        operation_id="call_tool",
        request=ToolCallSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: OpenApiTypes.OBJECT},
        description="Run one tool. A key keeps a tool that writes from writing twice; reading tools ignore it.",
    )
    def post(self, request: Request) -> Response:
        asked = ToolCallSerializer.from_request(request)
        if writes(asked["name"]):
            return answer_once(request, lambda: _tool_answer(request, asked))
        return Response(_tool_answer(request, asked).body)


def _tool_answer(request: Request, asked: Mapping[str, Any]) -> Answer:
    name = asked["name"]
    result = call_tool(caller_of(request), name, asked.get("arguments", {}), now=timezone.now())
    return Answer(status=200, body={"name": name, "result": result})


class ToolSchemaView(APIView):
    """`/v1/tools/schema`: the tools that this token may use, in the shape that a provider expects."""

    scopes: ClassVar = {"GET": None}

    @extend_schema(
        operation_id="tool_schema", parameters=[ToolSchemaSerializer], responses={200: OpenApiTypes.OBJECT}
    )
    def get(self, request: Request) -> Response:
        asked = ToolSchemaSerializer.from_request(request)
        return Response({"tools": tool_schemas(caller_of(request), SchemaFormat(asked["format"]))})
