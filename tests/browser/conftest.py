"""A real browser before a real server over a vault with a year in it.

The server is a process of its own, started once and filled by `manage.py demo_vault`; nothing here touches the ORM, since
Playwright's synchronous interface keeps an event loop running while a browser is open. For the same reason a browser lives
for one module only: the tests of other folders, which do use the ORM, never run beside it.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import sync_playwright

from contextpack.demo.server import SOURCE_DIR, Server, throwaway_server, throwaway_settings
from tests.browser.looking import Site, Window

VAULT: Final = "brightwater"
NAME, PASSWORD = "leila", "a rowing boat in the fog"
_NO_BROWSER: Final = "no Chromium here (apt-get install chromium, or name one in CORTEX_CHROMIUM)"


@pytest.fixture(scope="session")
def chromium() -> str:
    found = os.environ.get("CORTEX_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        pytest.skip(_NO_BROWSER)
    return found


@pytest.fixture(scope="session")
def site(chromium: str) -> Iterator[Site]:
    """The server, its vault filled, with a person who may do everything."""
    with throwaway_server(settings={"CORTEX_THROTTLE": ""}) as server:
        _manage(server, "demo_vault", f"--vault={VAULT}")
        _manage(server, "createsuperuser", "--noinput", f"--username={NAME}", "--email=leila@example.org")
        database = server.folder / "cortex.sqlite3"
        with sqlite3.connect(database) as rows:
            (vault,) = rows.execute("select id from memories_vault where slug = ?", (VAULT,)).fetchone()
        rows.close()
        yield Site(url=server.url, vault=vault, database=database)


def _manage(server: Server, *command: str) -> None:
    own = throwaway_settings(server.folder, {"DJANGO_SUPERUSER_PASSWORD": PASSWORD})
    subprocess.run(
        [sys.executable, "manage.py", *command], cwd=SOURCE_DIR, env=own, check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    with sync_playwright() as playwright:
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=chromium, args=as_root)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def entered(browser: Any, site: Site) -> Any:
    """Log in once, through the form; returns the cookies that every window begins with."""
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    page.goto("/admin/login/?next=/admin/")
    page.fill("#id_username", NAME)
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url("**/admin/")
    page.goto(f"/admin/?vault={site.vault}")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def look(browser: Any, site: Site, entered: Any) -> Iterator[Callable[..., Window]]:
    """Open windows: `look(width=360, scheme="dark")`. What the console complained of fails the test at its end."""
    windows: list[Window] = []

    def opened(*, width: int = 1440, height: int = 1000, scheme: str = "light", **more: Any) -> Window:
        context = browser.new_context(
            base_url=site.url,
            storage_state=entered,
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            **more,
        )
        context.set_default_timeout(10_000)
        windows.append(Window.on(context.new_page(), site))
        return windows[-1]

    yield opened
    troubles = [trouble for window in windows for trouble in window.troubles]
    for window in windows:
        window.page.context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: `CORTEX_SCREENS` (see `make screens`), else a folder that is thrown away."""
    named = os.environ.get("CORTEX_SCREENS")
    folder = SOURCE_DIR / named if named else tmp_path_factory.mktemp("screens")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
