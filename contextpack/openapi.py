"""What the calls answer, for the OpenAPI document: the schemas of the tools' answers, under names that generators keep."""

from collections.abc import Mapping
from typing import Any, Final

from contextpack.core.fitting import TRUNCATED
from contextpack.resultschemas import (
    EXPAND_RESULT,
    FORGET_MEMORY_RESULT,
    GET_CONTEXT_RESULT,
    ITEM,
    QUERY_MEMORY_RESULT,
    REMEMBER_THIS_RESULT,
)

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_OPEN: Final[Schema] = {"type": "object", "additionalProperties": {}}
_OBJECTS: Final[Schema] = {"type": "array", "items": _OPEN}
# What the tools say of a pack in its answer, and the route in headers or as a body of its own.
_TOLD_ELSEWHERE: Final = frozenset({TRUNCATED, "markdown", "delta", "delta_cursor"})

_WHOLE: Final[Schema] = {
    "allOf": [
        {"$ref": "#/components/schemas/MemoryAnswer"},
        {
            "type": "object",
            "properties": {
                "sources": _OBJECTS,
                "chain": _OBJECTS,
                "conflicts": _OBJECTS,
                "decisions": _OBJECTS,
                "proposes_superseding": _TEXTS,
                "withheld": {"type": "boolean"},
                "reviewed_at": {"type": ["string", "null"]},
                "reviewed_by": {"type": ["string", "null"]},
            },
            "required": ["sources", "chain", "conflicts", "proposes_superseding", "withheld"],
        },
    ]
}
_BULK: Final[Schema] = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"status": {"type": "integer"}, "ref": _TEXT, "errors": _OBJECTS},
                "required": ["status"],
            },
        }
    },
    "required": ["results"],
}
_TOOLS: Final[Schema] = {"type": "object", "properties": {"tools": _OBJECTS}, "required": ["tools"]}
_CALLED: Final[Schema] = {
    "type": "object",
    "properties": {"name": _TEXT, "result": _OPEN},
    "required": ["name", "result"],
}
_ANSWERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Item": ITEM,
    "Pack": GET_CONTEXT_RESULT,
    "QueryAnswer": QUERY_MEMORY_RESULT,
    "Expansion": EXPAND_RESULT,
    "CaptureAnswer": REMEMBER_THIS_RESULT,
    "Forgotten": FORGET_MEMORY_RESULT,
    "MemoryWhole": _WHOLE,
    "BulkAnswer": _BULK,
    "ToolList": _TOOLS,
    "ToolAnswer": _CALLED,
}
_ANSWERED_BY: Final[Mapping[str, str]] = {
    "get_context": "Pack",
    "post_context": "Pack",
    "get_query": "QueryAnswer",
    "post_query": "QueryAnswer",
    "expand": "Expansion",
    "captures_write": "CaptureAnswer",
    "memories_forget": "Forgotten",
    "memories_read": "MemoryWhole",
    "memories_write_bulk": "BulkAnswer",
    "tool_schema": "ToolList",
    "call_tool": "ToolAnswer",
}


def describe_answers(result: dict[str, Any], generator: Any, **_: Any) -> dict[str, Any]:
    """Let each of these operations name what it answers."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update({name: _described(schema) for name, schema in _ANSWERS.items()})
    for operations in result["paths"].values():
        for operation in operations.values():
            if name := _ANSWERED_BY.get(operation["operationId"]):
                _let_answer(operation, name)
    return result


def _let_answer(operation: Schema, name: str) -> None:
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            response["content"] = {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}},
                **({"text/markdown": {"schema": _TEXT}} if name == "Pack" else {}),
            }


def _described(schema: Mapping[str, Any]) -> Schema:
    """Return a copy in which items are references, and nothing is told that a route does not answer."""
    copied = {key: _with_references(value) for key, value in schema.items()}
    if "properties" in copied:
        told = {name: part for name, part in copied["properties"].items() if name not in _TOLD_ELSEWHERE}
        copied["properties"] = told
    return copied


def _with_references(value: Any) -> Any:
    if value == ITEM:
        return {"$ref": "#/components/schemas/Item"}
    if isinstance(value, Mapping):
        return {key: _with_references(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with_references(part) for part in value]
    return value
