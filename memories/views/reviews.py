"""What happens to a memory that is there: supersede, approve, archive, redact."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import Caller, caller_of
from memories.answers import give_successor
from memories.idempotency import Answer
from memories.models import Memory, Scope
from memories.serializers import (
    MemoryAnswer,
    NothingSerializer,
    SuccessorAnswer,
    SupersedeSerializer,
)
from memories.showing import shown
from memories.views.base import IDEMPOTENCY_KEY, MemoriesView, answer_once
from memories.writing import approve, archive, redact


class SupersedeView(MemoriesView):
    @extend_schema(
        operation_id="memories_supersede",
        request=SupersedeSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: SuccessorAnswer, 200: SuccessorAnswer},
        description=(
            "Give a memory its one successor: a new text, or a memory that is there already. A successor that has to "
            "be reviewed first comes back pending, with the memory named in proposes_superseding, and the old one "
            "stays current until it is approved."
        ),
    )
    def post(self, request: Request, ref: str) -> Response:
        asked = SupersedeSerializer.from_request(request)
        return answer_once(
            request, lambda: give_successor(caller_of(request), ref, asked, now=timezone.now())
        )


class ReviewView(MemoriesView):
    """One verb of a review; its subclasses name it."""

    scopes: ClassVar[dict[str, Scope]] = {"POST": Scope.REVIEW}

    def verb(self, caller: Caller, ref: str, now: datetime) -> Memory:
        raise NotImplementedError

    def answer(self, request: Request, ref: str) -> Response:
        NothingSerializer.from_request(request)
        return answer_once(request, lambda: self._done(caller_of(request), ref))

    def _done(self, caller: Caller, ref: str) -> Answer:
        memory = self.verb(caller, ref, timezone.now())
        return Answer(status=200, body=shown(caller, [memory])[0])


def _review_schema(operation_id: str, description: str) -> Callable[[Any], Any]:
    return extend_schema(
        operation_id=operation_id,
        description=description,
        request=None,
        parameters=[IDEMPOTENCY_KEY],
        responses=MemoryAnswer,
    )


class ApproveView(ReviewView):
    def verb(self, caller: Caller, ref: str, now: datetime) -> Memory:
        return approve(caller, ref, now=now)

    @_review_schema("memories_approve", "Let it be served; also restores it from the archive.")
    def post(self, request: Request, ref: str) -> Response:
        return self.answer(request, ref)


class ArchiveView(ReviewView):
    def verb(self, caller: Caller, ref: str, now: datetime) -> Memory:
        return archive(caller, ref, now=now)

    @_review_schema("memories_archive", "Keep it, and serve it no more.")
    def post(self, request: Request, ref: str) -> Response:
        return self.answer(request, ref)


class RedactView(ReviewView):
    def verb(self, caller: Caller, ref: str, now: datetime) -> Memory:
        return redact(caller, ref, now=now)

    @_review_schema(
        "memories_redact", "Take its text away for good and keep the row, which only reviewers still see."
    )
    def post(self, request: Request, ref: str) -> Response:
        return self.answer(request, ref)
