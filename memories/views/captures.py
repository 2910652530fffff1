"""/v1/captures: raw text in, evidence and memories out."""

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import caller_of
from memories.answers import capture_text
from memories.serializers import CaptureSerializer
from memories.views.base import IDEMPOTENCY_KEY, MemoriesView, answer_once


class CaptureListView(MemoriesView):
    @extend_schema(
        operation_id="captures_write",
        request=CaptureSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: OpenApiTypes.OBJECT},
        description=(
            "Keep a text as cited evidence and remember what is found in it. A text that was there already is answered "
            "with its first capture; one that holds nothing but our own output coming back, with a capture of null."
        ),
    )
    def post(self, request: Request) -> Response:
        asked = CaptureSerializer.from_request(request)
        return answer_once(request, lambda: capture_text(caller_of(request), asked, now=timezone.now()))
