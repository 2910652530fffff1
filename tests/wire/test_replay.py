"""A receipt's candidates packed again: the same pack, or what changed since (docs/wire.md, Asking)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextpack.models import Receipt
from memories.models import Memory
from tests.clients import Api, api_of
from tests.factories import LONG_AGO
from tests.wire.asking import ask, error_of, fill, items, ok, pack, refs, smp
from tests.wire.corpora import TASK, make_corpus

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LONG = "Oak beams hold the barn. " + "They were cut by the carpenters of the northern valley. " * 12


@pytest.fixture
def api():
    return api_of()


def receipt_of(body: dict[str, Any]) -> str:
    return str(body["receipt"]["id"])


def replay(api: Api, receipt: str) -> dict[str, Any]:
    return ok(api.get(f"receipts/{receipt}/replay"))


def changes(told: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {change["ref"]: (change["was"], change["now"]) for change in told["changes"]}


class TestIdentical:
    @pytest.mark.parametrize("fmt", ["smp", "json"])
    @pytest.mark.parametrize("model", [None, "claude", "cursor"])
    @pytest.mark.parametrize("budget", [300, 900, 6_000])
    def test_the_same_candidates_give_the_same_pack(self, api, fmt, model, budget):
        make_corpus(api.vault, 60)
        body = pack(api, TASK, format=fmt, model=model, token_budget=budget)
        told = replay(api, receipt_of(body))
        assert told["identical"]
        assert told["replayed_digest"] == told["pack_digest"] == body["receipt"]["pack_digest"]
        assert (told["changes"], told["left"], told["entered"], told["reshaped"]) == ([], [], [], [])
        assert not told["reordered"]
        assert {item["ref"] for item in told["items"]} == set(refs(body))

    def test_markdown_is_packed_again_as_markdown(self, api):
        make_corpus(api.vault, 60)
        receipt = ask(api, TASK, format="markdown", model="claude", token_budget=500)["Cortex-Receipt"]
        told = replay(api, receipt)
        assert told["identical"]
        assert told["budget"] == ok(api.get(f"receipts/{receipt}"))["budget"]

    def test_a_later_page_is_packed_again_as_a_later_page(self, api):
        make_corpus(api.vault, 60)
        first = smp(api, TASK, model="claude", token_budget=400)
        second = smp(api, TASK, model="claude", token_budget=400, cursor=first["cursor"])
        told = replay(api, receipt_of(second))
        assert told["identical"]
        assert not {item["ref"] for item in told["items"]} & set(refs(first))

    def test_neither_time_nor_what_was_written_since_has_a_part_in_it(self, api):
        make_corpus(api.vault, 60)
        with time_machine.travel(NOW, tick=False):
            receipt = receipt_of(smp(api, TASK, model="claude", token_budget=900))
        fill(api, *(f"{TASK}: note {number}" for number in range(30)), at=NOW)
        with time_machine.travel(NOW + timedelta(days=200), tick=False):
            assert replay(api, receipt)["identical"]

    def test_an_empty_pack_is_identical(self, api):
        assert replay(api, receipt_of(smp(api, "oak")))["identical"]

    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        task=st.sampled_from((TASK, "oak", "Which rules hold?", "???", "what is open")),
        budget=st.integers(300, 3_000),
        model=st.sampled_from((None, "claude", "gpt", "cursor")),
    )
    def test_whatever_was_asked(self, api, task, budget, model):
        if not Memory.objects.filter(vault=api.vault).exists():
            make_corpus(api.vault, 40)
        assert replay(api, receipt_of(smp(api, task, model=model, token_budget=budget)))["identical"]


class TestChanged:
    @pytest.mark.parametrize(
        ("spoil", "reason"),
        [
            (lambda api, ref: api.delete(f"memories/{ref}"), "forgotten"),
            (lambda api, ref: api.post(f"memories/{ref}/redact"), "redacted"),
            (lambda api, ref: api.post(f"memories/{ref}/archive"), "archived"),
            (lambda api, ref: Memory.objects.filter(ref=ref).update(expires_at=LONG_AGO), "expired"),
            (lambda api, ref: Memory.objects.filter(ref=ref).update(withheld=True), "pending"),
            (lambda api, ref: Memory.objects.filter(ref=ref).update(valid_to=LONG_AGO), "filtered"),
        ],
    )
    def test_what_may_not_be_served_any_more_left_and_says_why(self, api, spoil, reason):
        gone, kept = fill(api, "Oak for the barn", "Oak for the hall")
        receipt = receipt_of(smp(api, "oak", model="claude"))
        spoil(api, gone)
        told = replay(api, receipt)
        assert not told["identical"]
        assert told["replayed_digest"] != told["pack_digest"]
        assert changes(told) == {gone: ("served", reason)}
        assert told["left"] == [{"ref": gone, "rung": "full"}]
        assert [item["ref"] for item in told["items"]] == [kept]

    def test_what_was_superseded_names_its_head(self, api):
        old = api.remember("Oak for the barn")["ref"]
        receipt = receipt_of(smp(api, "oak"))
        head = api.post(f"memories/{old}/supersede", {"content": "Ash for the barn"}).json()["ref"]
        told = replay(api, receipt)
        assert told["changes"] == [{"ref": old, "was": "served", "now": "superseded", "replacement": head}]
        assert (told["identical"], told["items"]) == (False, [])

    def test_a_question_about_the_past_still_has_what_was_true_then(self, api):
        old = api.remember("Oak for the barn", valid_from="2025-01-01")["ref"]
        receipt = receipt_of(smp(api, "oak", as_of="2025-06-01", known_at=datetime.now(UTC).isoformat()))
        api.post(f"memories/{old}/supersede", {"content": "Ash for the barn", "valid_from": "2026-01-01"})
        told = replay(api, receipt)
        assert (told["identical"], told["changes"]) == (True, [])

    def test_an_amended_memory_says_so_and_may_change_its_form(self, api):
        ref = api.remember(LONG)["ref"]
        receipt = receipt_of(smp(api, "oak beams barn", model="claude", token_budget=300))
        assert api.patch(f"memories/{ref}", {"summary": "Beams of oak hold it."}).status_code == 200
        told = replay(api, receipt)
        assert changes(told) == {ref: ("served", "amended")}
        assert told["identical"] is (told["reshaped"] == [])

    def test_a_new_kind_moves_it_to_another_layer(self, api):
        ref = api.remember("Oak for the barn")["ref"]
        receipt = receipt_of(smp(api, "oak"))
        assert api.patch(f"memories/{ref}", {"layer": "decision"}).status_code == 200
        told = replay(api, receipt)
        assert changes(told) == {ref: ("served", "amended")}
        assert told["items"][0]["layer"] == "decisions"

    def test_where_one_left_another_may_enter(self, api):
        make_corpus(api.vault, 60)
        body = smp(api, TASK, model="claude", token_budget=600)
        gone = items(body)[0]["ref"]
        api.delete(f"memories/{gone}")
        told = replay(api, receipt_of(body))
        assert changes(told)[gone] == ("served", "forgotten")
        assert told["entered"]
        assert not {entry["ref"] for entry in told["entered"]} & set(refs(body))
        assert {item["ref"] for item in told["items"]} == (set(refs(body)) - {gone}) | {
            entry["ref"] for entry in told["entered"]
        }

    def test_a_change_of_what_was_not_packed_leaves_the_pack_as_it_was(self, api):
        make_corpus(api.vault, 60)
        body = smp(api, TASK, model="claude", token_budget=300)
        outbid = [fate["ref"] for fate in ok(api.get(f"receipts/{receipt_of(body)}"))["not_packed"]]
        api.delete(f"memories/{outbid[-1]}")
        told = replay(api, receipt_of(body))
        assert told["identical"]
        assert changes(told) == {outbid[-1]: ("outbid", "forgotten")}


class TestWalls:
    def test_it_tells_no_text(self, api):
        fill(api, "The cellar key is under the oak")
        receipt = receipt_of(smp(api, "oak"))
        assert "cellar" not in api.get(f"receipts/{receipt}/replay").content.decode()

    def test_it_is_another_vaults_404(self, api):
        fill(api, "Oak for the barn")
        receipt = receipt_of(smp(api, "oak"))
        assert api_of().get(f"receipts/{receipt}/replay").status_code == 404
        assert api.get(f"receipts/{receipt}/replay?x=1").status_code == 422

    def test_what_moved_out_of_sight_is_named_to_those_who_see_it(self, api):
        (moved, kept) = fill(api, "Oak for the barn", "Oak for the hall", project="hall")
        limited = api_of(api.vault, projects=["hall"])
        receipt = receipt_of(smp(limited, "oak"))
        Memory.objects.filter(ref=moved).update(project="barn")
        seen, unseen = replay(api, receipt), replay(limited, receipt)
        assert changes(seen) == {moved: ("served", "other_project")}
        assert (unseen["identical"], moved in json.dumps(unseen)) == (False, False)
        assert [item["ref"] for item in unseen["items"]] == [kept]

    def test_forgetting_takes_the_words_by_which_it_matched_from_the_receipt(self, api):
        gone, kept = fill(api, "Oak for the barn", "Oak for the hall")
        receipt = receipt_of(smp(api, "oak barn hall"))
        api.delete(f"memories/{gone}")
        pool = Receipt.objects.get(ref=receipt).pool
        assert {row[0]: bool(row[5]) for row in pool["rows"]} == {gone: False, kept: True}
        assert set(pool["words"]) == {"oak", "hall"}

    def test_a_receipt_from_before_says_that_it_cannot(self, api):
        fill(api, "Oak for the barn")
        receipt = receipt_of(smp(api, "oak"))
        Receipt.objects.filter(ref=receipt).update(pool={})
        response = api.get(f"receipts/{receipt}/replay")
        assert response.status_code == 409
        assert "candidates" in error_of(response)["detail"]
