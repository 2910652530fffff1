"""What the commands share: finding a vault by its slug, or saying plainly that there is none, or no database."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, ProgrammingError

from cortex.api.databases import said_of
from memories.models import Vault


@contextmanager
def usable_database() -> Iterator[None]:
    """Raises: CommandError, one plain line, where the database is away, busy, broken or not migrated."""
    try:
        yield
    except (OperationalError, ProgrammingError, InterfaceError) as error:
        raise CommandError(said_of(error)) from error


def vault_named(slug: str) -> Vault:
    """Raises: CommandError if no vault has this slug."""
    found = Vault.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(Vault.objects.order_by("slug").values_list("slug", flat=True)[:20]) or "none yet"
        raise CommandError(
            f"There is no vault {slug!r}. Known: {known}. Make one with: manage.py create_vault {slug}"
        )
    return found
