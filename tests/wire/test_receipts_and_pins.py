"""What is kept of an answer: the receipt that explains it, the pin that replays it (docs/wire.md, Asking)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from contextpack.core.canonical import digest
from memories.models import Scope
from tests.clients import Api, api_of
from tests.factories import LONG_AGO
from tests.wire.asking import ask, error_of, fill, get, items, ok, pack, refs, smp
from tests.wire.corpora import TASK, make_corpus

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def api():
    return api_of()


def why_not(api: Api, receipt: str, ref: str) -> dict[str, Any]:
    return ok(api.get(f"receipts/{receipt}/why-not/{ref}"))


class TestReceipts:
    def test_an_answer_names_its_receipt(self, api):
        make_corpus(api.vault, 20)
        with time_machine.travel(NOW, tick=False):
            body = smp(api, TASK)
        receipt = body["receipt"]
        assert receipt.keys() == {"id", "assembled_at", "pack_digest", "items"}
        assert receipt["items"] == len(body["items"])
        assert receipt["assembled_at"] == NOW.isoformat()
        assert receipt["pack_digest"].startswith("sha256:")

    def test_it_shows_what_was_served_to_which_token_and_why(self, api):
        make_corpus(api.vault, 20)
        body = smp(api, TASK, model="claude", token_budget=600, session_id="chat")
        told = ok(api.get(f"receipts/{body['receipt']['id']}"))
        assert [item["ref"] for item in told["items"]] == refs(body)
        assert [item["why"] for item in told["items"]] == [item["why"] for item in body["items"]]
        assert told["actor"].startswith("token:")
        assert (told["task"], told["profile"], told["session_id"]) == (TASK, "claude", "chat")
        assert told["budget"] == body["budget"]
        assert told["coverage"] == body["coverage"]
        assert told["pack_digest"] == body["receipt"]["pack_digest"]
        assert all({"rung", "tokens", "folded_refs"} <= item.keys() for item in told["items"])

    def test_it_holds_no_memory_text(self, api):
        fill(api, "The cellar key is under the oak")
        receipt = smp(api, "Where is it kept, the key of the cellar?")["receipt"]["id"]
        assert "under the oak" not in api.get(f"receipts/{receipt}").content.decode()

    def test_equal_packs_have_equal_digests_and_receipts_of_their_own(self, api):
        make_corpus(api.vault, 20)
        with time_machine.travel(NOW, tick=False):
            one, other = smp(api, TASK)["receipt"], smp(api, TASK)["receipt"]
        assert one["pack_digest"] == other["pack_digest"]
        assert one["id"] != other["id"]

    def test_none_is_written_where_none_is_wanted(self, api, settings):
        settings.CORTEX_RECEIPTS = "none"
        fill(api, "Oak is hard")
        assert smp(api, "oak")["receipt"] is None

    def test_a_token_that_sees_less_reads_no_receipt_of_one_that_sees_more(self, api):
        fill(api, "Oak for the barn", project="barn")
        receipt = smp(api, "oak")["receipt"]["id"]
        limited = api_of(api.vault, projects=["hall"])
        assert limited.get(f"receipts/{receipt}").status_code == 404
        own = smp(limited, "oak")["receipt"]["id"]
        assert limited.get(f"receipts/{own}").status_code == 200
        assert api.get(f"receipts/{own}").status_code == 200


class TestWhyNot:
    """What kept a memory out of a pack."""

    @pytest.mark.parametrize(
        ("spoil", "reason"),
        [
            (lambda api, ref: api.post(f"memories/{ref}/supersede", {"content": "Ash it is"}), "superseded"),
            (lambda api, ref: api.post(f"memories/{ref}/archive"), "archived"),
            (lambda api, ref: api.post(f"memories/{ref}/redact"), "redacted"),
        ],
    )
    def test_what_became_of_it(self, api, spoil, reason):
        ref = api.remember("The table is of oak")["ref"]
        assert spoil(api, ref).status_code in {200, 201}
        receipt = smp(api, "oak table")["receipt"]["id"]
        told = why_not(api, receipt, ref)
        assert told["reason"] == reason
        assert (told["receipt"], told["ref"]) == (receipt, ref)

    @pytest.mark.parametrize(
        ("fields", "asked", "reason"),
        [
            ({"status": "pending"}, {}, "pending"),
            ({"withheld": True}, {}, "pending"),
            ({"expires_at": LONG_AGO}, {}, "expired"),
            ({}, {"layers": ["decision"]}, "filtered"),
            ({}, {"project": "barn"}, "other_project"),
            ({}, {"entities": ["Ana"]}, "filtered"),
            ({}, {"as_of": "2025-01-01"}, "filtered"),
            ({"valid_to": LONG_AGO + timedelta(days=1)}, {}, "filtered"),
        ],
    )
    def test_what_it_is_and_what_was_asked(self, api, fields, asked, reason):
        (ref,) = fill(api, "The table is of oak", **{"project": "hall", **fields})
        receipt = smp(api, "oak table", **asked)["receipt"]["id"]
        assert why_not(api, receipt, ref)["reason"] == reason

    def test_what_matched_nothing_was_not_retrieved(self, api):
        fill(api, *(f"Newer note number {number}" for number in range(12)), at=LONG_AGO + timedelta(days=9))
        (ref,) = fill(api, "The table is of oak")
        assert why_not(api, smp(api, "newer note")["receipt"]["id"], ref)["reason"] == "not_retrieved"

    def test_what_was_folded_names_the_survivor(self, api):
        fill(api, "The archive is closed on Monday", "On Monday the archive is closed")
        body = pack(api, "archive Monday", model="claude")
        (row,) = items(body)
        told = why_not(api, body["receipt"]["id"], row["folded_refs"][0])
        assert (told["reason"], told["into"]) == ("folded_into", row["ref"])

    @pytest.mark.parametrize("model", [None, "claude"])
    def test_what_was_outbid_tells_by_how_much(self, api, model):
        made = make_corpus(api.vault, 60)
        body = smp(api, TASK, model=model, token_budget=300)
        told = [
            why_not(api, body["receipt"]["id"], memory.ref) for memory in made if memory.ref not in refs(body)
        ]
        outbid = [entry for entry in told if entry["reason"] == "outbid"]
        assert outbid
        assert all(entry["short_by"] > 0 and entry["tokens"] > 0 for entry in outbid)
        assert {entry["reason"] for entry in told} <= {"outbid", "not_retrieved", "folded_into"}

    def test_what_was_served_says_so(self, api):
        (ref,) = fill(api, "The table is of oak")
        told = why_not(api, smp(api, "oak")["receipt"]["id"], ref)
        assert (told["reason"], told["rung"]) == ("served", "full")

    def test_a_later_page_says_what_came_earlier(self, api):
        make_corpus(api.vault, 60)
        first = smp(api, TASK, model="claude", token_budget=400)
        second = smp(api, TASK, model="claude", token_budget=400, cursor=first["cursor"])
        told = why_not(api, second["receipt"]["id"], refs(first)[0])
        assert told["reason"] == "already_sent"

    def test_another_vaults_memory_is_nowhere(self, api):
        (theirs,) = fill(api_of(), "The table is of oak")
        receipt = smp(api, "oak")["receipt"]["id"]
        unknown = api.get(f"receipts/{receipt}/why-not/mem_zzzzzzzzzzzz")
        assert unknown.status_code == 404
        assert api.get(f"receipts/{receipt}/why-not/{theirs}").content == unknown.content

    def test_a_memory_of_a_project_that_the_asker_did_not_see(self, api):
        limited = api_of(api.vault, projects=["hall"])
        (ref,) = fill(api, "The table is of oak", project="barn")
        receipt = smp(limited, "oak")["receipt"]["id"]
        assert why_not(api, receipt, ref)["reason"] == "other_project"
        assert limited.get(f"receipts/{receipt}/why-not/{ref}").status_code == 404


class TestPins:
    @pytest.mark.parametrize("fmt", ["json", "smp", "markdown"])
    def test_it_returns_the_same_bytes_whatever_was_written_since(self, api, fmt):
        make_corpus(api.vault, 20)
        kept = pinned(api, fmt)
        first = api.get(f"pins/{kept['id']}")
        assert first.status_code == 200
        assert digest(first.content) == kept["digest"]
        api.remember("The Atlas launch was called off")
        later = api.get(f"pins/{kept['id']}")
        assert later.content == first.content
        assert later["Content-Type"] == first["Content-Type"]

    def test_it_holds_the_pack_without_receipt_and_session(self, api):
        make_corpus(api.vault, 20)
        body = smp(api, TASK, pin=True, session_id="chat")
        kept = json.loads(api.get(f"pins/{body['pin']['id']}").content)
        assert kept["items"] == body["items"]
        assert (kept["receipt"], kept["working_memory"]) == (None, None)

    def test_its_address_is_its_content(self, api):
        make_corpus(api.vault, 20)
        with time_machine.travel(NOW, tick=False):
            plain, within = smp(api, TASK, pin=True), smp(api, TASK, pin=True, session_id="chat")
            other = smp(api, TASK, pin=True, token_budget=400)
        assert plain["pin"] == within["pin"]
        assert other["pin"]["id"] != plain["pin"]["id"]

    @pytest.mark.parametrize("verb", ["redact", "forget"])
    def test_it_is_gone_once_something_in_it_was_withdrawn(self, api, verb):
        ref = api.remember("The cellar key is under the oak")["ref"]
        pin = smp(api, "cellar key", pin=True)["pin"]["id"]
        if verb == "redact":
            api.post(f"memories/{ref}/redact")
        else:
            assert api.delete(f"memories/{ref}").json()["erased"]["pins"] == 1
        response = api.get(f"pins/{pin}")
        assert response.status_code == 410
        assert b"cellar" not in response.content
        error_of(response)

    def test_it_is_gone_once_something_folded_into_it_was_forgotten(self, api):
        fill(api, "The archive is closed on Monday", "On Monday the archive is closed")
        body = pack(api, "archive Monday", model="claude", pin=True)
        (row,) = items(body)
        assert api.delete(f"memories/{row['folded_refs'][0]}").status_code == 200
        assert api.get(f"pins/{body['pin']['id']}").status_code == 410

    def test_supersession_leaves_it_as_it_was(self, api):
        ref = api.remember("The table is of oak")["ref"]
        pin = smp(api, "oak", pin=True)["pin"]["id"]
        api.post(f"memories/{ref}/supersede", {"content": "The table is of ash"})
        assert b"of oak" in api.get(f"pins/{pin}").content

    def test_another_vaults_pin_is_as_unknown_as_one_that_never_was(self, api):
        fill(api, "The table is of oak")
        pin = smp(api, "oak", pin=True)["pin"]["id"]
        other = api_of()
        unknown = other.get("pins/pin_0000")
        assert unknown.status_code == 404
        assert other.get(f"pins/{pin}").content == unknown.content

    def test_a_token_that_sees_less_reads_no_pin_of_one_that_sees_more(self, api):
        fill(api, "The table is of oak", project="barn")
        pin = smp(api, "oak", pin=True)["pin"]["id"]
        assert api_of(api.vault, projects=["hall"]).get(f"pins/{pin}").status_code == 404
        assert api_of(api.vault, scopes=[Scope.READ]).get(f"pins/{pin}").status_code == 200

    def test_it_takes_no_parameters(self, api):
        fill(api, "The table is of oak")
        pin = smp(api, "oak", pin=True)["pin"]["id"]
        assert get(api, f"pins/{pin}", format="json").status_code == 422


def pinned(api: Api, fmt: str) -> dict[str, str]:
    """Pin a pack and return its handle; a markdown body has no place for it, so it stands in a header."""
    response = ask(api, TASK, format=fmt, pin=True)
    if fmt != "markdown":
        return dict(response.json()["pin"])
    return {"id": response["Cortex-Pin"], "digest": digest(response.content)}
