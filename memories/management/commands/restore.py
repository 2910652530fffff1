"""manage.py restore FILE"""

import sqlite3
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.utils import timezone

from cortex.errors import NotHere
from memories.access import operator_of
from memories.backups import Unsound, check, put_in_place
from memories.models import Memory, Tombstone, Vault
from memories.search.scrubbing import scrub
from memories.writing.forgetting import forget
from memories.writing.reviewing import redact

Refs = Sequence[tuple[str, str]]  # of a vault and a memory


class Command(BaseCommand):
    help = (
        "Puts a backup in the place of the database, while no server runs. What was forgotten or redacted since the "
        "backup is forgotten and redacted again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError(
                "This database is PostgreSQL's: pg_restore brings it back, see docs/operations.md"
            )
        forgotten, redacted = self._withdrawn()
        connection.close()
        try:
            check(options["file"])
            former = put_in_place(options["file"], Path(connection.settings_dict["NAME"]))
        except (Unsound, OSError, sqlite3.Error) as error:
            raise CommandError(f"Nothing was restored: {error}") from error
        call_command("migrate", interactive=False, verbosity=0)
        again = _forget_again(forgotten) + _redact_again(redacted)
        scrub()
        self.stdout.write(
            f"Restored {options['file'].name}; {again} memories that were withdrawn since went again."
        )
        if former is not None:
            self.stdout.write(f"The former database is {former}: delete it once it is not needed.")

    def _withdrawn(self) -> tuple[Refs, Refs]:
        """Return what the present database knows to be forgotten, or redacted; nothing where it cannot be read."""
        try:
            vaults = list(Vault.objects.values_list("pk", flat=True))
            forgotten = Tombstone.objects.filter(vault_id__in=vaults)
            redacted = Memory.objects.filter(vault_id__in=vaults, redacted_at__isnull=False)
            return list(forgotten.values_list("vault_id", "ref")), list(
                redacted.values_list("vault_id", "ref")
            )
        except DatabaseError:
            self.stderr.write(
                "The present database cannot be read: what was forgotten since the backup comes back."
            )
            return [], []


def _forget_again(refs: Refs) -> int:
    now, count = timezone.now(), 0
    for vault_id, ref in refs:
        if Memory.objects.filter(vault_id=vault_id, ref=ref).exists():
            with suppress(NotHere):  # its time had run out, and a sweep drops it
                forget(operator_of(Vault.objects.get(pk=vault_id)), ref, now=now)
                count += 1
    return count


def _redact_again(refs: Refs) -> int:
    now, count = timezone.now(), 0
    for vault_id, ref in refs:
        if Memory.objects.filter(vault_id=vault_id, ref=ref, redacted_at__isnull=True).exists():
            with suppress(NotHere):
                redact(operator_of(Vault.objects.get(pk=vault_id)), ref, now=now)
                count += 1
    return count
