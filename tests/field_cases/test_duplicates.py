"""Facts told again and again: one item, nothing displaced, nothing captured back (A1, A2, A3, A7, A8)."""

import json

import pytest

from tests.clients import api_of
from tests.wire.asking import contents, fill, items, markdown, ok, pack, refs, smp

pytestmark = pytest.mark.django_db

RESTATED = (
    "The weekly report is sent to Ana on Friday",
    "On Friday the weekly report is sent to Ana",
    "The weekly report is sent to Ana on Fridays",
    "Reminder: the weekly report is sent to Ana on Friday",
    "The weekly report is sent on Friday to Ana",
    "The weekly report, it is sent to Ana on Friday",
    "Note that the weekly report is sent to Ana on Friday",
    "Please note: the weekly report is sent to Ana on Friday",
    "On Fridays the weekly report is sent to Ana",
    "The weekly report is being sent to Ana on Friday",
    "FYI: the weekly report is sent to Ana on Friday",
    "As discussed, the weekly report gets sent to Ana on Friday",
    "Again: on Friday the weekly report is sent to Ana",
)
OTHERS = (
    "The ledger is closed by Carlos each evening",
    "The mill stands still in August",
    "Invoices are paid within thirty days",
    "The canteen serves soup at noon",
    "Bicycles belong into the cellar",
    "The old server was sold last spring",
    "Visitors sign the book at the gate",
    "The heating is serviced by Nordwind",
    "Parcels arrive at the back door",
    "The alarm code is known to the porter",
)
MODELS = ["claude", "gpt", "cursor"]


@pytest.fixture
def api():
    return api_of()


class TestRestatements:
    """A1: the same claim thirteen times in slightly different words, and ten other facts."""

    @pytest.mark.parametrize("model", MODELS)
    def test_they_are_one_item_and_the_others_are_named_in_it(self, api, model):
        made = set(fill(api, *RESTATED))
        body = pack(api, "Who is sent the weekly report on Friday?", model=model)
        told = [row for row in items(body) if row["ref"] in made]
        assert len(told) == 1
        assert {told[0]["ref"], *told[0]["folded_refs"]} == made
        assert told[0]["occurrences"] == len(RESTATED)
        assert body["coverage"]["deduped"] == len(RESTATED) - 1

    @pytest.mark.parametrize("model", MODELS)
    def test_they_displace_no_other_fact(self, api, model):
        others = set(fill(api, *OTHERS))
        task = f"weekly report on Friday; and: {'; '.join(OTHERS)}"
        alone = set(refs(smp(api, task, model=model)))
        fill(api, *RESTATED)
        beside = set(refs(smp(api, task, model=model)))
        assert others <= alone
        assert others <= beside

    def test_their_sources_add_up(self, api):
        fill(api, RESTATED[0], source_url="https://example.org/a")
        fill(api, RESTATED[1], source_url="https://example.org/b")
        (row,) = items(pack(api, "weekly report", model="claude"))
        assert set(row["source_urls"]) == {"https://example.org/a", "https://example.org/b"}


class TestCopies:
    """A2: the same text forty-nine times."""

    def test_one_item_whose_size_does_not_grow_with_the_copies(self, api):
        api.remember(RESTATED[0])
        once = smp(api, "weekly report")["budget"]["used"]
        for _ in range(48):
            api.remember(RESTATED[0])
        body = pack(api, "weekly report")
        (row,) = items(body)
        assert row["occurrences"] == 49
        assert smp(api, "weekly report")["budget"]["used"] == once

    def test_copies_in_different_dress_are_copies(self, api):
        for text in (
            RESTATED[0],
            RESTATED[0].upper(),
            f"  {RESTATED[0]}\n",
            RESTATED[0].replace(" ", "\u00a0"),
        ):
            api.remember(text)
        assert len(items(pack(api, "weekly report"))) == 1


class TestLookalikes:
    """A3: statements that differ by a digit, a "not", a name, a date."""

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("The rate limit is 60 per minute", "The rate limit is 600 per minute"),
            ("The rate limit is 60 per minute", "The rate limit is not 60 per minute"),
            ("The weekly report is sent to Ana on Friday", "The weekly report is sent to Bob on Friday"),
            ("The launch of the site is on 3 May 2026", "The launch of the site is on 4 May 2026"),
            ("Ana reports to Bob at the mill", "Bob reports to Ana at the mill"),
            ("Backups of the ledger are never encrypted", "Backups of the ledger are encrypted"),
            ("The gate is open before noon every day", "The gate is open after noon every day"),
            ("费率上限是每分钟60次", "费率上限是每分钟600次"),
        ],
    )
    @pytest.mark.parametrize("model", MODELS)
    def test_they_never_fold(self, api, one, other, model):
        made = {api.remember(text)["ref"] for text in (one, other)}
        body = pack(api, f"{one}? {other}?", model=model)
        assert set(refs(body)) == made
        assert all(row["folded_refs"] == [] for row in items(body))

    @pytest.mark.parametrize("model", [None, *MODELS])
    def test_three_that_contradict_are_shown_as_a_conflict(self, api, model):
        for text in (
            "Rate limit is 60 per minute",
            "Rate limit is 600 per minute",
            "Rate limit is not 60 per minute",
        ):
            api.remember(text)
        rows = items(pack(api, "What is the rate limit per minute?", model=model))
        assert len(rows) == 3
        assert all(row["conflicted"] for row in rows)


class TestEchoes:
    """A7, A8: our own answer sent back as a capture."""

    @pytest.mark.parametrize("fmt", ["smp", "json", "markdown"])
    def test_a_pack_that_comes_back_is_not_stored(self, api, fmt):
        for text in OTHERS[:4]:
            api.remember(text)
        task = "; ".join(OTHERS[:4])
        text = markdown(api, task) if fmt == "markdown" else json.dumps(pack(api, task, format=fmt))
        before = ok(api.get("memories?limit=200"))["results"]
        response = api.post("captures", {"content": text})
        assert response.status_code in {200, 201}
        assert response.json()["memories"] == []
        assert len(ok(api.get("memories?limit=200"))["results"]) == len(before)
        assert [memory["occurrences"] for memory in before] == [1] * 4

    @pytest.mark.parametrize("fmt", ["smp", "json", "markdown"])
    @pytest.mark.parametrize("where", ["before", "after", "around"])
    def test_what_is_new_around_it_is_stored(self, api, fmt, where):
        for text in OTHERS[:4]:
            api.remember(text)
        task = "; ".join(OTHERS[:4])
        echo = markdown(api, task) if fmt == "markdown" else json.dumps(pack(api, task, format=fmt), indent=1)
        new = "Remember that my locker is 14."
        texts = {
            "before": f"{new}\n\n{echo}",
            "after": f"{echo}\n\n{new}",
            "around": f"Hello!\n\n{echo}\n\n{new}",
        }
        response = api.post("captures", {"content": texts[where], "author": "user"})
        assert response.status_code == 201
        told = [memory["content"] for memory in response.json()["memories"]]
        assert any("locker is 14" in content for content in told)
        assert not any(other in content for content in told for other in OTHERS)
        assert any("locker is 14" in content for content in contents(smp(api, "Which locker is mine?")))

    def test_it_does_not_grow_turn_by_turn(self, api):
        api.remember(OTHERS[0])
        for _ in range(5):
            api.post("captures", {"content": f"{markdown(api, OTHERS[0])}\n\nThanks."})
        texts = [memory["content"] for memory in ok(api.get("memories?limit=200"))["results"]]
        assert sum("ledger" in text for text in texts) == 1
