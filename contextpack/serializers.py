"""How the questions of this app are read. What is not listed here is refused."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from rest_framework import serializers

from contextpack.core.mql import Expand
from contextpack.core.profiles import clamp_budget, resolve_profile
from contextpack.core.types import ContextRequest, DeltaMode, PackFormat
from contextpack.paging import read_context_page
from cortex.api.serializers import (
    MomentField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictSerializer,
    refuse_controls,
)
from cortex.errors import Unprocessable
from memories.access import Caller
from memories.core.kinds import MemoryLayer
from memories.core.secrets import mask_secrets
from memories.serializers import NamesField

TASK_LIMIT: Final = 8_000
LIST_LIMIT: Final = 20
DROPPED_LIMIT: Final = 1_024
CURSOR_LIMIT: Final = 32_768


class SchemaFormat(StrEnum):
    """Whose function-calling shape the tools are described in."""

    OPENAI = "openai"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"
    MCP = "mcp"


def _choices(words: type[Any]) -> list[tuple[str, str]]:
    return [(word.value, word.value) for word in words]


class DeltaCursorField(StrictIntegerField):
    """A delta's cursor: digits in a string, as `working_memory.cursor` has it, or the number itself."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, str) and data.isascii() and data.isdigit() and len(data) < 16:
            return int(data)
        return super().to_internal_value(data)


class ContextRequestSerializer(StrictSerializer):
    """The parameters of `/v1/context` and of the tool `get_context`; null means absent."""

    task = StrictCharField(max_length=TASK_LIMIT, help_text="what the answer is needed for, in plain words")
    format = serializers.ChoiceField(choices=_choices(PackFormat), default=PackFormat.JSON.value)
    model = StrictCharField(required=False, allow_null=True, allow_blank=True, max_length=200)
    token_budget = StrictIntegerField(required=False, allow_null=True)
    session_id = StrictCharField(
        required=False, allow_null=True, max_length=200, validators=[refuse_controls]
    )
    since = DeltaCursorField(required=False, allow_null=True, min_value=0, help_text="the delta applied last")
    dropped = NamesField(
        child=StrictCharField(max_length=40), required=False, allow_null=True, max_length=DROPPED_LIMIT
    )
    delta = serializers.ChoiceField(choices=_choices(DeltaMode), default=DeltaMode.IDS.value)
    project = StrictCharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=100,
        help_text="this project and what is shared by all; empty: only what is shared",
    )
    layers = NamesField(
        child=serializers.ChoiceField(choices=_choices(MemoryLayer)),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=LIST_LIMIT,
        help_text="only these; leave it out for all",
    )
    entities = NamesField(
        child=StrictCharField(max_length=200),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=LIST_LIMIT,
        help_text="only what is about one of these; leave it out for all",
    )
    as_of = MomentField(required=False, allow_null=True)
    known_at = MomentField(required=False, allow_null=True)
    pin = StrictBooleanField(default=False)
    legend = StrictBooleanField(default=True)
    cursor = StrictCharField(required=False, allow_null=True, max_length=CURSOR_LIMIT)


def context_request(caller: Caller, data: Mapping[str, Any], *, now: datetime) -> ContextRequest:
    """Resolve what was asked: the profile, the budget, the moments, the page.

    Raises: Unprocessable, or what reading a cursor raises.
    """
    session_fields = [name for name in ("since", "dropped") if data.get(name) is not None]
    if session_fields and not data.get("session_id"):
        raise Unprocessable(
            "a delta needs a session", errors=dict.fromkeys(session_fields, "needs session_id")
        )
    if data["delta"] == DeltaMode.CONTENT and not data.get("session_id"):
        raise Unprocessable("a delta needs a session", errors={"delta": "content needs session_id"})
    profile = resolve_profile(data.get("model"))
    request = ContextRequest(
        task=mask_secrets(data["task"])[0],  # what is asked is written down, and memories are masked as well
        format=PackFormat(data["format"]),
        model=data.get("model"),
        profile=profile,
        budget=clamp_budget(data.get("token_budget"), profile),
        now=now,
        as_of=data.get("as_of") or now,
        known_at=data.get("known_at") or now,
        project=data.get("project"),
        layers=tuple(MemoryLayer(layer) for layer in dict.fromkeys(data.get("layers") or ())),
        entities=tuple(dict.fromkeys(data.get("entities") or ())),
        session_id=data.get("session_id"),
        since=data.get("since"),
        dropped=tuple(data.get("dropped") or ()),
        delta=DeltaMode(data["delta"]),
        pin=data["pin"],
        legend=data["legend"],
    )
    if cursor := data.get("cursor"):
        return replace(request, **read_context_page(caller, cursor, request))
    return request


class ExpandSerializer(StrictSerializer):
    """The parameters of `/v1/expand` and of the tool `expand`."""

    ref = StrictCharField(
        max_length=CURSOR_LIMIT, help_text="a memory's or capture's ref; a mqlc: cursor for more"
    )
    direction = serializers.ChoiceField(choices=_choices(Expand), default=Expand.DOCUMENT.value)
    as_of = MomentField(required=False, allow_null=True, help_text="what was true then; not with more")
    known_at = MomentField(
        required=False, allow_null=True, help_text="by what was known here then; not with more"
    )


class ToolCallSerializer(StrictSerializer):
    """`POST /v1/tools/call`."""

    name = StrictCharField(max_length=100)
    arguments = serializers.JSONField(required=False)

    def validate_arguments(self, arguments: Any) -> Any:
        if not isinstance(arguments, dict):
            raise serializers.ValidationError("an object is expected")
        return arguments


class ToolSchemaSerializer(StrictSerializer):
    """`GET /v1/tools/schema`."""

    format = serializers.ChoiceField(choices=_choices(SchemaFormat), default=SchemaFormat.OPENAI.value)


# -- A replayed receipt, as the OpenAPI document has it --------------------------------------------


class ReplayChange(serializers.Serializer[Any]):
    ref = serializers.CharField()
    was = serializers.CharField(help_text="served, folded_into or outbid")
    now = serializers.CharField(
        help_text="forgotten redacted archived pending expired other_project superseded filtered, or amended: "
        "something that packing sees was changed of it"
    )
    replacement = serializers.CharField(allow_null=True, help_text="what stands in its place now")


class ReplayForm(serializers.Serializer[Any]):
    ref = serializers.CharField()
    rung = serializers.CharField()


class ReplayReshaped(serializers.Serializer[Any]):
    ref = serializers.CharField()
    was = serializers.CharField()
    now = serializers.CharField()


class ReplayBudget(serializers.Serializer[Any]):
    tokens = serializers.IntegerField()
    used = serializers.IntegerField()


class Replay(serializers.Serializer[Any]):
    receipt = serializers.CharField()
    replayed_at = serializers.DateTimeField()
    identical = serializers.BooleanField(help_text="the same memories in the same forms, words and order")
    pack_digest = serializers.CharField(help_text="of the pack that was served")
    replayed_digest = serializers.CharField(help_text="of what would be packed now")
    changes = ReplayChange(
        many=True, help_text="what became of candidates since, those that were served first"
    )
    left = ReplayForm(many=True, help_text="served then, not packed now")
    entered = ReplayForm(many=True, help_text="packed now, not served then")
    reshaped = ReplayReshaped(many=True, help_text="packed both times, in another form")
    reordered = serializers.BooleanField(
        help_text="whether what is packed both times stands in another order"
    )
    budget = ReplayBudget()
    items = serializers.ListField(
        child=serializers.DictField(), help_text="what would be packed now, as a receipt has it"
    )
