"""Input that is read strictly: unknown fields are refused, and `"false"` is no boolean.

A query string has only text, so there numbers and switches may be written as words; in a JSON body they may not.
"""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Final

from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from cortex.api.parsing import check_text
from cortex.errors import Unparsable

_STEERING: Final = frozenset({"Cc", "Zl", "Zp"})
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses what it does not know. Read with `validated(request)`."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError({"body": ["an object is expected"]})
        unknown = sorted(str(name) for name in data if name not in self.fields)
        if unknown:
            raise serializers.ValidationError({name: ["unknown field"] for name in unknown[:20]})
        return super().to_internal_value(data)

    @classmethod
    def from_request(cls, request: Request, *, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Validate a request's body, or its query string for GET and DELETE.

        Raises: ValidationError (422), Unparsable (400).
        """
        in_query = request.method in {"GET", "DELETE", "HEAD"}
        if not in_query and request.query_params:
            refuse_query(request)
        check_query(request)
        data = query_values(request.query_params, cls) if in_query else request.data
        return cls.read(data, context={"in_query": in_query, **(extra or {})})

    @classmethod
    def read(cls, data: Any, *, context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Validate decoded JSON, whoever sent it.

        Raises: ValidationError (422).
        """
        reader = cls(data=data, context=dict(context or {}))
        reader.is_valid(raise_exception=True)
        return dict(reader.validated_data)


def refuse_query(request: Request) -> None:
    """Refuse any query parameter where none is known.

    Raises: ValidationError naming each.
    """
    if request.query_params:
        raise serializers.ValidationError(
            {name: ["unknown parameter"] for name in sorted(request.query_params)[:20]}
        )


def check_query(request: Request) -> None:
    """Refuse a query string whose text no database can store.

    Raises: Unparsable.
    """
    params = request.query_params
    check_text([*params, *(value for _, values in params.lists() for value in values)])


def query_values(params: QueryDict, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Turn a query string into a body: lists are repeated or comma-separated, a repeated scalar is an error."""
    fields = serializer().fields
    return {name: _query_value(fields.get(name), values) for name, values in params.lists()}


def _query_value(field: Any, values: list[Any]) -> Any:
    if isinstance(field, serializers.ListField):
        return [part.strip() for value in values for part in str(value).split(",") if part.strip()]
    return values[0] if len(values) == 1 else values


def _in_query(field: serializers.Field[Any, Any, Any, Any]) -> bool:
    return bool(field.context.get("in_query"))


class StrictBooleanField(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if isinstance(data, bool):
            return data
        if _in_query(self) and data in ("true", "1", "false", "0"):  # a list where it was given twice
            return data in ("true", "1")
        raise serializers.ValidationError("true or false is expected")


class StrictIntegerField(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int:
        written = isinstance(data, str) and _in_query(self) and _INTEGER.fullmatch(data)
        if written or (isinstance(data, int) and not isinstance(data, bool)):
            return int(data)
        raise serializers.ValidationError("a whole number is expected")


class StrictFloatField(serializers.FloatField):
    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or (isinstance(data, str) and not _in_query(self)):
            raise serializers.ValidationError("a number is expected")
        value = super().to_internal_value(data)
        if value != value or value in (float("inf"), float("-inf")):
            raise serializers.ValidationError("a finite number is expected")
        return value


class StrictCharField(serializers.CharField):
    """Text, and nothing that merely could be text; spaces around it are kept unless trimmed on purpose."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("text is expected")
        return super().to_internal_value(data)


def refuse_controls(text: str) -> None:
    """Validate a name that also stands in addresses.

    Raises: ValidationError for line breaks and all else that is there to steer, not to be read.
    """
    if any(unicodedata.category(character) in _STEERING for character in text):
        raise serializers.ValidationError("control characters and line breaks are no part of a name")


@extend_schema_field(OpenApiTypes.DATETIME)
class MomentField(serializers.Field[datetime, Any, str, Any]):
    """An ISO-8601 moment. Without an offset it is UTC; a date alone is the start of its day, UTC."""

    def to_internal_value(self, data: Any) -> datetime:
        if not isinstance(data, str):
            raise serializers.ValidationError("an ISO-8601 moment is expected")
        try:
            return parse_moment(data)
        except Unparsable as error:
            raise serializers.ValidationError(error.detail) from None

    def to_representation(self, value: datetime) -> str:
        return value.isoformat()


def parse_moment(text: str) -> datetime:
    """Read an ISO-8601 moment or date as an aware datetime in UTC.

    Raises: Unparsable.
    """
    stripped = text.strip()
    try:
        if len(stripped) == len("2026-01-31") and stripped[4] == "-" and "W" not in stripped:
            return datetime.combine(date.fromisoformat(stripped), time.min, UTC)
        moment = datetime.fromisoformat(stripped)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, IndexError):
        raise Unparsable("an ISO-8601 moment is expected, such as 2026-01-31T12:00:00+00:00") from None
