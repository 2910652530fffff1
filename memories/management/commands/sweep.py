"""manage.py sweep"""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from memories.management.directory import usable_database, vault_named
from memories.models import Vault
from memories.search.scrubbing import scrub
from memories.upkeep import sweep_server, sweep_vault


class Command(BaseCommand):
    help = (
        "Drops what has had its time: expired memories and their copies, old idempotency records, and more."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vault", metavar="SLUG", help="(default: every vault)")

    def handle(self, *args: Any, **options: Any) -> None:
        with usable_database():
            self._sweep(options["vault"])

    def _sweep(self, slug: str | None) -> None:
        now = timezone.now()
        vaults = [vault_named(slug)] if slug else list(Vault.objects.order_by("slug"))
        total: Counter[str] = Counter()
        for vault in vaults:
            swept = Counter(sweep_vault(vault, now=now))
            if slug or swept.total():
                self.stdout.write(f"{vault.slug}: {_told(swept)}")
            total += swept
        if not slug:
            total += sweep_server(now=now)
        scrub()  # what was forgotten leaves the index's own pages and the database's log as well
        if not slug:
            self.stdout.write(f"{len(vaults)} vaults swept: {_told(total)}")


def _told(swept: "Counter[str]") -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(swept.items()) if count) or "nothing to drop"
