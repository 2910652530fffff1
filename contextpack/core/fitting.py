"""An answer for a model that takes only so much at once: long texts are cut, then long lists, and it says so."""

from collections.abc import Mapping
from typing import Any, Final

from contextpack.core.canonical import wire_text
from contextpack.core.tokens import TokenFamily, estimate_tokens

ANSWER_TOKENS: Final = 25_000  # what common clients take of a tool
TRUNCATED: Final = "truncated"

_TEXTS: Final = frozenset({"content", "text", "markdown", "summary"})  # never a ref, an address or a cursor
_LONGEST: Final = 65_536  # characters
_SHORTEST: Final = 64
_STATED: Final = 200  # tokens kept for saying what was cut


def answer_tokens(result: Mapping[str, Any]) -> int:
    """Estimate what an answer costs the reader whose tokenizer splits finest."""
    return estimate_tokens(wire_text(result), TokenFamily.CLAUDE_4_8)


def fitted(result: Mapping[str, Any], *, limit: int = ANSWER_TOKENS) -> Mapping[str, Any]:
    """Return an answer of at most `limit` tokens.

    Returns: the same one where it fits; else a copy whose texts (at their ends) and, where that is not enough,
        whose lists are cut, with the field `truncated` that says so.
    """
    if answer_tokens(result) <= limit:
        return result
    longest = _LONGEST
    cut: Mapping[str, Any] = result
    while longest >= _SHORTEST:
        cut = _with_texts_of(longest, result)
        if answer_tokens(cut) <= limit - _STATED:
            return {**cut, TRUNCATED: f"texts are cut after {longest} characters, to fit {limit} tokens"}
        longest //= 2
    most = _longest_list(cut)
    while most > 1 and answer_tokens(cut) > limit - _STATED:
        most //= 2
        cut = _with_lists_of(most, cut)
    return {**cut, TRUNCATED: f"texts are cut, and lists after {most} entries, to fit {limit} tokens"}


def _with_texts_of(longest: int, value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _with_texts_of(longest, part, key) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with_texts_of(longest, part, name) for part in value]
    if isinstance(value, str) and name in _TEXTS and len(value) > longest:
        return f"{value[:longest]}… [cut: {len(value) - longest} more characters]"
    return value


def _with_lists_of(most: int, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_lists_of(most, part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with_lists_of(most, part) for part in value[:most]]
    return value


def _longest_list(value: Any) -> int:
    if isinstance(value, Mapping):
        return max((_longest_list(part) for part in value.values()), default=0)
    if isinstance(value, list | tuple):
        return max([len(value), *map(_longest_list, value)])
    return 0
