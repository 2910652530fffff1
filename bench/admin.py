"""How long the admin's pages take, over a vault with a year in it and thousands of receipts. `python -m bench.admin`

In this process, over a throw-away SQLite file, through Django's own client: what is measured is the server's time, with
its statements. The receipts are those of the year, again and again under new refs.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench import inside

ROUNDS: Final = 15
END: Final = datetime(2026, 12, 1, 18, tzinfo=UTC)
BATCH: Final = 500


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.admin", description=__doc__)
    parser.add_argument("--receipts", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as folder:
        inside.enter(Path(folder), {})
        pages = _prepared(options.receipts)
        for name, seconds, statements in _measured(pages, options.rounds):
            middle, slowest = statistics.median(seconds) * 1_000, max(seconds) * 1_000
            print(f"{name:<28} {middle:7.1f} ms  slowest {slowest:7.1f} ms  {statements:3} statements")
    return 0


def _prepared(receipts: int) -> tuple[Any, dict[str, str]]:
    """Fill the database; return a client that is logged in, and the addresses to look at."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client

    from contextpack.demo.year.filling import fill
    from contextpack.models import Receipt
    from memories.admin.linking import list_url, row_url
    from memories.models import Memory, Vault
    from sessions.models import WorkingSession

    call_command("migrate", verbosity=0)
    vault = Vault.objects.create(slug="bench")
    fill(vault, until=END)
    _multiply(vault.pk, receipts)
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("bench", password="not a secret here"))
    of_talk = Receipt.objects.filter(vault_id=vault.pk, session_id="year-end-review").order_by("assembled_at")
    receipt = row_url(Receipt, vault.pk, of_talk[6].ref)
    session = WorkingSession.objects.get(vault_id=vault.pk, session_id="year-end-review")
    return client, {
        "front": f"/admin/?vault={vault.pk}",
        "overview": f"/admin/overview/?vault={vault.pk}",
        "playground": f"/admin/playground/?vault={vault.pk}&model=claude&beside=cursor&task=How+long+does+a+Kelp+last",
        "receipts": list_url(Receipt, vault.pk),
        "receipts, last page": list_url(Receipt, vault.pk, p=receipts // 50),
        "receipts, a search": list_url(Receipt, vault.pk, q="alarms"),
        "receipt": receipt,
        "receipt, replayed": f"{receipt}?replay=1",
        "receipt, its bytes": f"{receipt}?sent=1",
        "conversation": row_url(WorkingSession, vault.pk, session.pk),
        "memories": list_url(Memory, vault.pk),
    }


def _multiply(vault_id: str, wanted: int) -> None:
    from contextpack.models import Receipt, new_receipt_ref
    from memories.ids import random_key

    kept = list(Receipt.objects.filter(vault_id=vault_id).order_by("pk"))
    copies: list[Any] = []
    for number in range(max(wanted - len(kept), 0)):
        copy = Receipt.objects.model(
            **{
                field.attname: getattr(kept[number % len(kept)], field.attname)
                for field in Receipt._meta.fields
            }
        )
        copy.pk, copy.ref, copy.session_id = random_key(), new_receipt_ref(), f"copy-{number // 5}"
        copy.assembled_at = END - timedelta(minutes=7 * number)
        copies.append(copy)
    Receipt.objects.bulk_create(copies, batch_size=BATCH)


def _measured(prepared: tuple[Any, dict[str, str]], rounds: int) -> Sequence[tuple[str, list[float], int]]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client, addresses = prepared
    told: list[tuple[str, list[float], int]] = []
    for name, address in addresses.items():
        _fetch(client, address)  # the first look compiles templates
        seconds = [_timed(client, address) for _ in range(rounds)]
        with CaptureQueriesContext(connection) as seen:
            _fetch(client, address)
        told.append((name, seconds, len(seen)))
    return told


def _fetch(client: Any, address: str) -> None:
    answer = client.get(address)
    if answer.status_code != 200:
        raise SystemExit(f"bench.admin: {address} answers {answer.status_code}")


def _timed(client: Any, address: str) -> float:
    began = time.perf_counter()
    _fetch(client, address)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
