"""manage.py create_vault SLUG"""

from argparse import ArgumentParser
from typing import Any

import snowballstemmer
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from memories.models import Vault


class Command(BaseCommand):
    help = "Makes a vault, the room for what a person or a team has remembered."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "slug", help="letters, digits, - and _; what X-Cortex-Vault and the commands call it"
        )
        parser.add_argument("--name", default="", help="for people to read")
        parser.add_argument(
            "--language", default="english", help="whose word stems are used (default: english)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["language"] not in snowballstemmer.algorithms():
            known = ", ".join(sorted(snowballstemmer.algorithms()))
            raise CommandError(f"No stems are known for {options['language']!r}. Known: {known}")
        vault = Vault(slug=options["slug"], name=options["name"], language=options["language"])
        try:
            vault.full_clean()
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        vault.save(force_insert=True)
        self.stdout.write(self.style.SUCCESS(f"Made the vault {vault.slug} ({vault.pk})."))
        self.stdout.write(f"Next: manage.py create_token --vault {vault.slug} --name NAME")
