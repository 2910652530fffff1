"""What the views of this app share: who calls, what time it is, and answering a POST once per key."""

from collections.abc import Callable
from typing import ClassVar

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.access import caller_of
from memories.idempotency import HEADER, Answer, digest_of, once
from memories.models import Scope

REPLAYED_HEADER = "Idempotency-Replayed"
IDEMPOTENCY_KEY = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="A repetition of the same body under the same key gets the first answer; another body is 422.",
)


class MemoriesView(APIView):
    """The scopes that most resources need: reading to look, writing to change."""

    scopes: ClassVar[dict[str, Scope]] = {
        "GET": Scope.READ,
        "POST": Scope.WRITE,
        "PATCH": Scope.WRITE,
        "DELETE": Scope.WRITE,
    }
    tag = "memories"


class LargeBodies:
    """Takes bodies as large as bulk and import need them."""

    body_limit_bytes = settings.BULK_BODY_LIMIT_BYTES


def answer_once(
    request: Request, act: Callable[[], Answer], *, once: Callable[..., Answer] = once
) -> Response:
    """Do what a request asks for, or repeat the first answer where its Idempotency-Key was used before."""
    key = request.headers.get(HEADER)
    if key is None:
        answer = act()
    else:
        digest = digest_of(request.method or "", request.path, request.data)
        answer = once(caller_of(request), key, request_digest=digest, act=act, now=timezone.now())
    headers = {REPLAYED_HEADER: "true"} if answer.replayed else None
    return Response(answer.body, status=answer.status, headers=headers)
