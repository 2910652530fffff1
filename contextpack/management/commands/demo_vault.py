"""`manage.py demo_vault`: a vault with a believable year in it, to look around in."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from contextpack.demo.year.filling import SEED, fill
from cortex.errors import StateConflict
from memories.management.directory import usable_database
from memories.models import Vault

SLUG: Final = "brightwater"
NAME: Final = "Brightwater Instruments"


class Command(BaseCommand):
    help = (
        "Fills a vault with an invented company's year: some 410 memories, 30 conversations, what waits for a review. "
        "Refuses a vault that is not empty."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vault", default=SLUG, metavar="SLUG", help="made if there is none")
        parser.add_argument(
            "--until", type=_moment, help="when the year ends (default: now), as in 2026-12-01T12:00Z"
        )
        parser.add_argument("--seed", default=SEED, help="equal seeds give equal texts at equal moments")

    def handle(self, *args: Any, **options: Any) -> None:
        with usable_database():
            vault, _ = Vault.objects.get_or_create(slug=options["vault"], defaults={"name": NAME})
            try:
                counts = fill(vault, until=options["until"] or timezone.now(), seed=options["seed"])
            except StateConflict as refusal:
                raise CommandError(refusal.detail) from None
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        self.stdout.write(f"The vault {vault.slug} holds a year: {told}.")


def _moment(text: str) -> datetime:
    moment = parse_datetime(text)
    if moment is None or moment.tzinfo is None:
        raise CommandError("--until is a moment with its offset, as in 2026-12-01T12:00Z")
    return moment
