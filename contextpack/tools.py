"""The tools: name → what it takes, which scope it needs, and the function that its REST twin calls as well."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings

from contextpack.answering import (
    CURSOR_HEADER,
    DELTA_CURSOR_HEADER,
    DELTA_HEADER,
    PIN_HEADER,
    RECEIPT_HEADER,
    answer_context,
)
from contextpack.core.mql import MQL_SCHEMA, Expand, Mql, parse_mql
from contextpack.navigating import expand, expand_as_asked
from contextpack.querying import answer_query
from contextpack.resultschemas import (
    EXPAND_RESULT,
    FETCH_RESULT,
    FORGET_MEMORY_RESULT,
    GET_CONTEXT_RESULT,
    PROPOSE_MEMORY_RESULT,
    QUERY_MEMORY_RESULT,
    REMEMBER_THIS_RESULT,
    SEARCH_RESULT,
    SUPERSEDE_MEMORY_RESULT,
)
from contextpack.serializers import ContextRequestSerializer, ExpandSerializer, SchemaFormat, context_request
from contextpack.toolschemas import (
    EXPAND,
    FETCH,
    FORGET_MEMORY,
    GET_CONTEXT,
    PROPOSE_MEMORY,
    REMEMBER_THIS,
    SEARCH,
    SUPERSEDE_MEMORY,
)
from cortex.api.parsing import check_text
from cortex.api.serializers import StrictCharField, StrictSerializer
from cortex.errors import NotHere
from memories.access import Caller
from memories.answers import capture_text, forget_memory, give_successor, propose_claim
from memories.core.text import head_sentence
from memories.idempotency import Answer
from memories.models import Memory, Scope, Source
from memories.serializers import CaptureSerializer, MemorySerializer, SupersedeSerializer

SEARCH_LIMIT: Final = 10
TITLE_LENGTH: Final = 80
UNCITED: Final = "cortex-memory://"  # the address of a memory that cites nothing
_WEB: Final = ("https://", "http://")
_FETCHED: Final = ("kind", "layer", "occurred_at", "superseded_by", "source_urls")

Arguments = Mapping[str, Any]
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One thing that an agent may do.

    `description` is what a model chooses by. `schema` is what it takes and `result` what it answers, both JSON
    Schema 2020-12 with an object at the root.
    """

    name: str
    title: str
    description: str
    scope: Scope
    schema: Mapping[str, Any]
    result: Mapping[str, Any]
    run: Callable[[Caller, Arguments, datetime], Result]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True

    @property
    def hints(self) -> dict[str, bool]:
        """The four hints of the Model Context Protocol, each said outright."""
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": False,
        }


def call_tool(caller: Caller, name: str, arguments: Arguments, *, now: datetime) -> Result:
    """Run a tool.

    Raises: NotHere for a tool that does not exist or that the caller may not use; what the tool raises.
    """
    tool = TOOLS.get(name)
    if tool is None or not caller.may(tool.scope):
        raise NotHere("there is no such tool")
    check_text(arguments)
    return tool.run(caller, arguments, now)


def writes(name: str) -> bool:
    """Tell whether a tool changes anything; one that does not exist changes nothing."""
    tool = TOOLS.get(name)
    return tool is not None and not tool.read_only


def tools_for(caller: Caller) -> list[Tool]:
    """Return the tools that a caller may use."""
    return [tool for tool in TOOLS.values() if caller.may(tool.scope)]


def tool_schemas(caller: Caller, shape: SchemaFormat) -> list[dict[str, Any]]:
    """Describe the tools that a caller may use in the shape that a provider's function calling expects."""
    return [_SHAPES[shape](tool) for tool in tools_for(caller)]


