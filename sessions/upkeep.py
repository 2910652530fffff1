"""What a sweep drops of sessions: those that nobody has called for a while."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from memories.rows import delete_rows
from sessions.models import DeltaRecord, WorkingSession

SESSION_KEPT_FOR: Final = timedelta(days=30)


def on_vault_swept(sender: object, *, vault_id: str, now: datetime, **_: object) -> Mapping[str, int]:
    """Drop idle sessions with their logs (receiver of `vault_swept`); a client that returns gets a reset."""
    idle = WorkingSession.objects.filter(vault_id=vault_id, updated_at__lt=now - SESSION_KEPT_FOR)
    with transaction.atomic():
        keys = list(idle.select_for_update().values_list("pk", flat=True))
        delete_rows(DeltaRecord.objects.filter(vault_id=vault_id, session_id__among=keys))
        dropped = delete_rows(WorkingSession.objects.filter(vault_id=vault_id, pk__among=keys))
    return {"idle sessions": dropped}
