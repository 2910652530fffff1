"""manage.py import_memories FILE --vault SLUG"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from cortex.errors import CortexError
from memories.management.directory import vault_named
from memories.transfer import ImportReport, import_lines

SHOWN = 20


class Command(BaseCommand):
    help = "Takes exported JSON Lines into a vault; what is stored already stays as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file")
        parser.add_argument("--vault", required=True, metavar="SLUG")
        parser.add_argument(
            "--all-skipped", action="store_true", help=f"list every skipped line, not {SHOWN}"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        vault = vault_named(options["vault"])
        try:
            with Path(options["file"]).open("rb") as file:
                report = import_lines(vault, file, now=timezone.now(), progress=self._progress)
        except OSError as error:
            raise CommandError(f"Cannot read {options['file']}: {error.strerror}") from None
        except CortexError as error:
            raise CommandError(error.detail) from None
        self._tell(report, shown=None if options["all_skipped"] else SHOWN)

    def _progress(self, class_name: str, done: int) -> None:
        self.stderr.write(f"\r{class_name}: {done}      ", ending="")

    def _tell(self, report: ImportReport, *, shown: int | None) -> None:
        for name, count in report.imported.items():
            self.stdout.write(f"{name:15} {count}")
        self.stdout.write(f"{'skipped':15} {len(report.skipped)}")
        for skipped in report.skipped[:shown]:
            what = " ".join(filter(None, (skipped.class_name, skipped.ref)))
            self.stdout.write(f"  line {skipped.line} {what}: {skipped.reason}")
        hidden = len(report.skipped) - len(report.skipped[:shown])
        if hidden:
            self.stdout.write(f"  … and {hidden} more (--all-skipped lists them)")
