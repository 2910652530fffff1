"""How requests about memories are read. What is not listed here is refused."""

from collections.abc import Mapping
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
from memories.core.diffing import Op
from memories.core.kinds import Author, Kind, MemoryLayer, Status, Verb
from memories.writing.inputs import BULK_LIMIT, CAPTURE_LIMIT_BYTES, CONTENT_LIMIT, MemoryInput, SourceInput

TAGS_LIMIT: Final = 50
ENTITIES_LIMIT: Final = 50
PAGE_LIMIT: Final = 200
PAGE_DEFAULT: Final = 50
PROPOSALS_LIMIT: Final = 50
PROPOSALS_DEFAULT: Final = 20
REASON_LIMIT: Final = 2_000
_INT32: Final = 2**31


def choices_of(words: type[Any]) -> list[tuple[str, str]]:
    return [(word.value, word.value) for word in words]


class NamesField(serializers.ListField):
    """A short list of short texts; a long one is refused before its items are looked at."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("child", StrictCharField(max_length=200))
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise serializers.ValidationError("a list is expected")
        if self.max_length is not None and len(data) > self.max_length:
            raise serializers.ValidationError(f"at most {self.max_length} items")
        return list(super().to_internal_value(data))


class CaptureSizeField(StrictCharField):
    """Text whose size is counted in bytes."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if len(text) * 4 > CAPTURE_LIMIT_BYTES and len(text.encode()) > CAPTURE_LIMIT_BYTES:
            raise serializers.ValidationError(f"at most {CAPTURE_LIMIT_BYTES} bytes")
        return text


# -- Writing -------------------------------------------------------------------------------------


class SourceSerializer(StrictSerializer):
    url = StrictCharField(max_length=2_000, required=False, allow_null=True)
    title = StrictCharField(max_length=500, required=False, allow_blank=True)
    text = StrictCharField(max_length=CONTENT_LIMIT, required=False, allow_blank=True)


class MetadataSerializer(StrictSerializer):
    """What may be stated of a memory beside its text, on write and later."""

    summary = StrictCharField(max_length=CONTENT_LIMIT, required=False, allow_null=True)
    kind = serializers.ChoiceField(choices=choices_of(Kind), required=False)
    layer = serializers.ChoiceField(choices=choices_of(MemoryLayer), required=False, allow_null=True)
    project = StrictCharField(max_length=100, required=False, allow_blank=True)
    tags = NamesField(child=StrictCharField(max_length=100), max_length=TAGS_LIMIT, required=False)
    confidence = StrictFloatField(min_value=0, max_value=1, required=False, allow_null=True)
    entities = NamesField(max_length=ENTITIES_LIMIT, required=False)
    occurred_at = MomentField(required=False, allow_null=True)
    valid_from = MomentField(required=False, allow_null=True)
    valid_to = MomentField(required=False, allow_null=True)
    expires_at = MomentField(required=False, allow_null=True)


class StatedSerializer(MetadataSerializer):
    """What a claim may state of itself when it is written."""

    author = serializers.ChoiceField(choices=choices_of(Author), required=False)
    captured_at = MomentField(
        required=False, allow_null=True, help_text="when it was taken down; now if absent"
    )
    thread = StrictCharField(max_length=200, required=False, allow_null=True)
    position = StrictIntegerField(min_value=-_INT32, max_value=_INT32 - 1, required=False, allow_null=True)
    speaker = StrictCharField(max_length=200, required=False, allow_null=True)
    source = SourceSerializer(required=False, allow_null=True)  # type: ignore[assignment] # a field's name


class MemorySerializer(StatedSerializer):
    content = StrictCharField(max_length=CONTENT_LIMIT)


