"""manage.py import_memories PATH --vault SLUG"""

import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from cortex.errors import CortexError
from memories.access import operator_of
from memories.core.imports.detecting import OWN, READERS, detect
from memories.core.imports.drafts import Draft, Unread
from memories.management.directory import usable_database, vault_named
from memories.models import Vault
from memories.transfer import ImportReport, import_lines
from memories.transfer.adopting import Adoption, adopt
from memories.transfer.unpacking import NoExport, Unpacked, unpack

AUTO: Final = "auto"
SHOWN: Final = 20
BAR: Final = 30
PROJECT_LENGTH: Final = 100


class Command(BaseCommand):
    help = (
        "Takes memories into a vault: our own exported lines, or what ChatGPT, Claude, mem0, the MCP memory server, "
        "Markdown vaults, Portable AI Memory, LoCoMo and LongMemEval keep. What is stored already stays as it is."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", help="a file, a zip, or a folder of notes")
        parser.add_argument("--vault", required=True, metavar="SLUG")
        parser.add_argument(
            "--format",
            choices=[AUTO, OWN, *READERS],
            default=AUTO,
            help="told from the content (default: auto)",
        )
        parser.add_argument("--project", default="", metavar="LABEL", help="the label that all of it gets")
        parser.add_argument("--dry-run", action="store_true", help="say what would go in, and change nothing")
        parser.add_argument("--report", metavar="FILE", help="write counts and every skipped row as JSON")
        parser.add_argument("--all-skipped", action="store_true", help=f"list every skipped row, not {SHOWN}")

    def handle(self, *args: Any, **options: Any) -> None:
        if len(options["project"]) > PROJECT_LENGTH:
            raise CommandError(f"A project's label has at most {PROJECT_LENGTH} characters.")
        path, shown = Path(options["path"]), None if options["all_skipped"] else SHOWN
        with usable_database():
            vault = vault_named(options["vault"])
            try:
                found = unpack(path)
                product = options["format"] if options["format"] != AUTO else detect(found.documents)
                if product is None:
                    raise CommandError(self._unknown(path, found))
                report, rows = self._take(vault, found, product, options)
            except NoExport as error:
                raise CommandError(str(error)) from None
            except CortexError as error:
                raise CommandError(error.detail) from None
        self.stderr.write("")
        self._tell(product, report, rows, shown=shown, dry_run=options["dry_run"])
        if options["report"]:
            self._write(Path(options["report"]), {"format": product, "dry_run": options["dry_run"], **report})

    def _unknown(self, path: Path, found: Unpacked) -> str:
        reasons = "".join(f"\n  {each.place}: {each.reason}" for each in found.unread[:SHOWN])
        return f"In {path} there are no exported lines, and nothing of another product that is known here.{reasons}"

    # -- Taking ------------------------------------------------------------------------------------

    def _take(
        self, vault: Vault, found: Unpacked, product: str, options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        if product == OWN:
            return self._own_lines(vault, found, options)
        drafts: list[Draft | Unread] = [*found.unread, *READERS[product](found.documents)]
        done: Adoption = adopt(
            operator_of(vault),
            drafts,
            product=product,
            project=options["project"],
            now=timezone.now(),
            dry_run=options["dry_run"],
            progress=lambda dealt: self._bar(dealt, len(drafts)),
        )
        rows = [f"{each.place} {each.ref or ''}".strip() + f": {each.reason}" for each in done.left]
        return done.as_wire(), rows

    def _own_lines(
        self, vault: Vault, found: Unpacked, options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        if options["project"]:
            raise CommandError("Exported lines name their projects themselves; leave --project out.")
        imported: dict[str, int] = {}
        rows: list[str] = []
        told: list[dict[str, Any]] = []
        with transaction.atomic() if options["dry_run"] else nullcontext():
            for document in found.documents:
                report: ImportReport = import_lines(
                    vault, document.data.splitlines(), now=timezone.now(), progress=self._progress
                )
                imported = {name: imported.get(name, 0) + count for name, count in report.imported.items()}
                told += [each.as_wire() for each in report.skipped]
                for each in report.skipped:
                    what = " ".join(filter(None, (each.class_name, each.ref)))
                    rows.append(f"line {each.line} {what}: {each.reason}")
            if options["dry_run"]:
                transaction.set_rollback(True)
        return {"imported": imported, "skipped": len(rows), "rows": told}, rows

    # -- Telling -----------------------------------------------------------------------------------

    def _bar(self, done: int, total: int) -> None:
        filled = BAR * done // max(total, 1)
        self.stderr.write(f"\r[{'#' * filled}{'.' * (BAR - filled)}] {done}/{total}", ending="")

    def _progress(self, class_name: str, done: int) -> None:
        self.stderr.write(f"\r{class_name}: {done}      ", ending="")

    def _tell(
        self,
        product: str,
        report: Mapping[str, Any],
        rows: Sequence[str],
        *,
        shown: int | None,
        dry_run: bool,
    ) -> None:
        self.stdout.write(f"{'format':15} {product}" + (" (dry run: nothing was kept)" if dry_run else ""))
        for name, count in report.get("read", {}).items():
            self.stdout.write(f"{'read':15} {count} {name}")
        for name, count in report["imported"].items():
            self.stdout.write(f"{name:15} {count}")
        if waiting := report.get("waiting_for_review"):
            self.stdout.write(f"{'waiting':15} {waiting} for a review")
        self.stdout.write(f"{'skipped':15} {len(rows)}")
        for reason, count in report.get("skipped_by_reason", {}).items():
            self.stdout.write(f"{'':15} {count} {reason}")
        for row in rows[:shown]:
            self.stdout.write(f"  {row}")
        if hidden := len(rows) - len(rows[:shown]):
            self.stdout.write(f"  … and {hidden} more (--all-skipped lists them)")

    def _write(self, path: Path, report: Mapping[str, Any]) -> None:
        try:
            path.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise CommandError(f"Cannot write {path}: {error.strerror}") from None
