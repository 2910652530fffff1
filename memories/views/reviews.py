"""What happens to a memory that is there: supersede, approve, decline, archive, redact; and undo."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from cortex.api.serializers import StrictSerializer
from memories.access import Caller, caller_of
from memories.answers import approve_other_words, give_successor
from memories.idempotency import Answer
from memories.models import Memory, Scope
from memories.serializers import (
    ApprovedAnswer,
    ApproveSerializer,
    DeclineSerializer,
    MemoryAnswer,
    NothingSerializer,
    SuccessorAnswer,
    SupersedeSerializer,
)
from memories.showing import shown
from memories.views.base import IDEMPOTENCY_KEY, MemoriesView, answer_once
from memories.writing import approve, archive, decline, redact, undo


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
    """One verb of a review: `(caller, ref, *, now)` to the memory as it is then."""

    scopes: ClassVar[dict[str, Scope]] = {"POST": Scope.REVIEW}

    def answer(self, request: Request, ref: str, verb: Callable[..., Memory]) -> Response:
        return answer_once(request, lambda: _done(caller_of(request), ref, verb))


def _done(caller: Caller, ref: str, verb: Callable[..., Memory]) -> Answer:
    memory = verb(caller, ref, now=timezone.now())
    return Answer(status=200, body=shown(caller, [memory])[0])


def _review_schema(
    operation_id: str,
    description: str,
    request: type[StrictSerializer] | None = None,
    *,
    answer: type[MemoryAnswer] = MemoryAnswer,
) -> Callable[[Any], Any]:
    return extend_schema(
        operation_id=operation_id,
        description=description,
        request=request,
        parameters=[IDEMPOTENCY_KEY],
        responses=answer,
    )


class ApproveView(ReviewView):
    @_review_schema(
        "memories_approve",
        "Let it be served; also restores it from the archive. With content: write these words as the successor of "
        "what is pending and approve them in its place; they count as the user's. The answer is the successor, under "
        "its own ref; what was proposed stays as it is, archived.",
        ApproveSerializer,
        answer=ApprovedAnswer,
    )
    def post(self, request: Request, ref: str) -> Response:
        words = ApproveSerializer.from_request(request).get("content")
        if words is None:
            return self.answer(request, ref, approve)
        return answer_once(
            request, lambda: approve_other_words(caller_of(request), ref, words, now=timezone.now())
        )


class DeclineView(ReviewView):
    @_review_schema(
        "memories_decline", "Refuse what is pending: it is archived, and replaces nothing.", DeclineSerializer
    )
    def post(self, request: Request, ref: str) -> Response:
        reason = DeclineSerializer.from_request(request).get("reason", "")
        return self.answer(request, ref, partial(decline, reason=reason))


class UndoView(ReviewView):
    @_review_schema(
        "memories_undo",
        "Take back the last decision about it, if nothing that came later rests on that. What was redacted or "
        "forgotten stays so.",
    )
    def post(self, request: Request, ref: str) -> Response:
        NothingSerializer.from_request(request)
        return self.answer(request, ref, undo)


class ArchiveView(ReviewView):
    @_review_schema("memories_archive", "Keep it, and serve it no more.")
    def post(self, request: Request, ref: str) -> Response:
        NothingSerializer.from_request(request)
        return self.answer(request, ref, archive)


class RedactView(ReviewView):
    @_review_schema(
        "memories_redact", "Take its text away for good and keep the row, which only reviewers still see."
    )
    def post(self, request: Request, ref: str) -> Response:
        NothingSerializer.from_request(request)
        return self.answer(request, ref, redact)
