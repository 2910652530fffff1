"""What a sweep drops of sessions: those that nobody has called for a while."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from sessions.ending import end_all
from sessions.models import WorkingSession

SESSION_KEPT_FOR: Final = timedelta(days=30)


def on_vault_swept(sender: object, *, vault_id: str, now: datetime, **_: object) -> Mapping[str, int]:
    """Drop idle sessions with their logs (receiver of `vault_swept`); a client that returns gets a reset."""
    idle = WorkingSession.objects.filter(vault_id=vault_id, updated_at__lt=now - SESSION_KEPT_FOR)
    with transaction.atomic():
        return {"idle sessions": end_all(vault_id, list(idle.defer("state").select_for_update()))}
