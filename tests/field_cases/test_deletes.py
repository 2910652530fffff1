"""What was forgotten, or has run out, is gone from every surface at once (C1, C4, C8, C14)."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import call_command

from memories.models import Memory
from tests.clients import Api, api_of
from tests.wire.asking import ask, error_of, expand, fill, get, ok, query, refs, smp, tool

pytestmark = pytest.mark.django_db

SECRET = "The Zebulon safe opens with the quagga key"
WORDS = "Zebulon quagga safe"
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def api():
    return api_of()


class Surfaces:
    """Everything that could still show a memory, with what a client kept from the time before it went."""

    def __init__(self, api: Api, ref: str) -> None:
        self.api, self.ref = api, ref
        self.capture = ok(expand(api, ref))["document"]["source_urls"][0].removeprefix("cortex-capture://")
        tight = {"format": "smp", "model": "claude", "token_budget": 300}
        self.turn = {**tight, "task": WORDS, "session_id": "chat", "delta": "content"}
        self.pack_page = {
            **tight,
            "task": "alarm depot",
            "cursor": smp(api, "alarm depot", **without(tight, "format"))["cursor"],
        }
        self.query_page = {
            "find": "alarm safe",
            "k": 1,
            "cursor": query(api, find="alarm safe", k=1)["cursor"],
        }
        first = api.post("context", {**self.turn, "pin": True, "token_budget": 2_000}).json()
        assert ref in refs(first)
        self.pin, self.receipt = first["pin"]["id"], first["receipt"]["id"]

    def everywhere(self) -> Iterator[tuple[str, Any]]:
        api = self.api
        for fmt in ("json", "smp", "markdown"):
            yield f"pack {fmt}", ask(api, WORDS, format=fmt)
        for model in ("claude", "gpt", "cursor"):
            yield f"pack {model}", ask(api, WORDS, model=model)
        yield "pack as of now", ask(api, WORDS, as_of=NOW.isoformat(), known_at=NOW.isoformat())
        yield "page of a pack from before", api.post("context", self.pack_page)
        yield "session", api.get("sessions/chat")
        yield "session delta", api.post("context", self.turn)
        yield "find", api.post("query", {"find": "safe opens", "k": 100})
        yield "find superseded", api.post("query", {"find": "safe opens", "valid_only": False})
        yield "ask", api.post("query", {"ask": "safe opens"})
        yield "page of a query from before", api.post("query", self.query_page)
        yield "more", get(api, "expand", ref=self.query_page["cursor"], direction="more")
        for direction in ("document", "neighbors"):
            yield f"expand {direction}", expand(api, self.ref, direction)
            yield f"expand capture {direction}", expand(api, self.capture, direction)
        for name, arguments in (
            ("search", {"query": "safe opens"}),
            ("fetch", {"id": self.ref}),
            ("get_context", {"task": "safe opens"}),
            ("query_memory", {"find": "safe opens"}),
            ("expand", {"ref": self.ref}),
        ):
            yield f"tool {name}", tool(api, name, **arguments)
        yield "one", api.get(f"memories/{self.ref}")
        yield "list", get(api, "memories", limit=200)
        yield "list by words", get(api, "memories", q="quagga")
        yield "entities", api.get("entities")
        yield "stats", api.get("stats")
        yield "pin", api.get(f"pins/{self.pin}")
        yield "receipt", api.get(f"receipts/{self.receipt}")
        yield "why not", api.get(f"receipts/{self.receipt}/why-not/{self.ref}")
        yield "export", api.get("export")


def without(mapping: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name not in names}


def text_of(response: Any) -> str:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return str(content.decode())


def told_of_secret(response: Any) -> bool:
    """Whether a body has the secret's words, the question's own echo aside."""
    text = text_of(response)
    for echo in (WORDS, "Zebulon quagga safe".lower()):
        text = text.replace(echo, "")
    return "quagga" in text.lower() or "opens with" in text


@pytest.fixture
def surfaces(api):
    with time_machine.travel(NOW, tick=False):
        fill(api, *(f"The alarm of depot {number} was tested" for number in range(30)))
        told = api.remember(SECRET, entities=["Quagga"], expires_at=(NOW + timedelta(seconds=1)).isoformat())
        return Surfaces(api, told["ref"])


def forget(surfaces: Surfaces) -> Any:
    return surfaces.api.delete(f"memories/{surfaces.ref}")


class TestForgetting:
    """C1: absent from every surface, in the very next call."""

    def test_before_it_goes_it_is_there(self, surfaces):
        with time_machine.travel(NOW, tick=False):
            showing = {name for name, response in surfaces.everywhere() if told_of_secret(response)}
        assert showing >= {
            "pack json",
            "pack smp",
            "pack markdown",
            "find",
            "ask",
            "tool fetch",
            "one",
            "pin",
            "export",
        }

    def test_afterwards_no_surface_has_it(self, surfaces):
        with time_machine.travel(NOW, tick=False):
            assert forget(surfaces).status_code == 200
            showing = {name for name, response in surfaces.everywhere() if told_of_secret(response)}
        assert showing == set()

    def test_its_session_is_told_to_drop_it_and_no_more(self, surfaces):
        with time_machine.travel(NOW, tick=False):
            forget(surfaces)
            body = surfaces.api.post("context", surfaces.turn).json()
        assert body["working_memory"]["retracted"] == [surfaces.ref]
        assert surfaces.ref not in refs(body)

    def test_its_pin_is_gone_and_its_receipt_stays_without_text(self, surfaces):
        with time_machine.travel(NOW, tick=False):
            forget(surfaces)
        assert surfaces.api.get(f"pins/{surfaces.pin}").status_code == 410
        assert surfaces.api.get(f"receipts/{surfaces.receipt}").status_code == 200

    def test_the_answer_proves_it(self, surfaces):
        with time_machine.travel(NOW, tick=False):
            body = ok(forget(surfaces))
        assert body["ref"] == surfaces.ref
        assert body["erased"]["memories"] == 1
        assert body["erased"]["pins"] == 1
        assert {"fts", "vectors", "database"} <= body["probes"].keys()
        assert set(body["probes"].values()) == {0}


class TestUnknown:
    """C4: what never was, what is no ref, what is another's: one answer."""

    @pytest.mark.parametrize(
        "verb",
        [
            lambda api, ref: api.delete(f"memories/{ref}"),
            lambda api, ref: tool(api, "forget_memory", ref=ref),
        ],
    )
    def test_one_answer_and_nothing_deleted(self, api, verb: Callable[[Api, str], Any]):
        other = api_of()
        (theirs,) = fill(other, SECRET)
        gone = api.remember("The gate is red")["ref"]
        api.delete(f"memories/{gone}")
        told = {verb(api, ref).content for ref in (theirs, gone, "mem_zzzzzzzzzzzz", "nonsense", "%", "*")}
        assert len(told) == 1
        assert error_of(verb(api, theirs))["status"] == 404
        assert Memory.objects.filter(vault=other.vault).count() == 1


