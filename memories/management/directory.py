"""What the commands share: finding a vault by its slug, or saying plainly that there is none."""

from django.core.management.base import CommandError

from memories.models import Vault


def vault_named(slug: str) -> Vault:
    """Raises: CommandError if no vault has this slug."""
    found = Vault.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(Vault.objects.order_by("slug").values_list("slug", flat=True)[:20]) or "none yet"
        raise CommandError(
            f"There is no vault {slug!r}. Known: {known}. Make one with: manage.py create_vault {slug}"
        )
    return found
