"""manage.py embed"""

import time
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from memories.management.directory import usable_database, vault_named
from memories.models import Vault
from memories.search import backlog
from memories.search.embedding import EmbedderUnavailable, active_embedder

WATCH_SECONDS: Final = 10.0


class Command(BaseCommand):
    help = (
        "Embeds the memories that have no vector of the embedder in use; the server does the same by itself. "
        "It may be interrupted and started again at any time, beside a running server too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vault", metavar="SLUG", help="(default: every vault)")
        parser.add_argument(
            "--watch", action="store_true", help="go on with what is written later, until Ctrl-C"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        embedder = active_embedder()
        if embedder is None:
            raise CommandError("CORTEX_EMBEDDER is none: nothing is searched by meaning")
        with usable_database():
            try:
                self._embed(options["vault"])
                while options["watch"]:
                    time.sleep(WATCH_SECONDS)
                    self._embed(options["vault"], quietly=True)
            except EmbedderUnavailable as error:
                raise CommandError(f"{error.detail}. What is done is kept; start it again later") from None
            except KeyboardInterrupt:
                raise CommandError("Interrupted. What is done is kept; start it again at any time") from None

    def _embed(self, named: str | None, *, quietly: bool = False) -> None:
        for vault in [vault_named(named)] if named else list(Vault.objects.order_by("slug")):
            done, started = 0, time.monotonic()
            for advance in backlog.work_off(vault.pk):
                done = advance.done
                self.stderr.write(f"\r{vault.slug}: {done} embedded, {advance.waiting} to go ", ending="")
            if done:
                self.stderr.write("")
                seconds = time.monotonic() - started
                self.stdout.write(f"{vault.slug}: {done} memories embedded in {seconds:.1f} s.")
            elif not quietly:
                self.stdout.write(f"{vault.slug}: nothing waits.")
