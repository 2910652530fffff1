"""manage.py export_vault SLUG [FILE]"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memories.management.directory import vault_named
from memories.transfer import export_lines


class Command(BaseCommand):
    help = "Writes a whole vault as JSON Lines: how many rows of each class, then the rows."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("vault", metavar="SLUG")
        parser.add_argument("file", nargs="?", default="-", help="- for the standard output (default)")

    def handle(self, *args: Any, **options: Any) -> None:
        lines = export_lines(vault_named(options["vault"]), now=timezone.now())
        if options["file"] == "-":
            for line in lines:
                self.stdout.write(line.decode(), ending="")
            return
        try:
            with Path(options["file"]).open("wb") as file:
                file.writelines(lines)
        except OSError as error:
            raise CommandError(f"Cannot write {options['file']}: {error.strerror}") from None
        self.stderr.write(self.style.SUCCESS(f"Wrote {options['file']}."))
