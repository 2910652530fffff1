"""How a page is looked at: opened, walked through by keyboard, judged by axe, measured, printed."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from axe_playwright_python.sync_playwright import Axe

SERIOUS: Final = frozenset({"serious", "critical"})
WIDTHS: Final = (360, 1440)
SCHEMES: Final = ("light", "dark")
_TABS: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The server, the vault that its admin shows, and the database beneath, to find rows in."""

    url: str
    vault: str
    database: Path

    def rows(self, statement: str, *values: object) -> list[Any]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            return database.execute(statement, values).fetchall()

    def one(self, statement: str, *values: object) -> Any:
        """Return the only column of the first row."""
        return self.rows(statement, *values)[0][0]

    def page_of(self, model: str, key: object) -> str:
        """Return the address of a row's page; `model` as in `contextpack/receipt`."""
        return f"/admin/{model}/{self.vault}.{key}/change/"


@dataclass(kw_only=True)  # without slots: Playwright hangs its handlers on it
class Window:
    """One page of a browser, and what its console complained of."""

    page: Any
    site: Site
    troubles: list[str] = field(default_factory=list)

    @classmethod
    def on(cls, page: Any, site: Site) -> Self:
        window = cls(page=page, site=site)
        page.on("console", window._heard)
        page.on("pageerror", lambda error: window.troubles.append(f"{page.url}: {error}"))
        page.on("dialog", window._asked)
        page.on("response", window._answered)
        return window

    def _heard(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.troubles.append(f"{self.page.url}: {message.text}")

    def _asked(self, dialog: Any) -> None:
        """A dialog that nobody asked for is a script that ran."""
        self.troubles.append(f"{self.page.url}: dialog {dialog.message}")
        dialog.dismiss()

    def _answered(self, response: Any) -> None:
        if response.status >= 400:
            self.troubles.append(f"{response.url}: {response.status}")

    def open(self, address: str) -> Self:
        answer = self.page.goto(address)
        assert answer is not None
        assert answer.status == 200, (address, answer.status)
        return self

    def serious(self) -> list[str]:
        """Return what axe finds serious or critical, with where it is."""
        # Its preloading would fetch the style sheets again and put them inline, which the policy refuses.
        choices = {"preload": False, "resultTypes": ["violations"]}
        found = Axe().run(self.page, options=choices).response["violations"]
        return [
            f"{one['id']}: {node['target']} {node['html'][:160]}"
            for one in found
            if one["impact"] in SERIOUS
            for node in one["nodes"]
        ]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window; what scrolls inside it does not count."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def walk(self, *, until: str, limit: int = _TABS) -> list[str]:
        """Press Tab until an element that matches a selector has the focus.

        Returns: what had the focus on the way, by tag and text. Each of it must be seen to have it.
        """
        passed: list[str] = []
        for _ in range(limit):
            self.page.keyboard.press("Tab")
            told = self.page.evaluate(_FOCUSED, until)
            assert told["seen"], f"{self.page.url}: nothing shows that this has the focus: {told['what']}"
            passed.append(told["what"])
            if told["there"]:
                return passed
        raise AssertionError(f"{self.page.url}: {until} is not reached by keyboard; passed {passed[-10:]}")

    def shoot(self, file: Path, **choices: Any) -> int:
        """Write a screenshot; return its size in bytes."""
        return len(self.page.screenshot(path=file, animations="disabled", **choices))


_FOCUSED: Final = """(until) => {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    const resting = ["INPUT", "SELECT", "TEXTAREA"].includes(element.tagName);
    return {
        what: `${element.tagName} ${(element.textContent || element.name || "").trim().slice(0, 40)}`,
        there: element.matches(until),
        seen: outlined || resting || style.textDecorationLine.includes("underline") || style.boxShadow !== "none"
            || element === document.body || element.matches("a, button"),
    };
}"""
