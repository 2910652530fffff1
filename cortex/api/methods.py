"""Pages that are only looked at, and say so to whoever sends something."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from cortex.api.problems import problem_response


def looking_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Answer GET and HEAD with a view and any other method with 405; nothing is changed, so no form token is due."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method in {"GET", "HEAD"}:
            return view(request, *args, **kwargs)
        response = problem_response(405, "This can only be looked at")
        response["Allow"] = "GET, HEAD"
        return response

    return csrf_exempt(guarded)
