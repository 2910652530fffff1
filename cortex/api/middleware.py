"""What every request passes first: an id for the logs, a wall against text that no database takes, and no giants.

What it writes it writes by way of the waiting room, so that writers leave threads to the readers.
"""

import re
import time
import uuid
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from cortex.api.bodies import announced_length, is_chunked
from cortex.api.logs import request_id
from cortex.api.meters import meters
from cortex.api.problems import problem_response
from cortex.api.waiting import waiting_room

_ID = re.compile(r"[0-9A-Za-z_.-]{1,64}")
# A strict policy: nothing inline, nothing from elsewhere. Swagger UI draws its icons from data: URLs.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)


class RequestGuard:
    """Refuses NUL and undecodable bytes in path, query and headers; names the request, counts it; sets the CSP."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-Id", "")
        name = given if _ID.fullmatch(given) else uuid.uuid4().hex
        token, started = request_id.set(name), time.perf_counter()
        try:
            with connection.execute_wrapper(waiting_room):
                response = self._refuse(request) or self.get_response(request)
        finally:
            request_id.reset(token)
        response.headers["X-Request-Id"] = name
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        route = request.resolver_match.route if request.resolver_match else None
        meters.answered(route, request.method, response.status_code, time.perf_counter() - started)
        return response

    def _refuse(self, request: HttpRequest) -> HttpResponse | None:
        query = request.META.get("QUERY_STRING", "")
        if "\0" in request.path or "%00" in query or "\0" in query:
            return problem_response(400, "NUL bytes are no text")
        if "\ufffd" in request.path or not _decodes(query):
            return problem_response(400, "The address is not valid UTF-8")
        if announced_length(request.META) > settings.BULK_BODY_LIMIT_BYTES:
            return problem_response(413, "No call takes a body as large as this")
        if is_chunked(request.META):
            return problem_response(411, "This server takes bodies of a stated length only")
        return None


def _decodes(query: str) -> bool:
    if "%" not in query and query.isascii():
        return True
    try:
        text = unquote_to_bytes(query).decode()
    except UnicodeDecodeError:
        return False
    return "\0" not in text
