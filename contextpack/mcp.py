"""The tools over the Model Context Protocol: what `contextpack.core.mcp` asks for, and the HTTP view `/mcp`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any, ClassVar, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse
from django.http.request import validate_host
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request
from rest_framework.views import APIView

from contextpack.core.fitting import ANSWER_TOKENS, TRUNCATED, answer_tokens, fitted
from contextpack.core.mcp import BATCH_LIMIT, PARSE_ERROR, UNSTATED, Headers, Reply, answer, refusal
from contextpack.serializers import SchemaFormat
from contextpack.tools import TOOLS, call_tool, tool_schemas, tools_for
from cortex.api.parsing import StrictJSONParser
from cortex.api.problems import as_problem
from cortex.api.rendering import dump_json
from cortex.errors import NotAllowed, Unparsable
from memories.access import Caller, caller_of

EVENT_STREAM: Final = "text/event-stream"
JSON_TYPE: Final = "application/json"
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")

_QUERY: Final = "query_memory"
_MARKDOWN: Final = "markdown"
_ADVICE: Final[Mapping[int, Sequence[str]]] = {
    HTTPStatus.BAD_REQUEST: ("Correct the arguments and call again.",),
    HTTPStatus.NOT_FOUND: (
        "No such ref or id may be told here: look it up anew, with search or query_memory.",
    ),
    HTTPStatus.CONFLICT: (
        "Look at what is there now, with expand and direction document, and go on from there.",
    ),
    HTTPStatus.GONE: ("It was withdrawn and does not come back: ask again without it.",),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("Send less at once.",),
    HTTPStatus.UNPROCESSABLE_ENTITY: ("Correct the arguments and call again.",),
    HTTPStatus.SERVICE_UNAVAILABLE: ("Wait a moment and call again.",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallersTools:
    """The tools that a caller may use, as the protocol wants them."""

    caller: Caller

    def listed(self) -> Sequence[Mapping[str, Any]]:
        return tool_schemas(self.caller, SchemaFormat.MCP)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Run a tool. What it refuses is an answer that a model can act on, not an error of the protocol.

        Raises: NotAllowed for a tool that a person may still be asked for.
        """
        if name not in {tool.name for tool in tools_for(self.caller)}:
            if self.caller.by_consent and name in TOOLS:
                self.caller.require(TOOLS[name].scope)
            return None
        try:
            result = _result_that_fits(self.caller, name, arguments)
        except Exception as error:
            refused = as_problem(error, {})
            if refused is None:
                raise
            return {"content": [_text(_refusal_text(name, refused.data))], "isError": True}
        return {"content": [_text(_told(result))], "structuredContent": result, "isError": False}