class SupersedeSerializer(StatedSerializer):
    """Either a text, with whatever it states, or the ref of a memory that is there; and why."""

    content = StrictCharField(max_length=CONTENT_LIMIT, required=False)
    replacement = StrictCharField(max_length=40, required=False)
    reason = StrictCharField(max_length=REASON_LIMIT, required=False, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("content" in attrs) == ("replacement" in attrs):
            raise serializers.ValidationError({"content": "one of content and replacement is expected"})
        beside = sorted(attrs.keys() - {"replacement", "reason"}) if "replacement" in attrs else []
        if beside:
            raise serializers.ValidationError(dict.fromkeys(beside, "goes with content only"))
        return attrs


class PatchSerializer(MetadataSerializer):
    """Metadata only."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and "content" in data:
            raise serializers.ValidationError(
                {"content": "content never changes in place: supersede the memory with the new text instead"}
            )
        return super().to_internal_value(data)


class BulkSerializer(StrictSerializer):
    """Only the list is read here; each item is read by itself, so that a bad one spoils no other."""

    memories = NamesField(child=serializers.JSONField(allow_null=True), max_length=BULK_LIMIT)


class BulkBody(serializers.Serializer[Any]):
    """The same, as the OpenAPI document tells it."""

    memories = MemorySerializer(many=True)


class CaptureSerializer(StrictSerializer):
    content = CaptureSizeField()
    title = StrictCharField(max_length=500, required=False, allow_blank=True)
    url = StrictCharField(max_length=2_000, required=False, allow_blank=True)
    source = StrictCharField(max_length=200, required=False, allow_blank=True)  # type: ignore[assignment]
    project = StrictCharField(max_length=100, required=False, allow_blank=True)
    author = serializers.ChoiceField(choices=choices_of(Author), required=False)
    occurred_at = MomentField(required=False, allow_null=True)


class NothingSerializer(StrictSerializer):
    """For calls that say all in their address."""


class ApproveSerializer(StrictSerializer):
    content = StrictCharField(
        max_length=CONTENT_LIMIT,
        required=False,
        help_text="other words for what is pending: they are written as its successor, and approved in its place",
    )


class DeclineSerializer(StrictSerializer):
    reason = StrictCharField(max_length=REASON_LIMIT, required=False, allow_blank=True)


class ResolveSerializer(StrictSerializer):
    keep = StrictCharField(max_length=40, help_text="the ref that stands, or both")


def stated_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turn validated values into arguments of `MemoryInput`."""
    stated = {name: value for name, value in values.items() if name != "source"}
    for name, word in (("kind", Kind), ("author", Author), ("layer", MemoryLayer)):
        if stated.get(name) is not None:
            stated[name] = word(stated[name])
    for name in ("tags", "entities"):
        if name in stated:
            stated[name] = tuple(dict.fromkeys(stated[name]))
    if values.get("source"):
        stated["sources"] = (SourceInput(**values["source"]),)
    return stated


def memory_input(values: Mapping[str, Any]) -> MemoryInput:
    return MemoryInput(**stated_values(values))


# -- Lists ---------------------------------------------------------------------------------------


class PageQuery(StrictSerializer):
    limit = StrictIntegerField(min_value=1, max_value=PAGE_LIMIT, default=PAGE_DEFAULT)
    cursor = StrictCharField(max_length=1_000, required=False)


class MemoryListQuery(PageQuery):
    status = serializers.ChoiceField(choices=choices_of(Status), required=False)
    layer = serializers.ChoiceField(choices=choices_of(MemoryLayer), required=False)
    kind = serializers.ChoiceField(choices=choices_of(Kind), required=False)
    project = StrictCharField(
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="exactly this label; empty: the unlabelled",
    )
    entity = StrictCharField(max_length=200, required=False, help_text="a name or an alias, whole")
    tag = StrictCharField(max_length=100, required=False, help_text="exactly this tag")
    thread = StrictCharField(max_length=200, required=False)
    q = StrictCharField(max_length=8_000, required=False, help_text="words that the text has, all of them")
    author = serializers.ChoiceField(choices=choices_of(Author), required=False)
    active = StrictBooleanField(required=False, help_text="servable, true now and not superseded")
    occurred_after = MomentField(required=False)
    occurred_before = MomentField(required=False)
    captured_after = MomentField(required=False)
    captured_before = MomentField(required=False)


class ConflictListQuery(PageQuery):
    resolved = StrictBooleanField(default=False)


class DecisionListQuery(PageQuery):
    ref = StrictCharField(max_length=40, required=False, help_text="about this memory")
    actor = StrictCharField(max_length=200, required=False, help_text="exactly this one")
    verb = serializers.ChoiceField(choices=choices_of(Verb), required=False)


class ProposalListQuery(PageQuery):
    limit = StrictIntegerField(min_value=1, max_value=PROPOSALS_LIMIT, default=PROPOSALS_DEFAULT)


class EntityListQuery(PageQuery):
    q = StrictCharField(max_length=200, required=False, help_text="a name or an alias, whole")


# -- Answers, as the OpenAPI document has them ---------------------------------------------------


class MemoryAnswer(serializers.Serializer[Any]):
    ref = serializers.CharField()
    content = serializers.CharField()
    summary = serializers.CharField(allow_null=True)
    kind = serializers.ChoiceField(choices=choices_of(Kind))
    layer = serializers.ChoiceField(choices=choices_of(MemoryLayer))
    project = serializers.CharField(help_text="empty: shared by all projects")
    status = serializers.ChoiceField(choices=choices_of(Status))
    author = serializers.ChoiceField(choices=choices_of(Author))
    confidence = serializers.FloatField(allow_null=True)
    occurred_at = serializers.DateTimeField(allow_null=True)
    captured_at = serializers.DateTimeField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    recorded_at = serializers.DateTimeField(help_text="when this vault learnt it")
    expires_at = serializers.DateTimeField(allow_null=True)
    entities = serializers.ListField(child=serializers.CharField())
    tags = serializers.ListField(child=serializers.CharField())
    thread = serializers.CharField(allow_null=True)
    position = serializers.IntegerField(allow_null=True)
    speaker = serializers.CharField(allow_null=True)
    source_urls = serializers.ListField(child=serializers.CharField())
    occurrences = serializers.IntegerField()
    superseded_by = serializers.CharField(allow_null=True)
    conflicted = serializers.BooleanField()
    flags = serializers.ListField(child=serializers.CharField())


class SuccessorAnswer(MemoryAnswer):
    proposes_superseding = serializers.ListField(
        child=serializers.CharField(), help_text="what it will replace once it is approved"
    )
    also_similar = serializers.ListField(
        child=serializers.CharField(),
        max_length=10,
        help_text="current memories that say nearly what the superseded one said; the same successor could replace them",
    )


class StepAnswer(serializers.Serializer[Any]):
    ref = serializers.CharField()
    superseded_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    actor = serializers.CharField(allow_null=True)
    at = serializers.DateTimeField(allow_null=True)


class ApprovedAnswer(MemoryAnswer):
    proposes_superseding = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="of other words that are withheld: what they will replace once they are approved, too",
    )
    chain = StepAnswer(
        many=True, required=False, help_text="of other words: what they replace, what was proposed among it"
    )


