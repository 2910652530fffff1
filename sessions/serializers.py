"""How sessions are asked for, and what is told of them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rest_framework import serializers

from cortex.api.serializers import StrictCharField, StrictIntegerField, StrictSerializer
from sessions.core.delta import SESSION_LOG_CAP
from sessions.core.state import SessionState
from sessions.models import DeltaRecord, WorkingSession

PAGE_LIMIT = 200
PAGE_DEFAULT = 50
RUNG_NAMES = ("head", "summary", "full")


class SessionListQuery(StrictSerializer):
    limit = StrictIntegerField(min_value=1, max_value=PAGE_LIMIT, default=PAGE_DEFAULT)
    cursor = StrictCharField(max_length=1_000, required=False)


# -- What is told, as the OpenAPI document has it --------------------------------------------------


class SessionSummary(serializers.Serializer[Any]):
    session_id = serializers.CharField()
    turn = serializers.IntegerField(help_text="questions so far; a repeated one counts once")
    cursor = serializers.CharField(help_text="of the latest delta")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class SessionPage(serializers.Serializer[Any]):
    results = SessionSummary(many=True)
    next = serializers.CharField(allow_null=True)


class TrajectoryEntry(serializers.Serializer[Any]):
    turn = serializers.IntegerField()
    tokens = serializers.IntegerField()
    ids = serializers.ListField(child=serializers.CharField())


class AnnouncedRef(serializers.Serializer[Any]):
    ref = serializers.CharField()
    delta_relevance = serializers.FloatField(allow_null=True)


class ReplacedRef(serializers.Serializer[Any]):
    ref = serializers.CharField()
    replacement = serializers.CharField(allow_null=True)


class PastDelta(serializers.Serializer[Any]):
    cursor = serializers.CharField()
    base = serializers.CharField(help_text="the delta that the client had applied when it asked")
    turn = serializers.IntegerField()
    at = serializers.DateTimeField()
    new = AnnouncedRef(many=True)
    evicted = serializers.ListField(child=serializers.CharField())
    superseded = ReplacedRef(many=True)
    carried = serializers.ListField(child=serializers.CharField())
    changed = serializers.ListField(child=serializers.CharField())
    tokens_saved = serializers.IntegerField()
    repeated = serializers.BooleanField()
    reset = serializers.BooleanField()


class SessionDetail(SessionSummary):
    known = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="memory → turn that served it last; memories in sight only",
    )
    rungs = serializers.DictField(
        child=serializers.ChoiceField(choices=RUNG_NAMES), help_text="memory → fullest form it was sent in"
    )
    trajectory = TrajectoryEntry(many=True)
    centroid = serializers.DictField(
        child=serializers.FloatField(), help_text="term → weight, heaviest first"
    )
    deltas = PastDelta(many=True)
    deltas_kept = serializers.IntegerField(help_text="an older since is a full resync")


# -- What is told, as plain dicts ------------------------------------------------------------------


def summary_of(session: WorkingSession) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "turn": session.turn,
        "cursor": str(session.delta_cursor),
        "created_at": session.created_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
    }


def detail_of(
    session: WorkingSession, state: SessionState, records: Sequence[DeltaRecord], named: Collection[str]
) -> dict[str, Any]:
    """Everything of a session that may be told.

    Args:
        named: the refs that may appear at all; any other is left out wherever it stands.
    """
    known = {ref: entry for ref, entry in sorted(state.known.items()) if ref in named}
    by_weight = sorted(state.centroid.items(), key=lambda pair: (-pair[1], pair[0]))
    return summary_of(session) | {
        "known": {ref: entry.turn for ref, entry in known.items()},
        "rungs": {ref: RUNG_NAMES[entry.rung] for ref, entry in known.items()},
        "trajectory": [step.to_json() | {"ids": _among(named, step.ids)} for step in state.trajectory],
        "centroid": dict(by_weight),
        "deltas": [_past_delta(record, named) for record in records],
        "deltas_kept": SESSION_LOG_CAP,
    }


def mentioned_in(state: SessionState, records: Sequence[DeltaRecord]) -> set[str]:
    """Every ref that a session's detail could name."""
    refs = set(state.known)
    for step in state.trajectory:
        refs.update(step.ids)
    for record in records:
        refs.update(_refs_told(record.payload["told"]))
    return refs


def _refs_told(told: Mapping[str, Any]) -> set[str]:
    pairs = [*told["new"], *told["superseded"]]
    heads = {head for _, head in told["superseded"] if head}
    return {ref for ref, _ in pairs} | heads | {*told["evicted"], *told["carried"], *told["changed"]}


def _past_delta(record: DeltaRecord, named: Collection[str]) -> dict[str, Any]:
    told, step = record.payload["told"], record.payload["step"]
    return {
        "cursor": str(record.cursor),
        "base": str(step["base"]),
        "turn": record.turn,
        "at": record.created_at.isoformat(),
        "new": [{"ref": ref, "delta_relevance": worth} for ref, worth in told["new"] if ref in named],
        "evicted": _among(named, told["evicted"]),
        "superseded": [
            {"ref": ref, "replacement": head if head in named else None}
            for ref, head in told["superseded"]
            if ref in named
        ],
        "carried": _among(named, told["carried"]),
        "changed": _among(named, told["changed"]),
        "tokens_saved": told["tokens_saved"],
        "repeated": told["repeated"],
        "reset": told["reset"],
    }


def _among(named: Collection[str], refs: Sequence[str]) -> list[str]:
    return [ref for ref in refs if ref in named]
