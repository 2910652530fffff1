"""manage.py backup"""

import sqlite3
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from memories.backups import Unsound, back_up, prune

KEEP = 7


class Command(BaseCommand):
    help = "Copies the database while the server runs, and checks the copy. (PostgreSQL: docs/operations.md)"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to",
            type=Path,
            default=settings.VAR_DIR / "backups",
            metavar="FOLDER",
            help="(default: %(default)s)",
        )
        parser.add_argument(
            "--keep",
            type=int,
            default=KEEP,
            metavar="N",
            help="how many backups stay, this one included (default: %(default)s); what was forgotten stays in older ones",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError(
                "This database is PostgreSQL's: pg_dump makes its backups, see docs/operations.md"
            )
        if options["keep"] < 1:
            raise CommandError("--keep is at least 1: the backup that is made now")
        try:
            made = back_up(Path(connection.settings_dict["NAME"]), options["to"], now=timezone.now())
            gone = prune(options["to"], keep=options["keep"])
        except (Unsound, OSError, sqlite3.Error) as error:
            raise CommandError(f"No backup was made: {error}") from error
        size = made.stat().st_size / 1_048_576
        self.stdout.write(
            f"{made}  {size:,.1f} MB, every page in order"
            + (f"; {len(gone)} older ones removed" if gone else "")
        )
