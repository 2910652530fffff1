"""Our own output coming back as captured text: found, taken out, and what is new around it kept.

A pack is known by its structure (the keys of its JSON, the header and lines of its markdown), never by a mere
mention of a ref: who writes about a memory says something new.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from memories.core.marks import (
    CITATION,
    DROP_PREFIX,
    EMPTY_PACK,
    HELD_PREFIX,
    NOTE_PREFIX,
    NOTHING_NEW,
    PACK_HEADER,
    SECTION,
)

_PASSES: Final = 4  # what is taken out may join two halves into a whole
_WORK_PER_CHARACTER: Final = (
    8  # failed attempts to read JSON may cost this much, so that hostile text stays cheap
)
_COST_OF_TOO_DEEP: Final = 100_000
_DEPTH_SEARCHED: Final = 12

# Each set of keys makes an object ours: the envelope, the json pack, the answer to a query, one memory object.
_SHAPES: Final = (
    frozenset({"smp", "items"}),
    frozenset({"smp", "legend"}),
    frozenset({"layers", "budget", "coverage"}),
    frozenset({"mql", "items", "returned"}),
    frozenset({"ref", "content", "layer", "relevance", "why"}),
)
_HINTS: Final = ('"smp"', '"coverage"', '"mql"', '"relevance"', '\\"smp\\"', '\\"coverage\\"', PACK_HEADER)
# What carries an answer without saying anything itself: tool results and remote calls.
_TRANSPORT_KEYS: Final = frozenset(
    {
        *(
            "jsonrpc",
            "id",
            "result",
            "content",
            "type",
            "text",
            "structuredContent",
            "isError",
            "is_error",
            "_meta",
        ),
        *(
            "name",
            "tool",
            "tool_use_id",
            "tool_call_id",
            "role",
            "output",
            "body",
            "data",
            "response",
            "context",
        ),
    }
)
_OBJECT_START: Final = re.compile(r'\{\s{0,200}"')
_TORN_ENVELOPE: Final = re.compile(
    r'\{\s{0,20}"smp"\s{0,20}:\s{0,20}"\d{1,3}"\s{0,20},\s{0,20}"legend"\s{0,20}:'
)
_EMPTY_FENCE: Final = re.compile(
    r"^[ \t>]*(?:```|~~~)[\w+-]{0,20}[ \t]*\n\s*(?:```|~~~)[ \t]*$", re.MULTILINE
)
_BLANK_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")
_DECODER: Final = json.JSONDecoder()


def strip_own_output(text: str) -> str:
    """Return what a text says beside our own packs and envelopes; a text without any comes back as it is.

    Args:
        text: captured text, in which a pack may stand alone, in a code fence, or amid prose.
    Returns: the rest, possibly empty.
    """
    rest = text
    for _ in range(_PASSES):
        before = rest
        rest = _without_markdown_packs(_without_json_packs(rest))
        if rest == before:
            break
    return text if rest == text else _tidied(rest)


def _tidied(rest: str) -> str:
    rest = _BLANK_LINES.sub("\n\n", _EMPTY_FENCE.sub("", rest)).strip()
    return rest if any(character.isalnum() for character in rest) else ""


# -- JSON ----------------------------------------------------------------------------------------


def _without_json_packs(text: str) -> str:
    if not any(hint in text for hint in _HINTS):
        return text
    kept: list[str] = []
    position = 0
    for start, end in _own_spans(text):
        kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]])


def _own_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where an object of ours starts and ends, from left to right."""
    work = _WORK_PER_CHARACTER * len(text) + _COST_OF_TOO_DEEP
    found = _OBJECT_START.search(text)
    while found is not None and work > 0:
        start = found.start()
        value, end, cost = _read_object(text, start)
        work -= cost
        if end is not None and _is_whole_ours(value):
            yield start, end
        elif end is None or _holds_ours(value):
            end = start + 1  # no JSON, or ours stands inside of it
        found = _OBJECT_START.search(text, end)


