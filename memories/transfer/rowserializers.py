"""How each class of line is read: as strictly as a request."""

from typing import Any, Final

from rest_framework import serializers

from cortex.api.serializers import (
    MomentField,
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictSerializer,
)
from memories.core.kinds import Author, Kind, MemoryLayer, Status
from memories.serializers import ENTITIES_LIMIT, REASON_LIMIT, TAGS_LIMIT, NamesField, choices_of
from memories.writing.inputs import CAPTURE_LIMIT_BYTES, CONTENT_LIMIT

_INT32: Final = 2**31
_FLAGS_LIMIT: Final = 20


def _ref(**kwargs: Any) -> StrictCharField:
    return StrictCharField(max_length=40, **kwargs)


def _text(length: int) -> StrictCharField:
    return StrictCharField(max_length=length, allow_blank=True)


class CaptureRow(StrictSerializer):
    ref = _ref()
    content = _text(CAPTURE_LIMIT_BYTES)
    title = _text(500)
    url = _text(2_000)
    source = _text(200)  # type: ignore[assignment] # a field's name
    project = _text(100)
    author = serializers.ChoiceField(choices=choices_of(Author))
    occurred_at = MomentField(allow_null=True)
    captured_at = MomentField()


class EntityRow(StrictSerializer):
    ref = _ref()
    name = StrictCharField(max_length=200)
    aliases = NamesField(max_length=1_000)
    created_at = MomentField()


class MemoryRow(StrictSerializer):
    ref = _ref()
    content = _text(CONTENT_LIMIT)
    summary = StrictCharField(max_length=CONTENT_LIMIT, allow_null=True, allow_blank=True)
    kind = serializers.ChoiceField(choices=choices_of(Kind))
    layer = serializers.ChoiceField(choices=choices_of(MemoryLayer))
    project = _text(100)
    status = serializers.ChoiceField(choices=choices_of(Status))
    author = serializers.ChoiceField(choices=choices_of(Author))
    confidence = StrictFloatField(min_value=0, max_value=1, allow_null=True)
    occurred_at = MomentField(allow_null=True)
    captured_at = MomentField()
    recorded_at = MomentField()
    valid_from = MomentField(allow_null=True)
    valid_to = MomentField(allow_null=True)
    expires_at = MomentField(allow_null=True)
    entities = NamesField(child=_ref(), max_length=10 * ENTITIES_LIMIT)
    tags = NamesField(child=StrictCharField(max_length=100), max_length=TAGS_LIMIT)
    thread = StrictCharField(max_length=200, allow_null=True)
    position = StrictIntegerField(min_value=-_INT32, max_value=_INT32 - 1, allow_null=True)
    speaker = StrictCharField(max_length=200, allow_null=True)
    occurrences = StrictIntegerField(min_value=1, max_value=_INT32 - 1)
    flags = NamesField(child=StrictCharField(max_length=40), max_length=_FLAGS_LIMIT)
    withheld = StrictBooleanField()
    reviewed_at = MomentField(allow_null=True)
    reviewed_by = _text(200)
    redacted_at = MomentField(allow_null=True)
    superseded_by = _ref(allow_null=True)
    superseded_at = MomentField(allow_null=True)
    superseded_from = MomentField(allow_null=True)


class SourceRow(StrictSerializer):
    memory = _ref()
    url = StrictCharField(max_length=2_000)
    title = _text(500)
    text = _text(CONTENT_LIMIT)
    capture = _ref(allow_null=True)
    added_at = MomentField()


class LinkRow(StrictSerializer):
    old = _ref()
    new = _ref()
    reason = _text(REASON_LIMIT)
    actor = _text(200)
    at = MomentField()


class ConflictRow(StrictSerializer):
    ref = _ref()
    left = _ref()
    right = _ref()
    reason = _text(200)
    detected_at = MomentField()
    resolved_at = MomentField(allow_null=True)
    resolution = _text(40)
    resolved_by = _text(200)


class TombstoneRow(StrictSerializer):
    ref = _ref()
    forgotten_at = MomentField()
    actor = _text(200)


READERS: Final[dict[str, type[StrictSerializer]]] = {
    "capture": CaptureRow,
    "entity": EntityRow,
    "memory": MemoryRow,
    "source": SourceRow,
    "supersession": LinkRow,
    "proposal": LinkRow,
    "conflict": ConflictRow,
    "tombstone": TombstoneRow,
}
