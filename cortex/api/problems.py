"""The one place that turns errors into HTTP: application/problem+json (RFC 9457)."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from cortex.api.challenges import challenge
from cortex.api.databases import Trouble, trouble_of
from cortex.errors import CortexError, NotAllowed

PROBLEM_JSON = "application/problem+json"
RETRY_AFTER_SECONDS = 1

log = logging.getLogger(__name__)


def problem(
    status: int, detail: str, *, title: str = "", errors: Iterable[tuple[str, str]] = ()
) -> dict[str, Any]:
    """Build the body of a refusal."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": title or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    listed = [{"field": field, "message": message} for field, message in errors]
    return body | {"errors": listed} if listed else body


def as_problem(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler.

    Returns: the refusal, or None for what nobody foresaw (Django then logs it and answers 500).
    """
    if isinstance(error, CortexError):
        response = _respond(problem(error.status_hint, error.detail, title=error.title, errors=error.errors))
        if error.status_hint == HTTPStatus.SERVICE_UNAVAILABLE:
            response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        if settings.CORTEX_OAUTH and isinstance(error, NotAllowed) and error.scopes and "request" in context:
            path = context["request"].path
            response["WWW-Authenticate"] = challenge(path, error="insufficient_scope", scopes=error.scopes)
        return response
    if isinstance(error, Http404):
        return _respond(problem(404, "There is nothing here"))
    if isinstance(error, exceptions.ValidationError):
        listed = list(flatten(error.detail))
        return _respond(problem(422, "The request breaks a rule", errors=listed))
    if (trouble := trouble_of(error)) is not None:
        return _from_trouble(trouble, error)
    if isinstance(error, exceptions.APIException):
        return _from_api_exception(error)
    return None


def _from_trouble(trouble: Trouble, error: Exception) -> Response:
    response = _respond(problem(503, trouble.detail))
    if trouble.passing:
        log.warning("the database did not answer", extra={"error": type(error).__name__})
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    else:
        log.error("the database cannot be used", exc_info=error, extra={"trouble": trouble.detail})
    return response


def _from_api_exception(error: exceptions.APIException) -> Response:
    response = _respond(problem(error.status_code, _sentence(error.detail)))
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        response["WWW-Authenticate"] = getattr(error, "auth_header", "Bearer")
    if isinstance(error, exceptions.Throttled):
        response["Retry-After"] = str(max(1, round(getattr(error, "wait", None) or RETRY_AFTER_SECONDS)))
    return response


def _respond(body: dict[str, Any]) -> Response:
    return Response(body, status=body["status"], content_type=PROBLEM_JSON)


def _sentence(detail: Any) -> str:
    return detail if isinstance(detail, str) else "The request was refused"


def flatten(detail: Any, path: str = "") -> Iterable[tuple[str, str]]:
    """Turn DRF's nested error detail into (field, message) pairs; list positions become `field.3`."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            at = path if key == "non_field_errors" else f"{path}.{key}" if path else str(key)
            yield from flatten(value, at)
    elif isinstance(detail, Sequence) and not isinstance(detail, str):
        for value in detail:
            yield from flatten(value, path)
    else:
        yield path or "body", str(detail)


def problem_response(status: int, detail: str) -> JsonResponse:
    """The same refusal for what never reaches a DRF view."""
    response = JsonResponse(problem(status, detail), status=status, content_type=PROBLEM_JSON)
    response["Content-Length"] = str(len(response.content))
    return response


def not_found(request: HttpRequest, exception: Exception | None = None) -> JsonResponse:
    return problem_response(404, "There is nothing here")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> JsonResponse:
    return problem_response(400, "The request cannot be parsed")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> JsonResponse:
    return problem_response(403, "The request is not allowed")


def server_error(request: HttpRequest) -> JsonResponse:
    return problem_response(500, "Something went wrong here; it is in the log")
