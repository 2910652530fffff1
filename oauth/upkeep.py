"""What a sweep drops of OAuth: consents that nothing came of or that ended long ago, dead tokens, unused clients."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, Q
from oauth2_provider.models import RefreshToken, clear_expired

from memories.rows import delete_rows
from oauth.clients import UNUSED_KEPT_FOR, drop_unused
from oauth.models import Consent

UNREDEEMED_KEPT_FOR: Final = timedelta(hours=1)
ENDED_KEPT_FOR: Final = timedelta(days=90)


def on_vault_swept(sender: object, *, vault_id: str, now: datetime, **_: object) -> Mapping[str, int]:
    """Receiver of `vault_swept`."""
    live = RefreshToken.objects.filter(token_family=OuterRef("family"), revoked__isnull=True)
    mine = Consent.objects.filter(vault_id=vault_id)
    unredeemed = Q(family__isnull=True, created_at__lt=now - UNREDEEMED_KEPT_FOR)
    unused = Q(last_used_at__lt=now - ENDED_KEPT_FOR) | Q(last_used_at__isnull=True)
    ended = Q(family__isnull=False, created_at__lt=now - ENDED_KEPT_FOR) & unused & ~Exists(live)
    return {"connected clients": delete_rows(mine.filter(unredeemed | ended))}


def on_server_swept(sender: object, *, now: datetime, **_: object) -> Mapping[str, int]:
    """Receiver of `server_swept`."""
    clear_expired()
    return {"unused clients": drop_unused(before=now - UNUSED_KEPT_FOR)}
