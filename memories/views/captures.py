"""/v1/captures: raw text in, evidence and memories out."""

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import Caller, caller_of
from memories.core.kinds import Author
from memories.idempotency import Answer
from memories.serializers import CaptureSerializer
from memories.showing import shown
from memories.views.base import IDEMPOTENCY_KEY, MemoriesView, answer_once
from memories.wire import capture_as_wire
from memories.writing import CaptureInput, capture


class CaptureListView(MemoriesView):
    @extend_schema(
        operation_id="captures_write",
        request=CaptureSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: OpenApiTypes.OBJECT, 200: OpenApiTypes.OBJECT},
        description=(
            "Keep a text as cited evidence and remember what is found in it. 200 where it was there already, and, with "
            "a capture of null, where it holds nothing but our own output coming back."
        ),
    )
    def post(self, request: Request) -> Response:
        asked = CaptureSerializer.from_request(request)
        given = CaptureInput(**{**asked, "author": Author(asked.get("author", Author.AGENT))})
        return answer_once(request, lambda: _capture(caller_of(request), given))


def _capture(caller: Caller, given: CaptureInput) -> Answer:
    outcome = capture(caller, given, now=timezone.now())
    body = {
        "capture": None if outcome.capture is None else capture_as_wire(outcome.capture),
        "memories": shown(caller.vault.pk, outcome.memories),
    }
    return Answer(status=201 if outcome.created else 200, body=body)
