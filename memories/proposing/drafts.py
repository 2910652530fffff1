"""What a language model said of a text, judged: each draft strictly read, and none kept that quotes what is not there."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rest_framework import serializers

from cortex.api.serializers import StrictCharField, StrictFloatField, StrictSerializer
from memories.core.extraction import LONGEST_DRAFT
from memories.core.kinds import Kind
from memories.proposing.chat import AnswerUnusable
from memories.serializers import NamesField, choices_of

MOST_DRAFTS: Final = 50
SHORTEST_QUOTE: Final = 3
_FENCE: Final = re.compile(r"\s*```(?:json)?\s*\n(?P<inside>.*)\n\s*```\s*", re.DOTALL)


class DraftSerializer(StrictSerializer):
    content = StrictCharField(max_length=LONGEST_DRAFT)
    kind = serializers.ChoiceField(choices=choices_of(Kind))
    quote = StrictCharField(max_length=LONGEST_DRAFT, min_length=SHORTEST_QUOTE)
    entities = NamesField(max_length=20, required=False)
    confidence = StrictFloatField(min_value=0, max_value=1, required=False, allow_null=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The drafts that stand, and how many were dropped, by reason."""

    drafts: tuple[Mapping[str, Any], ...]
    dropped: Counter[str]


def judged(said: str, text: str) -> Judged:
    """Read a model's answer about a text.

    Raises: AnswerUnusable where it is not the JSON object that was asked for.
    """
    fenced = _FENCE.fullmatch(said)
    try:
        answer = json.loads(fenced["inside"] if fenced else said)
    except (ValueError, RecursionError):
        raise AnswerUnusable("the model answered no JSON") from None
    listed = answer.get("memories") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise AnswerUnusable("the model listed no memories")
    drafts: list[Mapping[str, Any]] = []
    dropped = Counter[str]({"too many": len(listed[MOST_DRAFTS:])})
    for item in listed[:MOST_DRAFTS]:
        reader = DraftSerializer(data=item)
        if not reader.is_valid():
            dropped["malformed"] += 1
        elif reader.validated_data["quote"] not in text:
            dropped["quote not in the text"] += 1
        else:
            drafts.append(reader.validated_data)
    return Judged(drafts=tuple(drafts), dropped=+dropped)
