"""Working with the pages as a person does: by keyboard alone, on paper, with what strangers wrote."""

import re

import pytest

from tests.browser.looking import SCHEMES
from tests.browser.test_pages import PAGES

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("width", [360, 1440])
def test_every_control_of_a_receipt_is_reached_by_keyboard(site, look, width):
    window = look(width=width).open(PAGES["receipt"](site))
    passed = window.walk(until="#id_why_not")
    assert any(what.startswith("BUTTON Print") for what in passed)
    assert any("As a table" in what for what in passed)


def test_a_key_replays_a_receipt_and_shows_its_bytes(site, look):
    window = look().open(PAGES["receipt"](site))
    window.page.keyboard.press("r")
    window.page.wait_for_url(re.compile("replay=1"))
    assert window.page.locator("#replay .cx-chip").first.inner_text() in {"identical", "differs"}
    window.page.keyboard.press("b")
    window.page.wait_for_url(re.compile("sent=1"))
    assert window.page.locator("#sent .cx-chip").inner_text() == "as sent"


def test_a_key_that_is_typed_into_a_field_is_only_typed(site, look):
    window = look().open(PAGES["receipt"](site))
    before = window.page.url
    window.page.focus("#id_why_not")
    window.page.keyboard.type("rb")
    assert window.page.input_value("#id_why_not") == "rb"
    assert window.page.url == before


def test_the_bytes_are_copied_with_one_click(site, look):
    window = look(permissions=["clipboard-read", "clipboard-write"]).open(PAGES["receipt"](site) + "?sent=1")
    window.page.click("[data-copy]")
    window.page.wait_for_function("document.querySelector('[data-copy]').textContent === 'Copied'")
    copied = window.page.evaluate("navigator.clipboard.readText()")
    assert copied == window.page.locator("#bytes").text_content()
    assert copied.startswith('{"smp":"1"')


@pytest.mark.parametrize("name", ["receipt", "session"])
def test_a_page_reads_without_a_script(site, look, name):
    window = look(java_script_enabled=False).open(PAGES[name](site))
    window.page.locator("summary").first.click()
    assert window.page.locator("details[open]").count() >= 1


@pytest.mark.parametrize("name", ["receipt", "session"])
def test_paper_shows_the_figures_and_none_of_the_controls(site, look, name):
    window = look(width=800, scheme="dark").open(PAGES[name](site))
    window.page.emulate_media(media="print", color_scheme="light")
    assert not window.page.locator(".cx-toolbar").first.is_visible()
    assert not window.page.locator("#header").is_visible()
    assert window.page.locator(".cx-figure svg").first.is_visible()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_a_stranger_wrote_runs_nowhere(site, look, scheme):
    """A forum post with a handler, a script's address and a broken fence is in the vault; its page is text."""
    ref = site.one("select ref from memories_memory where content like '%onerror=%'")
    window = look(scheme=scheme).open(site.page_of("memories/memory", ref))
    assert "onerror=" in window.page.locator("pre.told").first.inner_text()
    assert window.page.locator("img[src=x], a[href^=javascript]").count() == 0
    window.open(f"/admin/memories/memory/?vault={site.vault}&q={ref}")
    assert window.page.locator("img[src=x]").count() == 0