def _result_that_fits(caller: Caller, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run a tool so that its answer fits: a query with fewer rows a page, whose cursor leads to the others."""
    now = timezone.now()
    result = call_tool(caller, name, arguments, now=now)
    while name == _QUERY and result["returned"] > 1 and answer_tokens(result) > ANSWER_TOKENS:
        k = result["returned"] // 2
        result = call_tool(caller, name, {**arguments, "k": k}, now=now)
        result = {
            **result,
            TRUNCATED: f"k was lowered to {k}, to fit {ANSWER_TOKENS} tokens; go on with cursor",
        }
    return fitted(result)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _told(result: Mapping[str, Any]) -> str:
    """Say all that an answer says: a pack of text as the text that it is, all else as JSON."""
    beside = {name: value for name, value in result.items() if name != _MARKDOWN}
    pack: str = result.get(_MARKDOWN, "")
    return pack + (dump_json(beside).decode() if beside else "")


def _refusal_text(name: str, problem: Mapping[str, Any]) -> str:
    """Say what was wrong, where, and what to do, so that the next call can be right."""
    lines = [f"{name} failed: {problem['detail']}"]
    lines += [f"- {error['field']}: {error['message']}" for error in problem.get("errors", ())]
    return "\n".join([*lines, *_ADVICE.get(problem["status"], ())])


# -- HTTP ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A body as it was read: the message, or why it holds none."""

    message: Any = None
    fault: str | None = None


class FrameParser(StrictJSONParser):
    """As strict as everywhere, but what cannot be read is answered in the protocol's own form."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return Frame(message=super().parse(stream, media_type, parser_context))
        except Unparsable as error:
            return Frame(fault=error.detail)


class McpView(APIView):
    """`POST /mcp`: one message in, one reply out, nothing kept. Each tool asks for its own scope."""

    scopes: ClassVar = {"POST": None}
    parser_classes = [FrameParser]
    http_method_names = ["post"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse what no token would make right, before anybody is asked for one."""
        if request.method != "POST":
            raise MethodNotAllowed(request.method or "")
        if not _is_welcome(request.headers.get("Origin")):
            raise NotAllowed("a page of this origin may not call here")
        super().initial(request, *args, **kwargs)

    @extend_schema(exclude=True)  # JSON-RPC: OpenAPI has no words for it
    def post(self, request: Request) -> HttpResponse:
        headers = Headers(
            version=_header(request, "MCP-Protocol-Version"),
            method=_header(request, "Mcp-Method"),
            name=_header(request, "Mcp-Name"),
        )
        read: Any = request.data
        frame = read if isinstance(read, Frame) else Frame(fault="the body is empty")
        if frame.fault is not None:
            reply = refusal(PARSE_ERROR, f"Parse error: {frame.fault}")
        else:
            self._count_batch(request, frame.message)
            tools = CallersTools(caller=caller_of(request))
            reply = answer(frame.message, tools, spoken=headers.version or UNSTATED, headers=headers)
        return _as_http(reply, events=_wants_events(request.headers.get("Accept", "")))

    def _count_batch(self, request: Request, message: Any) -> None:
        """Count every message of a batch as a call; the first one was counted with the request."""
        if isinstance(message, list):
            for _ in message[1:BATCH_LIMIT]:
                self.check_throttles(request)


def _header(request: Request, name: str) -> str | None:
    value = request.headers.get(name)
    return None if value is None else value.strip()


def _is_welcome(origin: str | None) -> bool:
    """Tell whether a browser may have sent this: only from a page of this very server, by any of its names."""
    if origin is None:
        return True
    try:
        host = urlsplit(origin).hostname or ""
    except ValueError:
        return False
    named = f"[{host}]" if ":" in host else host
    public = urlsplit(settings.CORTEX_PUBLIC_URL).hostname
    allowed = [*LOOPBACK, *settings.ALLOWED_HOSTS, *([public] if public else [])]
    return bool(named) and validate_host(named, allowed)


def _wants_events(accept: str) -> bool:
    """Tell whether a client takes an event stream and no JSON; whoever says neither gets JSON."""
    ranges = [_acceptable(part) for part in accept.lower().split(",")]
    return EVENT_STREAM in ranges and not {JSON_TYPE, "application/*", "*/*"} & set(ranges)


def _acceptable(part: str) -> str:
    """Return one range of an Accept header without its parameters; nothing where it says q=0."""
    name, *parameters = (piece.strip() for piece in part.split(";"))
    refused = any(piece.replace(" ", "") in {"q=0", "q=0.0", "q=0.00", "q=0.000"} for piece in parameters)
    return "" if refused else name


def _as_http(reply: Reply, *, events: bool) -> HttpResponse:
    if reply.body is None:
        response = HttpResponse(status=reply.status)
        del response["Content-Type"]
        return response
    body = dump_json(reply.body)
    if not events or reply.status >= 400:  # an error's status is read first, and its body as JSON
        return HttpResponse(body, status=reply.status, content_type=JSON_TYPE)
    frame = b"event: message\ndata: " + body + b"\n\n"
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return HttpResponse(frame, status=reply.status, content_type=EVENT_STREAM, headers=headers)
