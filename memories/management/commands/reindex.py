"""manage.py reindex"""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memories.management.directory import usable_database, vault_named
from memories.models import Memory, Vault
from memories.search.embedding import EmbedderUnavailable
from memories.search.facade import reindex
from memories.writing.rehashing import rehash

BATCH = 256
BAR = 30


class Command(BaseCommand):
    help = "Rebuilds hashed terms and the text and vector indexes from the rows. It may be interrupted and resumed, and searches go on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vault", metavar="SLUG", help="(default: every vault)")
        parser.add_argument(
            "--after",
            type=int,
            default=0,
            metavar="ID",
            help="go on behind this id, which an interrupted run printed",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["after"] and not options["vault"]:
            raise CommandError("--after goes with --vault: ids are counted within one vault")
        with usable_database():
            named = options["vault"]
            for vault in [vault_named(named)] if named else list(Vault.objects.order_by("slug")):
                self._reindex(vault, after=options["after"])

    def _reindex(self, vault: Vault, *, after: int) -> None:
        total = _rows(vault, after).count()
        last = after
        try:
            for progress in reindex(vault, _batches(vault, after)):
                last = progress.last_id
                self._show(vault, progress.done, total)
        except KeyboardInterrupt:
            self.stderr.write("")
            raise CommandError(
                f"Interrupted. Go on with: manage.py reindex --vault {vault.slug} --after {last}"
            ) from None
        except EmbedderUnavailable as error:
            self.stderr.write("")
            raise CommandError(
                f"{vault.slug}: all is findable by word, but {error.detail}. "
                f"Later: manage.py embed --vault {vault.slug}"
            ) from None
        self.stderr.write("")
        self.stdout.write(f"{vault.slug}: {total} memories indexed.")

    def _show(self, vault: Vault, done: int, total: int) -> None:
        filled = BAR * done // max(total, 1)
        bar = "#" * filled + "." * (BAR - filled)
        self.stderr.write(f"\r{vault.slug} [{bar}] {done}/{total}", ending="")


def _rows(vault: Vault, after: int) -> Any:
    return Memory.objects.in_vault(vault.pk).filter(redacted_at__isnull=True, pk__gt=after)


def _batches(vault: Vault, after: int) -> Iterator[list[int]]:
    while ids := list(_rows(vault, after).order_by("pk").values_list("pk", flat=True)[:BATCH]):
        rehash(vault, ids)
        yield ids
        after = ids[-1]
