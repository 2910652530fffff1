"""Which form an answer takes: the request's own fields say it, never a header alone."""

from collections.abc import Iterable
from typing import Any

from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class AnyAccept(DefaultContentNegotiation):
    """Answers in the view's first form where `Accept` names none that it has; that is no reason for a refusal."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> Any:
        offered = list(renderers)
        try:
            return super().select_renderer(request, offered, format_suffix)
        except NotAcceptable:
            return offered[0], offered[0].media_type
