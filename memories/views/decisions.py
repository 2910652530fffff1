"""/v1/proposals and /v1/decisions: what waits for a reviewer, and what reviewers decided."""

from typing import ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import caller_of
from memories.decisions import decisions_visible_to, shown_decisions
from memories.models import Scope
from memories.paging import Order, take_page
from memories.proposals import proposals_visible_to, shown_proposals
from memories.serializers import DecisionListQuery, DecisionPage, ProposalListQuery, ProposalPage
from memories.views.base import MemoriesView

LATEST_FIRST = Order(column="at", descending=True)
NEWEST_FIRST = Order(column="recorded_at", descending=True)


class ProposalListView(MemoriesView):
    scopes: ClassVar[dict[str, Scope]] = {"GET": Scope.REVIEW}

    @extend_schema(
        operation_id="proposals_list",
        parameters=[ProposalListQuery],
        responses=ProposalPage,
        description="What is pending, newest first: what each would replace or contradicts, and the change in words.",
    )
    def get(self, request: Request) -> Response:
        caller, now = caller_of(request), timezone.now()
        asked = ProposalListQuery.from_request(request)
        rows = proposals_visible_to(caller, at=now)
        page = take_page(rows, NEWEST_FIRST, kind="proposals", caller=caller, asked=asked)
        return Response({"results": shown_proposals(caller, page.rows, at=now), "next": page.next})


class DecisionListView(MemoriesView):
    scopes: ClassVar[dict[str, Scope]] = {"GET": Scope.REVIEW}

    @extend_schema(
        operation_id="decisions_list",
        parameters=[DecisionListQuery],
        responses=DecisionPage,
        description="What was decided about memories, latest first.",
    )
    def get(self, request: Request) -> Response:
        caller, now = caller_of(request), timezone.now()
        asked = DecisionListQuery.from_request(request)
        rows = decisions_visible_to(
            caller, ref=asked.get("ref"), actor=asked.get("actor"), verb=asked.get("verb")
        )
        page = take_page(rows, LATEST_FIRST, kind="decisions", caller=caller, asked=asked)
        return Response({"results": shown_decisions(caller, page.rows, at=now), "next": page.next})
