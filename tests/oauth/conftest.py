"""A running server with OAuth on, and people who may do more or less in its admin."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from contextpack.demo.server import HOST, SOURCE_DIR, Server, throwaway_server, throwaway_settings
from tests.oauth.speaking import PASSWORD, Person, RawClient, close_all, registered

PEOPLE = f"""
from django.contrib.auth.models import Permission, User
from memories.models import Vault
User.objects.create_superuser("ana", password="{PASSWORD}")
User.objects.create_user("visitor", password="{PASSWORD}")
for name, codenames in (("reader", ("view_vault", "view_memory")), ("clerk", ("view_entity",)), ("leaver", ())):
    user = User.objects.create_user(name, password="{PASSWORD}", is_staff=True, is_superuser=name == "leaver")
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
Vault.objects.create(slug="team-red", name="Team Red")
"""


def oauth_settings(port: int) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "tests.oauth.settings",
        "CORTEX_OAUTH": "1",
        "CORTEX_PROXY": "1",  # as hosted clients find it; a test plays the proxy by sending its header
        "CORTEX_LOG_LEVEL": "DEBUG",  # whatever is logged at all, a test looks through
        "CORTEX_PUBLIC_URL": f"http://{HOST}:{port}",
    }


def manage(server: Server, *arguments: str) -> str:
    """Run a command on the server's database."""
    ended = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env=throwaway_settings(server.folder, oauth_settings(server.port)),
        cwd=SOURCE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="session")  # modules come in random order
def server() -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    with throwaway_server(port=port, settings=oauth_settings(port)) as running:
        manage(running, "shell", "-c", PEOPLE)
        yield running
        close_all()


@pytest.fixture(autouse=True)
def _uncounted(request):
    """Forget how many clients registered before."""
    if "server" in request.fixturenames:
        running = request.getfixturevalue("server")
        for counted in (running.folder / "throttle").glob("oauth-*"):
            counted.unlink()


@pytest.fixture(scope="session")
def ana(server: Server) -> Person:
    """The superuser."""
    return Person(server.url, "ana")


@pytest.fixture(scope="session")
def client(server: Server) -> RawClient:
    return registered(server.url)
