"""Lookups and functions that the two engines spell differently; importing the module registers the lookups."""

import json
from typing import Any

from django.db import models
from django.db.models.fields.related import ForeignObject


@models.JSONField.register_lookup
class HasItem(models.Lookup):
    """`tags__has_item="x"`: a JSON list holds exactly this string; no substring, no pattern."""

    lookup_name = "has_item"
    prepare_rhs = False

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        sql = (
            f"EXISTS (SELECT 1 FROM json_each({column}) AS item WHERE item.type = 'text' AND item.value = %s)"
        )
        return sql, [*params, str(self.rhs)]

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} @> jsonb_build_array(%s::text)", [*params, str(self.rhs)]


@ForeignObject.register_lookup
@models.Field.register_lookup
class Among(models.Lookup):
    """`pk__among=keys`: membership, with all keys in one parameter.

    Django's `in` prepares and binds each key by itself: for the 200 keys of a pool that costs more than the
    statement, and an engine's limit of parameters ends it somewhere. Keys are numbers or text.
    """

    lookup_name = "among"
    prepare_rhs = False

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} IN (SELECT value FROM json_each(%s))", [*params, json.dumps(list(self.rhs))]

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s)", [*params, list(self.rhs)]


class OctetLength(models.Func):
    """How many bytes a text takes in UTF-8: more than it has characters where it is not plain ASCII."""

    function = "OCTET_LENGTH"
    arity = 1
    output_field = models.IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **extra)
