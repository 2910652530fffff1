"""Lookups that the two engines spell differently; importing the module registers them."""

from typing import Any

from django.db import models


@models.JSONField.register_lookup
class HasItem(models.Lookup):  # type: ignore[type-arg] # cannot be subscripted at run time
    """`tags__has_item="x"`: a JSON list holds exactly this string; no substring, no pattern."""

    lookup_name = "has_item"
    prepare_rhs = False

    def get_db_prep_lookup(self, value: Any, connection: Any) -> tuple[str, list[Any]]:
        return "%s", [str(value)]

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        sql = (
            f"EXISTS (SELECT 1 FROM json_each({column}) AS item WHERE item.type = 'text' AND item.value = %s)"
        )
        return sql, [*params, str(self.rhs)]

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} @> jsonb_build_array(%s::text)", [*params, str(self.rhs)]
