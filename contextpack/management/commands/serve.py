"""`manage.py serve`: a server that can be used, from an empty folder on."""

import socket
from argparse import ArgumentParser
from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from gunicorn.app.base import BaseApplication

from cortex.api.waiting import SEATS
from memories.access import DEFAULT_VAULT
from memories.management.directory import usable_database
from memories.models import ALL_SCOPES, AccessToken, Vault

WORKERS: Final = 2
THREADS: Final = 2 * SEATS  # writers that wait leave the other half to readers
LAST_PORT: Final = 65_535


class Command(BaseCommand):
    help = "Migrate, make the default vault, print the URLs (and, the first time, a token), and serve."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.CORTEX_HOST)
        parser.add_argument("--port", type=int, default=settings.CORTEX_PORT)
        parser.add_argument("--workers", type=int, default=WORKERS)

    def handle(self, *args: Any, **options: Any) -> None:
        require_free(options["host"], options["port"])
        with usable_database():
            call_command("migrate", interactive=False, verbosity=0)
        base = f"http://{_shown(options['host'])}:{options['port']}"
        self.stdout.write(
            f"Cortex  {base}\n  API     {base}/v1/  (described at {base}/docs)\n  MCP     {base}/mcp\n"
            f"  Admin   {base}/admin/"
        )
        self._welcome()
        self.stdout.flush()
        _run_gunicorn(options)

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


def require_free(host: str, port: int) -> None:
    """Try to listen where the server will.

    Raises: CommandError, which says what stands in the way.
    """
    if not 0 <= port <= LAST_PORT:
        raise CommandError(f"--port is a number from 1 to {LAST_PORT}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {host}:{port}: {error.strerror}. Choose another with --host and --port"
        ) from None


def _shown(host: str) -> str:
    if host in {"0.0.0.0", "::"}:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


class _Gunicorn(BaseApplication):  # type: ignore[misc] # gunicorn has no types
    """Gunicorn around the application that this process has set up already; its workers are forks of it."""

    def __init__(self, choices: dict[str, Any]) -> None:
        self._choices = choices
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._choices.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        return import_module("cortex.wsgi").application


def _run_gunicorn(options: dict[str, Any]) -> None:
    """Serve from this process: it has set everything up already, and its workers are forks of it."""
    host = f"[{options['host']}]" if ":" in options["host"] else options["host"]
    connections.close_all()  # a fork must not share them
    _Gunicorn(
        {
            "bind": f"{host}:{options['port']}",
            "workers": options["workers"],
            "threads": THREADS,
            "worker_class": "cortex.worker.PatientWorker",
            "keepalive": 30,
            "graceful_timeout": 5,
            "control_socket_disable": True,
            "loglevel": "warning",
        }
    ).run()
