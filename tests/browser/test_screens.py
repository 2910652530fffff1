"""Pictures of the pages, small enough for a repository: `make screens` puts them into docs/screens/."""

import pytest

from tests.browser.test_pages import PAGES

pytestmark = pytest.mark.xdist_group("browser")

LIMIT = 200_000
SCREENS = {
    "front": ("front", "light", ""),
    "search": ("search", "light", ""),
    "memory": ("memory", "light", "#chain"),
    "memory-about": ("about", "dark", "#entities"),
    "conflict": ("conflicted", "light", ""),
    "inbox": ("inbox", "light", ""),
    "inbox-dark": ("inbox", "dark", "&show=pending"),
    "receipts": ("receipts", "light", ""),
    "receipt": ("receipt", "light", ""),
    "receipt-items": ("receipt", "light", "#items"),
    "receipt-replay": ("receipt", "dark", "?replay=1&sent=1#replay"),
    "session": ("session", "light", ""),
    "overview": ("overview", "light", ""),
    "playground": ("playground", "light", ""),
    "session-dark": ("session", "dark", "#held"),
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screenshot_is_small(site, look, screens, name):
    page, scheme, beside = SCREENS[name]
    window = look(width=1280, height=900, scheme=scheme).open(PAGES[page](site) + beside)
    assert window.shoot(screens / f"{name}.png") < LIMIT
