"""`manage.py serve`: a server that can be used, from an empty folder on."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from memories.access import DEFAULT_VAULT
from memories.models import ALL_SCOPES, AccessToken, Vault

WORKERS: Final = 2
THREADS: Final = 4
# Two BLAS threads on a busy core cost a request ten times what they save.
_ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Command(BaseCommand):
    help = "Migrate, make the default vault, print the URLs (and, the first time, a token), and serve."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.CORTEX_HOST)
        parser.add_argument("--port", type=int, default=settings.CORTEX_PORT)
        parser.add_argument("--workers", type=int, default=WORKERS)

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        base = f"http://{_shown(options['host'])}:{options['port']}"
        self.stdout.write(
            f"Cortex  {base}\n  API     {base}/v1/  (described at {base}/docs)\n  Admin   {base}/admin/"
        )
        self._welcome()
        self.stdout.flush()
        _become_gunicorn(options)

    def _welcome(self) -> None:
        """Make the default vault and its first token, once; a token is never shown a second time."""
        vault, _ = Vault.objects.get_or_create(slug=DEFAULT_VAULT, defaults={"name": "Default"})
        if AccessToken.objects.filter(vault=vault).exists():
            return
        _, secret = AccessToken.issue(vault, name="first token", scopes=ALL_SCOPES)
        self.stdout.write(
            f"  Token   {secret}\n          for the vault '{vault.slug}', shown this once; "
            "manage.py create_token makes others"
        )


def _shown(host: str) -> str:
    if host in {"0.0.0.0", "::"}:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _become_gunicorn(options: dict[str, Any]) -> None:
    """Replace this process by the server, so that signals reach it and nothing stands between."""
    program = Path(sys.executable).with_name("gunicorn")
    if not program.exists():
        raise CommandError(f"gunicorn is not installed beside {sys.executable}; run make serve")
    host = f"[{options['host']}]" if ":" in options["host"] else options["host"]
    arguments = [
        str(program),
        "cortex.wsgi:application",
        f"--bind={host}:{options['port']}",
        f"--workers={options['workers']}",
        f"--threads={THREADS}",
        "--worker-class=gthread",
        "--keep-alive=30",
        "--graceful-timeout=5",
        "--no-control-socket",
        f"--chdir={settings.BASE_DIR}",
        "--log-level=warning",
    ]
    os.execve(arguments[0], arguments, {**os.environ, **_ONE_THREAD})
