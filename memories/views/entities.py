"""/v1/entities: the people and things that memories name."""

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from cortex.api.serializers import refuse_query
from memories.access import caller_of
from memories.entities import entities_visible_to, entity_document, find_entity, shown_entities
from memories.idempotency import Answer, once_in_steps
from memories.paging import Order, take_page
from memories.serializers import EntityErasureAnswer, EntityListQuery
from memories.views.base import IDEMPOTENCY_KEY, MemoriesView, answer_once
from memories.writing import forget_entity

BY_NAME = Order(column="name")


class EntityListView(MemoriesView):
    @extend_schema(
        operation_id="entities_list", parameters=[EntityListQuery], responses={200: OpenApiTypes.OBJECT}
    )
    def get(self, request: Request) -> Response:
        caller, now = caller_of(request), timezone.now()
        asked = EntityListQuery.from_request(request)
        rows = entities_visible_to(caller, name=asked.get("q"), at=now)
        page = take_page(rows, BY_NAME, kind="entities", caller=caller, asked=asked)
        return Response({"results": shown_entities(caller, page.rows, at=now), "next": page.next})


class EntityView(MemoriesView):
    @extend_schema(operation_id="entities_read", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, ref: str) -> Response:
        refuse_query(request)
        caller, now = caller_of(request), timezone.now()
        return Response(entity_document(caller, find_entity(caller, ref, at=now), at=now))

    @extend_schema(
        operation_id="entities_forget",
        parameters=[IDEMPOTENCY_KEY],
        responses={200: EntityErasureAnswer},
        description=(
            "Forget every memory in sight that is about it, and it with all its names. What memories out of the "
            "token's sight say of it stays, and is not told. Repeated under the same Idempotency-Key, it gets the "
            "first answer."
        ),
    )
    def delete(self, request: Request, ref: str) -> Response:
        refuse_query(request)

        def act() -> Answer:
            return Answer(
                status=200, body=forget_entity(caller_of(request), ref, now=timezone.now()).as_wire()
            )

        return answer_once(request, act, once=once_in_steps)
