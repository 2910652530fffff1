"""End conversations, for good but for one figure: how far their cursors came.

A cursor of a session's name never comes a second time in a vault. So a client that returns to a conversation that
was ended or swept, and names the last answer that it applied, is told to begin anew.
"""

from collections.abc import Collection

from django.db import transaction

from cortex.errors import NotHere
from memories.querysets import Reader
from memories.rows import delete_rows
from sessions.core.state import SessionState
from sessions.models import DeltaRecord, EndedSession, WorkingSession, place_of


def end_session(reader: Reader, session_id: str) -> None:
    """Forget a conversation and its log.

    Raises: NotHere if this reader has no such session.
    """
    with transaction.atomic():
        rows = WorkingSession.objects.visible_to(reader).filter(session_id=session_id)
        session = rows.select_for_update().defer("state").first()
        if session is None:
            raise NotHere
        end_all(session.vault_id, [session])


def end_all(vault_id: str, sessions: Collection[WorkingSession]) -> int:
    """Delete locked sessions of a vault with their logs, and note how far each of them came.

    Returns: how many there were.
    """
    _note_cursors(vault_id, sessions)
    keys = [session.pk for session in sessions]
    delete_rows(DeltaRecord.objects.filter(vault_id=vault_id, session_id__among=keys))
    return delete_rows(WorkingSession.objects.filter(vault_id=vault_id, pk__among=keys))


def begin_after_its_namesake(session: WorkingSession) -> None:
    """Let a session without an answer count on from where the last one of its name ended; nothing is saved."""
    place = place_of(session.scope, session.session_id)
    ended = EndedSession.objects.filter(vault_id=session.vault_id, place=place)
    last = ended.values_list("last_cursor", flat=True).first()
    if last is not None:
        session.delta_cursor = last
        session.state = SessionState(delta_cursor=last, first_base=last).to_json()


def _note_cursors(vault_id: str, sessions: Collection[WorkingSession]) -> None:
    reached: dict[int, int] = {}
    for session in sessions:
        place = place_of(session.scope, session.session_id)
        reached[place] = max(reached.get(place, 0), session.delta_cursor)
    noted = EndedSession.objects.filter(vault_id=vault_id, place__among=list(reached)).select_for_update()
    for place, last in noted.values_list("place", "last_cursor"):
        reached[place] = max(reached[place], last)
    EndedSession.objects.bulk_create(
        [EndedSession(vault_id=vault_id, place=place, last_cursor=last) for place, last in reached.items()],
        update_conflicts=True,
        unique_fields=["vault", "place"],
        update_fields=["last_cursor"],
    )
