"""Look at the conversations of a vault, and end one."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cortex.api.serializers import refuse_query
from cortex.errors import NotHere
from memories.access import Caller, caller_of
from memories.models import Scope
from memories.paging import Order, take_page
from sessions.core.state import SessionState
from sessions.ending import end_session
from sessions.models import WorkingSession
from sessions.serializers import (
    SessionDetail,
    SessionListQuery,
    SessionPage,
    detail_of,
    mentioned_in,
    summary_of,
)
from sessions.standing import nameable
from sessions.stepping import remembered

OLDEST_FIRST = Order(column="created_at")


class SessionList(APIView):
    scopes: ClassVar = {"GET": Scope.READ}

    @extend_schema(operation_id="sessions_list", parameters=[SessionListQuery], responses=SessionPage)
    def get(self, request: Request) -> Response:
        """The conversations held under this token's view of the vault, oldest first."""
        return Response(session_page(caller_of(request), SessionListQuery.from_request(request)))


class SessionView(APIView):
    scopes: ClassVar = {"GET": Scope.READ, "DELETE": Scope.WRITE}

    @extend_schema(operation_id="sessions_retrieve", responses=SessionDetail)
    def get(self, request: Request, session_id: str) -> Response:
        """What one conversation holds: known-set, trajectory, centroid, its latest deltas."""
        refuse_query(request)
        return Response(session_detail(caller_of(request), session_id))

    @extend_schema(
        operation_id="sessions_destroy",
        responses={204: OpenApiResponse(description="the session is forgotten")},
    )
    def delete(self, request: Request, session_id: str) -> Response:
        """Forget a conversation; its next call is a first call, with a cursor that was never given out."""
        refuse_query(request)
        end_session(caller_of(request), session_id)
        return Response(status=204)


def session_page(caller: Caller, query: Mapping[str, Any]) -> dict[str, Any]:
    """One page of sessions, in the order in which they began.

    Raises: Unparsable, NotHere, Unprocessable for a cursor that does not go on here.
    """
    rows = WorkingSession.objects.visible_to(caller).defer("state")
    page = take_page(rows, OLDEST_FIRST, kind="sessions", caller=caller, asked=query)
    return {"results": [summary_of(session) for session in page.rows], "next": page.next}


def session_detail(caller: Caller, session_id: str) -> dict[str, Any]:
    """One session whole, without the refs that may not be named any more.

    Raises: NotHere if this caller has no such session. Three queries.
    """
    session = WorkingSession.objects.visible_to(caller).filter(session_id=session_id).first()
    if session is None:
        raise NotHere
    state, records = SessionState.from_json(session.state), remembered(session)
    named = nameable(caller, mentioned_in(state, records))
    return detail_of(session, state, records, named)
