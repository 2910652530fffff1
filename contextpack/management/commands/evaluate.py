"""manage.py evaluate FILE_OR_FOLDER…"""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import snowballstemmer
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from contextpack.evaluation.comparing import compare
from contextpack.evaluation.loading import Material, Shape, UnreadableFile, load
from contextpack.evaluation.report import NoReport, Report, keep, read
from contextpack.evaluation.running import BUDGETS, MODEL, Options, TurnRefused, evaluate
from contextpack.evaluation.tables import comparison_text, report_text
from memories.search.embedding import EmbedderUnavailable, choosing

AUTO: Final = "auto"
EMBEDDERS: Final = (choosing.AUTO, *choosing.KINDS, choosing.ENDPOINT, choosing.NONE)
_LINE: Final = 100


class Command(BaseCommand):
    help = (
        "Measures how much of the evidence for the questions of long histories arrives in their packs. "
        "Works in throw-away SQLite databases; the configured one is not touched."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
        parser.add_argument("--format", default=AUTO, choices=[AUTO, *map(str, Shape)], dest="shape")
        parser.add_argument(
            "--budgets",
            type=_budgets,
            default=BUDGETS,
            help="tokens, by commas (default: 500,1000,2000,3000)",
        )
        parser.add_argument("--model", default=MODEL, help="who asks (default: %(default)s)")
        parser.add_argument("--embedder", choices=EMBEDDERS, help="instead of CORTEX_EMBEDDER")
        parser.add_argument(
            "--language",
            choices=snowballstemmer.algorithms(),
            metavar="NAME",
            help="whose stems, for every history",
        )
        parser.add_argument(
            "--asked-at",
            type=_moment,
            metavar="MOMENT",
            help="what the clock says at each question (default: now)",
        )
        parser.add_argument(
            "--limit", type=_positive, help="questions of each history; the same ones every time"
        )
        parser.add_argument("--seed", type=int, default=0, help="of the ids, which break ties (default: 0)")
        parser.add_argument(
            "--off-topic",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="questions beside each history",
        )
        parser.add_argument("--json", type=Path, metavar="OUT", help="keep the run, for --compare")
        parser.add_argument(
            "--compare", type=Path, metavar="EARLIER", help="show what changed since a kept run"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        earlier = self._earlier(options["compare"])
        material = _material(options)
        asked = Options(
            budgets=options["budgets"],
            model=options["model"],
            limit=options["limit"],
            embedder=options["embedder"],
            language=options["language"],
            asked_at=options["asked_at"],
            seed=options["seed"],
            off_topic=material.off_topic,
        )
        try:
            report = evaluate(material.histories, asked, progress=self._progress)
        except TurnRefused as refusal:
            raise CommandError(f"This turn cannot be stored: {refusal}") from None
        except EmbedderUnavailable as error:
            raise CommandError(error.detail) from None
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        finally:
            if self.stderr.isatty():
                self.stderr.write("")
        self.stdout.write(report_text(report))
        if options["json"]:
            _keep(report, options["json"])
        if earlier:
            self.stdout.write(f"\n{comparison_text(compare(earlier, report), earlier, report)}")

    def _earlier(self, path: Path | None) -> Report | None:
        """Read it first: a run takes minutes, and should not end in a wrong file name."""
        try:
            return read(path) if path else None
        except NoReport as error:
            raise CommandError(str(error)) from None

    def _progress(self, line: str) -> None:
        """Keep one line up to date for a person; a log gets a line each time."""
        if self.stderr.isatty():
            self.stderr.write(f"\r{line:{_LINE}}", ending="")
        else:
            self.stderr.write(line)


def _material(options: dict[str, Any]) -> Material:
    shape = None if options["shape"] == AUTO else Shape(options["shape"])
    try:
        return load(options["paths"], shape=shape, off_topic=options["off_topic"])
    except UnreadableFile as error:
        raise CommandError(str(error)) from None


def _keep(report: Report, path: Path) -> None:
    try:
        keep(report, path)
    except OSError as error:
        raise CommandError(f"Cannot write {path}: {error.strerror}") from None


def _budgets(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({_positive(each) for each in text.split(",")}))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no list of whole numbers") from None


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ArgumentTypeError("at least 1")
    return number


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no moment like 2026-01-31T12:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
