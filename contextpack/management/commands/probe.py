"""manage.py probe [--vault SLUG]: ask every saved probe; 1 where one fails."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from contextpack.models import Probe
from contextpack.probing import Outcome, Verdict, run_probe
from memories.management.directory import usable_database, vault_named
from memories.models import Vault


class Command(BaseCommand):
    help = (
        "Asks every saved probe (made in the admin) and says what is missing from its pack, and why. Exits with 1 where "
        "one fails: run it before and after a change of the embedder or of weights. It writes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vault", metavar="SLUG", help="only this vault's (default: every vault's)")

    def handle(self, *args: Any, **options: Any) -> None:
        with usable_database():
            slug = options["vault"]
            vaults = [vault_named(slug)] if slug else list(Vault.objects.order_by("slug"))
            outcomes = [self._run(vault, probe) for vault in vaults for probe in _probes_of(vault)]
        failed = sum(outcome.verdict is Verdict.FAILED for outcome in outcomes)
        if failed:
            raise CommandError(f"{failed} of {len(outcomes)} probes failed.", returncode=1)
        self.stdout.write(f"{len(outcomes)} probes, none failed." if outcomes else "There are no probes.")

    def _run(self, vault: Vault, probe: Probe) -> Outcome:
        outcome = run_probe(vault, probe, now=timezone.now())
        self.stdout.write("\n".join(_lines(vault, outcome)))
        return outcome


def _probes_of(vault: Vault) -> list[Probe]:
    return list(Probe.objects.filter(vault_id=vault.pk).order_by("name", "pk"))


def _lines(vault: Vault, outcome: Outcome) -> Iterator[str]:
    word = "FAILED" if outcome.verdict is Verdict.FAILED else outcome.verdict
    yield f"{word:<7} {vault.slug}: {outcome.probe.name} ({outcome.probe.ref})"
    for gap in outcome.missing:
        figures = "".join(f", {name} {figure}" for name, figure in gap.figures.items())
        now = f" Now {gap.head}." if gap.head else ""
        yield f"        missing {gap.ref}: {gap.reason}{figures}. {gap.words}{now}"
    for ref in outcome.unwanted:
        yield f"        unwanted {ref}: it is in the pack."
    if outcome.verdict is Verdict.VOID:
        yield "        nothing is left to check: what it was about was forgotten."
