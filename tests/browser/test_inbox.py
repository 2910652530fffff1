"""The review inbox by keyboard alone, in a narrow window, and without a script. Each test leaves it as it was."""

import re

import pytest

from tests.browser.looking import Site

pytestmark = pytest.mark.xdist_group("browser")


def _inbox(site: Site, **more: str) -> str:
    return f"/admin/memories/review/?vault={site.vault}" + "".join(f"&{k}={v}" for k, v in more.items())


def _focused(window) -> str:
    return str(window.page.evaluate("(document.activeElement.closest('[data-item]') || {}).id || ''"))


def _press(window, key: str) -> None:
    """Press a key that sends a form, and wait for the page that answers."""
    with window.page.expect_navigation():
        window.page.keyboard.press(key)


def _status(site: Site, ref: str) -> str:
    return str(site.one("select status from memories_memory where ref = ?", ref))


@pytest.mark.parametrize("width", [360, 1440])
def test_a_reviewer_decides_and_takes_it_back_by_keyboard_alone(site, look, width):
    window = look(width=width).open(_inbox(site, show="pending"))
    press = window.page.keyboard.press
    press("j")
    first = _focused(window)
    press("j")
    second = _focused(window)
    press("k")
    assert first
    assert second not in ("", first)
    assert _focused(window) == first
    _press(window, "d")
    assert _status(site, first) == "archived"
    assert _focused(window) == second
    _press(window, "u")
    assert _status(site, first) == "pending"
    assert _focused(window) == first


def test_other_words_are_typed_and_approved_by_keyboard(site, look):
    window = look().open(_inbox(site, show="pending"))
    window.page.keyboard.press("j")
    ref = _focused(window)
    window.page.keyboard.press("e")
    window.page.keyboard.press("Control+End")
    window.page.keyboard.type(" Said jd and aye.")  # none of these letters decides anything
    window.page.keyboard.press("Tab")
    _press(window, "Enter")
    assert _status(site, ref) == "archived"  # what was typed took its place
    _press(window, "u")
    assert _status(site, ref) == "pending"


def test_several_are_selected_and_decided_at_once(site, look):
    window = look().open(_inbox(site, show="pending"))
    for key in ("j", "x", "j", "x"):
        window.page.keyboard.press(key)
    assert window.page.inner_text("[data-selected-count]") == "(2)"
    with window.page.expect_navigation():
        window.page.click("#bulk button[value=archive]")
    assert window.page.inner_text(".cx-undo p").startswith("2 decisions")
    _press(window, "u")
    assert window.page.locator(".cx-undo").count() == 0


def test_redaction_asks_before_it_does_anything(site, look):
    window = look().open(_inbox(site))
    window.page.keyboard.press("j")
    ref = _focused(window)
    _press(window, "r")
    assert "No way back" in window.page.inner_text("#content")
    with window.page.expect_navigation():
        window.page.click("text=No, take me back")
    assert window.page.url.endswith(_inbox(site))
    assert site.one("select redacted_at from memories_memory where ref = ?", ref) is None


def test_the_forms_do_without_a_script(site, look):
    window = look(java_script_enabled=False).open(_inbox(site, show="pending"))
    article = window.page.locator("article").first
    ref = article.get_attribute("id")
    assert window.page.locator("[data-select-all]").is_hidden()
    article.locator("button[value=archive]").click()
    window.page.wait_for_url(re.compile("decided="))
    assert _status(site, ref) == "archived"
    window.page.click("button[value=undo][data-key=u]")
    window.page.wait_for_url(re.compile(f"at={ref}$"))
    assert _status(site, ref) == "pending"


def test_every_control_of_an_item_is_reached_by_tab(site, look):
    window = look(width=360).open(_inbox(site, show="pending"))
    passed = window.walk(until="article:first-of-type .cx-edit summary")
    for label in ("Approve", "Decline", "Archive", "Redact"):
        assert any(what.startswith(f"BUTTON {label}") for what in passed)