def _read_object(text: str, start: int) -> tuple[Any, int | None, int]:
    """Return (value, end, cost) of the JSON object that starts here; the end is None where there is none."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        if _TORN_ENVELOPE.match(text, start):
            return {"smp": "", "legend": None}, _end_of_torn(text, start), len(text) - start
        return None, None, error.pos - start + error.pos // 16  # the error counted all lines before it
    except (RecursionError, ValueError):  # too deep, or a number of too many digits
        return None, None, _COST_OF_TOO_DEEP
    return value, end, end - start


def _end_of_torn(text: str, start: int) -> int:
    """An envelope that was cut off reaches to the next blank line, or to the end."""
    end = text.find("\n\n", start)
    return len(text) if end < 0 else end


def _is_whole_ours(value: Any) -> bool:
    """Tell whether an object is ours, or a mere carrier of ours."""
    return _is_ours(value) or (_is_transport(value) and _holds_ours(value))


def _is_ours(value: Any) -> bool:
    return isinstance(value, dict) and any(shape <= value.keys() for shape in _SHAPES)


def _is_transport(value: Any, depth: int = 0) -> bool:
    """Tell whether an object and all that it nests, down to what is ours, only carries."""
    if _is_ours(value) or not isinstance(value, dict | list):
        return True
    if depth > _DEPTH_SEARCHED:
        return False
    if isinstance(value, list):
        return all(_is_transport(each, depth + 1) for each in value)
    return value.keys() <= _TRANSPORT_KEYS and all(_is_transport(each, depth + 1) for each in value.values())


def _holds_ours(value: Any, depth: int = 0) -> bool:
    if depth > _DEPTH_SEARCHED:
        return False
    if isinstance(value, str):
        return _is_our_text(value)
    if isinstance(value, list):
        return any(_holds_ours(each, depth + 1) for each in value)
    if isinstance(value, dict):
        return _is_ours(value) or any(_holds_ours(each, depth + 1) for each in value.values())
    return False


def _is_our_text(text: str) -> bool:
    """Tell whether a JSON string holds one of our answers and nothing else."""
    if text.startswith(PACK_HEADER):
        return not _tidied(_without_markdown_packs(text))
    if not text.startswith("{") or not any(hint in text for hint in _HINTS):
        return False
    value, end, _ = _read_object(text, 0)
    return end is not None and _is_ours(value) and not text[end:].strip()


# -- Markdown ------------------------------------------------------------------------------------


def _without_markdown_packs(text: str) -> str:
    if "[mem_" not in text and EMPTY_PACK not in text and NOTHING_NEW not in text and PACK_HEADER not in text:
        return text
    return "".join(_new_lines(text))


def _new_lines(text: str) -> Iterator[str]:
    """Yield the lines that are no part of a markdown pack."""
    inside = False
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        bare = line.strip().removeprefix("> ")
        if PACK_HEADER in bare:
            inside = True
            yield from _around_header(line)
        elif inside and (not bare or _is_pack_line(bare)):
            continue
        elif SECTION.fullmatch(bare) and index + 1 < len(lines) and _is_memory_line(lines[index + 1].strip()):
            inside = True
        elif bare not in {EMPTY_PACK, NOTHING_NEW} and not _is_notice(bare):
            inside = False
            yield line


def _around_header(line: str) -> Iterator[str]:
    """Yield what stands before and after a pack in one line, where its line breaks were lost."""
    before, _, after = line.partition(PACK_HEADER)
    end = max((match.end() for match in CITATION.finditer(after)), default=0)
    rest = before.removeprefix("> ").rstrip() + " " + after[end:].strip()
    if rest.strip():
        yield rest.strip() + "\n"


def _is_pack_line(bare: str) -> bool:
    return (
        bool(SECTION.fullmatch(bare))
        or _is_memory_line(bare)
        or bare.startswith(NOTE_PREFIX)
        or _is_notice(bare)
    )


def _is_memory_line(bare: str) -> bool:
    citation = CITATION.search(bare, max(0, len(bare) - 18))
    return bare.startswith("- ") and citation is not None and citation.end() == len(bare)


def _is_notice(bare: str) -> bool:
    return bare.startswith((f"{HELD_PREFIX}mem_", f"{DROP_PREFIX}mem_"))
