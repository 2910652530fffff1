"""manage.py create_token --vault SLUG --name NAME"""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memories.management.directory import vault_named
from memories.models import ALL_SCOPES, AccessToken, Scope

DEFAULT_SCOPES = (Scope.READ, Scope.WRITE)


class Command(BaseCommand):
    help = "Makes an access token for a vault and prints its secret, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vault", required=True, metavar="SLUG")
        parser.add_argument("--name", required=True, help="whose or what for, to tell tokens apart")
        parser.add_argument(
            "--scope",
            action="append",
            choices=[scope.value for scope in ALL_SCOPES],
            help="may be repeated (default: memory:read memory:write)",
        )
        parser.add_argument(
            "--project", action="append", default=[], help="limits the token to projects; may be repeated"
        )
        parser.add_argument("--expires-in", type=int, metavar="DAYS", help="(default: never)")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["expires_in"]
        if days is not None and not 0 < days <= 36_500:
            raise CommandError("--expires-in is a number of days from 1 to 36500")
        if not options["name"].strip() or len(options["name"]) > 100:
            raise CommandError("--name is 1 to 100 characters")
        if any(not project or len(project) > 100 for project in options["project"]):
            raise CommandError("--project is a label of 1 to 100 characters")
        token, secret = AccessToken.issue(
            vault_named(options["vault"]),
            name=options["name"],
            scopes=[Scope(scope) for scope in options["scope"] or DEFAULT_SCOPES],
            projects=options["project"],
            expires_at=None if days is None else timezone.now() + timedelta(days=days),
        )
        self.stderr.write(f"Token {token.name!r} for {options['vault']}: {', '.join(token.scopes)}.")
        self.stderr.write("Keep the secret, it is not shown again:")
        self.stdout.write(secret)
