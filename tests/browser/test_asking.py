"""The playground, the overview and tokens as a person uses them: by keyboard alone, and with one click to copy."""

import re

import pytest

from tests.browser.test_pages import PAGES

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("width", [360, 1440])
def test_a_question_is_asked_by_keyboard_alone(site, look, width):
    window = look(width=width).open(f"/admin/playground/?vault={site.vault}")
    window.page.keyboard.press("/")
    window.page.keyboard.type("How long does the battery of a Kelp 3 last?")
    passed = window.walk(until="button.cx-button-main")
    assert len(passed) >= 6  # every field on the way
    window.page.keyboard.press("Enter")
    window.page.wait_for_url(re.compile("task=How"))
    assert "13 months" in window.page.locator("#rows .cx-text").first.inner_text()
    before = window.page.url
    window.open(before)  # a link holds the question
    assert "13 months" in window.page.locator("#body-1").inner_text()


def test_what_a_model_gets_is_copied_with_one_click(site, look):
    window = look(permissions=["clipboard-read", "clipboard-write"]).open(PAGES["playground"](site))
    window.page.click("[data-copy='#body-2']")
    window.page.wait_for_function(
        "document.querySelector(\"[data-copy='#body-2']\").textContent === 'Copied'"
    )
    copied = window.page.evaluate("navigator.clipboard.readText()")
    assert copied == window.page.locator("#body-2").text_content()


def test_a_secret_is_copied_with_one_click_and_shown_no_second_time(site, look):
    window = look(permissions=["clipboard-read", "clipboard-write"])
    window.open(f"/admin/memories/accesstoken/add/?vault={site.vault}")
    window.page.fill("#id_name", "copied")
    window.page.click("[name=_save]")
    secret = window.page.locator("#secret").inner_text()
    assert secret.startswith("ctx_")
    assert window.serious() == []
    window.page.keyboard.press("c")
    window.page.wait_for_function("document.querySelector('[data-copy]').textContent === 'Copied'")
    assert window.page.evaluate("navigator.clipboard.readText()") == secret
    window.open(f"/admin/memories/accesstoken/?vault={site.vault}")
    assert secret not in window.page.content()


def test_a_secret_is_selected_as_a_whole_without_a_script(site, look):
    window = look(java_script_enabled=False)
    window.open(f"/admin/memories/accesstoken/add/?vault={site.vault}")
    window.page.fill("#id_name", "selected")
    window.page.click("[name=_save]")
    assert window.page.locator("#secret").inner_text().startswith("ctx_")


def test_a_key_runs_the_probes_and_says_why_one_fails(site, look):
    window = look().open(f"/admin/overview/?vault={site.vault}")
    window.page.keyboard.press("r")
    window.page.wait_for_url(re.compile("run=1"))
    assert window.page.locator("#probes .cx-chip-good").count() == 2
    assert "superseded" in window.page.locator("#probes").inner_text()


@pytest.mark.parametrize(
    "address", ["memories/accesstoken/add", "contextpack/probe/add", "contextpack/probe"]
)
def test_forms_and_lists_of_the_operator_bar_nobody(site, look, address):
    window = look(width=1440).open(f"/admin/{address}/?vault={site.vault}")
    assert window.serious() == []
    assert window.overflow() <= 0