def _as_openai(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _as_openai_response(tool: Tool) -> dict[str, Any]:
    """As the Responses API has it; not strict, since strictness knows no fields that may be left out."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", **function, "strict": False}


def _as_anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _as_mcp(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.schema,
        "outputSchema": tool.result,
        "annotations": {"title": tool.title, **tool.hints},
    }


_SHAPES: Final[Mapping[SchemaFormat, Callable[[Tool], dict[str, Any]]]] = {
    SchemaFormat.OPENAI: _as_openai,
    SchemaFormat.OPENAI_RESPONSES: _as_openai_response,
    SchemaFormat.ANTHROPIC: _as_anthropic,
    SchemaFormat.MCP: _as_mcp,
}


# -- What they do --------------------------------------------------------------------------------


class _SearchSerializer(StrictSerializer):
    query = StrictCharField(max_length=8_000)


class _FetchSerializer(StrictSerializer):
    id = StrictCharField(max_length=100)


class _ForgetSerializer(StrictSerializer):
    ref = StrictCharField(max_length=100)


class _SupersedeToolSerializer(SupersedeSerializer):
    """As over REST, with the ref beside the rest."""

    ref = StrictCharField(max_length=100)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {"ref": attrs["ref"], **super().validate({k: v for k, v in attrs.items() if k != "ref"})}


def _get_context(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    request = context_request(caller, ContextRequestSerializer.read(arguments), now=now)
    answer = answer_context(caller, request)
    told = answer.headers
    delta = {"delta": told[DELTA_HEADER]} if DELTA_HEADER in told else {}
    if not isinstance(answer.body, str):
        return {**answer.body, **delta}
    return {
        "markdown": answer.body,
        "cursor": told.get(CURSOR_HEADER),
        "delta_cursor": told.get(DELTA_CURSOR_HEADER),
        "receipt": _named(told.get(RECEIPT_HEADER)),
        "pin": _named(told.get(PIN_HEADER)),
        **delta,
    }


def _named(id_: str | None) -> Mapping[str, str] | None:
    """Return what the other formats have in this place, as far as a header tells it."""
    return None if id_ is None else {"id": id_}


def _query_memory(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    return answer_query(caller, parse_mql(arguments), now=now)


def _expand(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    return expand_as_asked(caller, ExpandSerializer.read(arguments), now=now)


def _search(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    query = _SearchSerializer.read(arguments)["query"]
    items = answer_query(caller, Mql(find=query, k=SEARCH_LIMIT), now=now)["items"]
    addresses = _addresses(caller, [item["ref"] for item in items])
    return {
        "results": [
            {
                "id": item["ref"],
                "title": _title(item["content"]),
                "url": addresses[item["ref"]],
                "text": item["content"],
            }
            for item in items
        ]
    }


def _fetch(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    ref = _FetchSerializer.read(arguments)["id"]
    if not Memory.objects.visible_to(caller).servable(now).filter(ref=ref).exists():
        raise NotHere
    document = expand(caller, ref=ref, direction=Expand.DOCUMENT, now=now)["document"]
    return {
        "id": ref,
        "title": _title(document["content"]),
        "text": document["content"],
        "url": _addresses(caller, [ref])[ref],
        "metadata": {name: document[name] for name in _FETCHED},
    }


def _remember_this(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    return _body(capture_text(caller, CaptureSerializer.read(arguments), now=now))


def _propose_memory(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    return _body(propose_claim(caller, MemorySerializer.read(arguments), now=now))


def _supersede_memory(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    asked = _SupersedeToolSerializer.read(arguments)
    values = {name: value for name, value in asked.items() if name != "ref"}
    return _body(give_successor(caller, asked["ref"], values, now=now))


def _forget_memory(caller: Caller, arguments: Arguments, now: datetime) -> Result:
    return _body(forget_memory(caller, _ForgetSerializer.read(arguments)["ref"], now=now))


def _body(answer: Answer) -> Result:
    body: Result = answer.body
    return body


def _addresses(caller: Caller, refs: Sequence[str]) -> dict[str, str]:
    """Return where a citation of each memory leads, never nothing: a client that gets no address cites nothing.

    That is the memory's own page where people reach this server, else what it cites, a web address first.
    """
    if settings.CORTEX_PUBLIC_URL:
        return {ref: f"{settings.CORTEX_PUBLIC_URL}/m/{ref}" for ref in refs}
    vault_id = caller.vault.pk
    rows = Source.objects.filter(vault_id=vault_id, memory__vault_id=vault_id, memory__ref__in=refs)
    cited: dict[str, list[str]] = {ref: [] for ref in refs}
    for ref, url in rows.order_by("added_at", "url", "pk").values_list("memory__ref", "url"):
        cited[ref].append(url)
    return {ref: _best_of(urls) or f"{UNCITED}{ref}" for ref, urls in cited.items()}


def _best_of(urls: Sequence[str]) -> str | None:
    return next((url for url in urls if url.startswith(_WEB)), next(iter(urls), None))


def _title(content: str) -> str:
    return head_sentence(content, TITLE_LENGTH)


TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool
    for tool in (
        Tool(
            name="get_context",
            title="Get context",
            description=(
                "What is known here that matters for a task: cited, current memories, fitted to a token budget. "
                "Call it first, before you answer or act on anything about the user, their people, projects or "
                "decisions, with the task in plain words. Say your model's name, and the same session_id throughout "
                "a conversation. It never says what is not stored: a weak coverage means that nothing matches."
            ),
            scope=Scope.READ,
            schema=GET_CONTEXT,
            result=GET_CONTEXT_RESULT,
            run=_get_context,
            idempotent=False,  # with a session_id it advances the session
        ),
        Tool(
            name="query_memory",
            title="Query memory",
            description=(
                "List memories by filters: layers, entities, time, relevance, trust, project. Use it when the request "
                "says all or every, or names a kind, a person, a period or a day: all that was decided about "
                "something, what was believed back then. To prepare an answer, get_context is better; to find one "
                "memory by its words, search. Exactly one of find (a search) and ask (a question) is needed."
            ),
            scope=Scope.READ,
            schema=MQL_SCHEMA,
            result=QUERY_MEMORY_RESULT,
            run=_query_memory,
        ),
        Tool(
            name="expand",
            title="Expand a ref",
            description=(
                "Go on from a ref of an earlier answer: its sources, what it replaced and what replaced it "
                "(document), what else is known of the same people and things (neighbors), or, with the cursor as "
                "ref, the next page of query_memory (more). To read only its text, fetch is enough."
            ),
            scope=Scope.READ,
            schema=EXPAND,
            result=EXPAND_RESULT,
            run=_expand,
        ),
        Tool(
            name="search",
            title="Search",
            description=(
                "Search the memories in plain words; gives ten ids with titles and texts, best first. For a plain "
                "lookup, and to find the memory that somebody means before you fetch, supersede or forget it. To "
                "prepare an answer, get_context is better; to filter or to list all, query_memory."
            ),
            scope=Scope.READ,
            schema=SEARCH,
            result=SEARCH_RESULT,
            run=_search,
        ),
        Tool(
            name="fetch",
            title="Fetch",
            description=(
                "Read one memory in full by its id from search, or by a ref. For its sources, its history and what "
                "is related to it, use expand. An id that is not here is an error."
            ),
            scope=Scope.READ,
            schema=FETCH,
            result=FETCH_RESULT,
            run=_fetch,
        ),
        Tool(
            name="remember_this",
            title="Remember this",
            description=(
                "Keep a text as evidence and remember the facts, decisions, preferences and events in it. Use it when "
                "the user says something worth knowing later, in the user's own words, or gives you a text to keep. "
                "For what you concluded yourself use propose_memory; where it changes a memory, supersede_memory."
            ),
            scope=Scope.WRITE,
            schema=REMEMBER_THIS,
            result=REMEMBER_THIS_RESULT,
            run=_remember_this,
            read_only=False,
            idempotent=False,  # said again, it is one occurrence more
        ),
        Tool(
            name="propose_memory",
            title="Propose a memory",
            description=(
                "Propose one claim of your own; it is served only after a person has approved it. Use it for what you "
                "concluded, noticed or guess rather than what you were told, which goes to remember_this."
            ),
            scope=Scope.WRITE,
            schema=PROPOSE_MEMORY,
            result=PROPOSE_MEMORY_RESULT,
            run=_propose_memory,
            read_only=False,
            idempotent=False,  # said again, it is one occurrence more
        ),
        Tool(
            name="supersede_memory",
            title="Supersede a memory",
            description=(
                "Say that a memory is no longer true, and what is true instead; the old text stays in the history. "
                "Use it for corrections and changes; find its ref with search where you have none. Not for what "
                "shall be gone: that is forget_memory."
            ),
            scope=Scope.WRITE,
            schema=SUPERSEDE_MEMORY,
            result=SUPERSEDE_MEMORY_RESULT,
            run=_supersede_memory,
            read_only=False,
            destructive=True,
            idempotent=False,
        ),
        Tool(
            name="forget_memory",
            title="Forget a memory",
            description=(
                "Erase a memory and every copy of its text, for good. Only when the user asks that it be gone; to "
                "correct something use supersede_memory instead. Find its ref with search where you have none."
            ),
            scope=Scope.WRITE,
            schema=FORGET_MEMORY,
            result=FORGET_MEMORY_RESULT,
            run=_forget_memory,
            read_only=False,
            destructive=True,
            idempotent=False,
        ),
    )
}
