"""manage.py extract"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memories.management.directory import usable_database, vault_named
from memories.models import Vault
from memories.proposing import backlog
from memories.proposing.backlog import Read
from memories.proposing.chat import ModelUnavailable, active_model


class Command(BaseCommand):
    help = (
        "Lets the language model of CORTEX_LLM_URL read the captures that wait for it; what it finds is proposed. "
        "The server does the same by itself. It may be interrupted and started again at any time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vault", metavar="SLUG", help="(default: every vault)")

    def handle(self, *args: Any, **options: Any) -> None:
        if active_model() is None:
            raise CommandError("CORTEX_LLM_URL is not set: captures are read by rules alone")
        with usable_database():
            try:
                self._extract(options["vault"])
            except ModelUnavailable as error:
                raise CommandError(f"{error.detail}. What is done is kept; start it again later") from None

    def _extract(self, named: str | None) -> None:
        vaults = [vault_named(named)] if named else list(Vault.objects.order_by("slug"))
        reads: dict[str, list[Read]] = {vault.pk: [] for vault in vaults}
        try:
            for read in backlog.work_off(*vaults):
                reads[read.vault_id].append(read)
        finally:
            for vault in vaults:
                self.stdout.write(f"{vault.slug}: {_told(reads[vault.pk])}.")


def _told(reads: Sequence[Read]) -> str:
    dropped = sum((read.dropped for read in reads), Counter[str]())
    told = "".join(f", {number} dropped ({reason})" for reason, number in sorted(dropped.items()))
    return f"{len(reads)} captures read, {sum(read.proposed for read in reads)} memories proposed{told}"
