"""manage.py sweep"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from memories.management.directory import vault_named
from memories.models import Vault
from memories.search.scrubbing import scrub
from memories.upkeep import sweep_vault


class Command(BaseCommand):
    help = (
        "Drops what has had its time: expired memories and their copies, old idempotency records, and more."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vault", metavar="SLUG", help="(default: every vault)")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        vaults = [vault_named(options["vault"])] if options["vault"] else Vault.objects.order_by("slug")
        for vault in vaults:
            swept = sweep_vault(vault, now=now)
            told = ", ".join(f"{count} {name}" for name, count in sorted(swept.items()) if count)
            self.stdout.write(f"{vault.slug}: {told or 'nothing to drop'}")
        scrub()  # what was forgotten leaves the index's own pages and the database's log as well