class MemoryPage(serializers.Serializer[Any]):
    results = MemoryAnswer(many=True)
    next = serializers.CharField(allow_null=True)


class EntityErasureAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    forgotten = serializers.ListField(
        child=serializers.CharField(), help_text="the refs of the memories that went"
    )
    erased = serializers.DictField(child=serializers.IntegerField(), help_text="class → how many")
    probes = serializers.DictField(
        child=serializers.IntegerField(), help_text="arm → what still holds their texts"
    )
    kept = serializers.BooleanField(
        allow_null=True, help_text="memories are still about it; null for a token of some projects"
    )


class DecisionAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    ref = serializers.CharField(help_text="the memory that it is about")
    other = serializers.CharField(
        allow_null=True, help_text="of a conflict: its right side; of an edit: the successor"
    )
    verb = serializers.ChoiceField(choices=choices_of(Verb))
    actor = serializers.CharField()
    at = serializers.DateTimeField()
    reason = serializers.CharField(allow_null=True)
    before = serializers.DictField(allow_null=True, help_text="null once the memory is redacted or forgotten")
    after = serializers.DictField(allow_null=True)
    reversible = serializers.BooleanField(help_text="the last about its memory, and nothing it needs is gone")
    undone_at = serializers.DateTimeField(allow_null=True)
    undoes = serializers.CharField(allow_null=True, help_text="the id of the decision that it took back")


class DecisionPage(serializers.Serializer[Any]):
    results = DecisionAnswer(many=True)
    next = serializers.CharField(allow_null=True)


class ChangeAnswer(serializers.Serializer[Any]):
    op = serializers.ChoiceField(choices=choices_of(Op))
    text = serializers.CharField()


class ProposalAnswer(serializers.Serializer[Any]):
    memory = MemoryAnswer()
    replaces = MemoryAnswer(many=True, help_text="what it replaces once it is approved")
    contradicts = MemoryAnswer(many=True)
    against = serializers.CharField(allow_null=True, help_text="the memory that the diff starts from")
    diff = ChangeAnswer(many=True)
    flags = serializers.ListField(child=serializers.CharField())


class ProposalPage(serializers.Serializer[Any]):
    results = ProposalAnswer(many=True)
    next = serializers.CharField(allow_null=True)
