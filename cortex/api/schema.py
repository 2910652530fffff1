"""Touches to the OpenAPI document: every operation tells its refusals in one form."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

_PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
_REFUSALS = {
    "400": "it cannot be parsed",
    "401": "no valid token",
    "403": "the token's scopes do not reach",
    "404": "unknown, or out of sight",
    "408": "its body did not arrive in time",
    "409": "a conflict with the present state",
    "410": "it was forgotten",
    "413": "too large",
    "414": "its address is too long",
    "415": "not JSON, not UTF-8, or compressed",
    "422": "it breaks a rule",
    "429": "too many requests",
    "431": "its headers are too long",
    "503": "a needed part does not answer",
}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call] # registers itself
    """Tells the document how a call names its caller."""

    target_class = "memories.access.BearerAuthentication"
    name = "bearer"
    match_subclasses = True

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


class ContractSchema(AutoSchema):
    """One tag per app, named after what it serves."""

    def get_tags(self) -> list[str]:
        return [getattr(self.view, "tag", type(self.view).__module__.split(".")[0])]


def add_problem_responses(result: dict[str, Any], generator: Any, **_: Any) -> dict[str, Any]:
    """Let every operation under /v1/ list the refusals that it can answer."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            for status, meaning in _REFUSALS.items():
                operation["responses"].setdefault(status, {"description": meaning, "content": content})
    return result