class TestAgain:
    """C8: the same text after it was forgotten."""

    def test_it_is_stored_as_a_new_memory_and_found(self, api):
        first = api.remember(SECRET)
        api.delete(f"memories/{first['ref']}")
        second = api.remember(SECRET)
        assert second["ref"] != first["ref"]
        assert second["occurrences"] == 1
        assert refs(smp(api, WORDS)) == refs(query(api, find=WORDS)) == [second["ref"]]
        assert api.get(f"memories/{first['ref']}").status_code == 404

    def test_again_and_again(self, api):
        for _ in range(4):
            ref = api.remember(SECRET)["ref"]
            assert ok(api.delete(f"memories/{ref}"))["probes"] == {"fts": 0, "vectors": 0, "database": 0}


class TestExpiry:
    """C14: what has run out is not served, and gone after the next sweep."""

    def test_afterwards_nothing_but_what_was_kept_of_earlier_answers_has_it(self, surfaces):
        with time_machine.travel(NOW + timedelta(seconds=2), tick=False):
            showing = {name for name, response in surfaces.everywhere() if told_of_secret(response)}
        assert showing <= {"pin", "receipt", "session"}

    def test_after_a_sweep_not_even_that(self, surfaces):
        with time_machine.travel(NOW + timedelta(seconds=2), tick=False):
            call_command("sweep", stdout=StringIO())
            showing = {name for name, response in surfaces.everywhere() if told_of_secret(response)}
            assert showing == set()
            assert not Memory.objects.filter(vault=surfaces.api.vault, ref=surfaces.ref).exists()
            assert surfaces.api.get(f"pins/{surfaces.pin}").status_code == 410

    def test_its_session_is_told_to_drop_it(self, surfaces):
        with time_machine.travel(NOW + timedelta(seconds=2), tick=False):
            body = surfaces.api.post("context", surfaces.turn).json()
        assert body["working_memory"]["retracted"] == [surfaces.ref]
