"""What a sweep drops of answers: receipts that have had their time. Pins stay: they were asked for."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from contextpack.models import Receipt
from memories.rows import delete_rows

RECEIPT_KEPT_FOR: Final = timedelta(days=90)


def on_vault_swept(sender: object, *, vault_id: str, now: datetime, **_: object) -> Mapping[str, int]:
    """Drop old receipts (receiver of `vault_swept`)."""
    old = Receipt.objects.filter(vault_id=vault_id, assembled_at__lt=now - RECEIPT_KEPT_FOR)
    return {"old receipts": delete_rows(old)}
