"""What each tool takes, as JSON Schema 2020-12 with an object at its root."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from contextpack.core.mql import Expand
from contextpack.core.types import DeltaMode, PackFormat
from memories.core.kinds import Kind, MemoryLayer

Schema = Mapping[str, Any]


def text(description: str, *, limit: int = 8_000) -> Schema:
    return {"type": "string", "description": description, "minLength": 1, "maxLength": limit}


def moment(description: str) -> Schema:
    return {
        "type": "string",
        "description": f"{description} (ISO-8601; without an offset it is UTC)",
        "maxLength": 40,
    }


def choice(description: str, words: Iterable[Any]) -> Schema:
    return {"type": "string", "description": description, "enum": [word.value for word in words]}


def listing(description: str, items: Schema, *, most: int = 20) -> Schema:
    return {"type": "array", "description": description, "items": items, "maxItems": most}


def selection(description: str, items: Schema) -> Schema:
    """A filter's list: read as "no filter", an empty one would widen what it is to narrow."""
    return {**listing(description, items), "minItems": 1}


def taking(properties: Mapping[str, Schema], *, required: Sequence[str]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


_MEMORY_FACTS: Final[Mapping[str, Schema]] = {
    "kind": choice("what it is", Kind),
    "layer": choice("where it belongs; follows from kind", MemoryLayer),
    "project": text("the project that it belongs to; left out: shared by all", limit=100),
    "confidence": {"type": "number", "minimum": 0, "maximum": 1, "description": "how sure you are"},
    "occurred_at": moment("when it happened or was observed"),
    "tags": listing("labels", text("a label", limit=100), most=50),
}

GET_CONTEXT: Final = taking(
    {
        "task": text("what you are about to do or answer, in plain words"),
        "format": choice(
            "smp: self-describing envelope; markdown: ready for a prompt; json: rows by layer", PackFormat
        ),
        "model": text("what you are, such as claude, gpt-4o or cursor", limit=200),
        "token_budget": {
            "type": "integer",
            "description": "most tokens that the pack may take; at least 300",
        },
        "session_id": text(
            "the same for all calls of one conversation: then you learn what changed", limit=200
        ),
        "since": {
            "type": "integer",
            "minimum": 0,
            "description": "the working_memory cursor that you applied last",
        },
        "dropped": listing("refs that you no longer hold", text("a ref", limit=40), most=1_024),
        "delta": choice("ids: every item and a delta; content: only items that you do not hold", DeltaMode),
        "project": {
            "type": "string",
            "description": "only this project and what is shared by all; empty: only what is shared",
            "maxLength": 100,
        },
        "layers": selection(
            "only these memory layers", {"type": "string", "enum": [m.value for m in MemoryLayer]}
        ),
        "entities": selection("only what is about these people or things", text("a name", limit=200)),
        "as_of": moment("what was true then"),
        "known_at": moment("what was known here then"),
        "pin": {"type": "boolean", "description": "keep this pack under an address"},
        "legend": {"type": "boolean", "description": "false leaves the legend out"},
        "cursor": text("the next page of the same request", limit=32_768),
    },
    required=["task"],
)
EXPAND: Final = taking(
    {
        "ref": text("a ref from an earlier answer; for more, the cursor of a query", limit=32_768),
        "direction": choice(
            "document: all of it; neighbors: what shares its entities; more: next page", Expand
        ),
        "as_of": moment("what was true then; not with more"),
        "known_at": moment("what was known here then; not with more"),
    },
    required=["ref"],
)
SEARCH: Final = taking({"query": text("what to look for, in plain words")}, required=["query"])
FETCH: Final = taking({"id": text("an id from search", limit=100)}, required=["id"])
REMEMBER_THIS: Final = taking(
    {
        "content": text("the text to keep, as it was said", limit=1_048_576),
        "title": text("what it is called", limit=500),
        "url": text("where it is from", limit=2_000),
        "source": text("the kind of place it is from, such as chat or mail", limit=200),
        "occurred_at": moment("when it was said"),
        "project": text("the project that it belongs to", limit=100),
        "author": {
            "type": "string",
            "enum": ["user", "agent", "import", "inferred"],
            "description": "who says so",
        },
    },
    required=["content"],
)
PROPOSE_MEMORY: Final = taking(
    {"content": text("one claim, complete in itself", limit=100_000), **_MEMORY_FACTS}, required=["content"]
)
SUPERSEDE_MEMORY: Final = taking(
    {
        "ref": text("the memory that is no longer true", limit=40),
        "content": text("what is true instead; or name a replacement", limit=100_000),
        "replacement": text("the ref of a memory that is true instead", limit=40),
        "reason": text("why", limit=2_000),
    },
    required=["ref"],
)
FORGET_MEMORY: Final = taking({"ref": text("the memory to erase", limit=40)}, required=["ref"])
