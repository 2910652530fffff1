"""Any text is a task: no character of it is an operator, and a zero is never a swallowed error (H1 to H4)."""

import string

import pytest

from tests.clients import Api, api_of
from tests.wire.asking import blamed, contents, get, ok, pack, query, refs, smp, use

pytestmark = pytest.mark.django_db

PUNCTUATION = [c for c in string.punctuation if c not in "-_.'"]  # those four may stand within a word
FILLERS = ("The mill stands still in August", "Bicycles belong into the cellar", "Ana likes tea")


@pytest.fixture
def api():
    return api_of()


def found(api: Api, text: str) -> list[str]:
    """Return the texts that every way of asking finds for this one; a pack adds the newest, behind the best."""
    by_query = contents(query(api, find=text))
    by_search = [result["text"] for result in use(api, "search", query=text)["results"]]
    by_address = contents(ok(get(api, "query", find=text)))
    assert by_query == by_search == by_address
    assert contents(smp(api, text))[:1] == by_query[:1]
    return by_query


class TestOperators:
    """H1: what a search engine's parser would choke on, or obey."""

    @pytest.mark.parametrize(
        ("stored", "asked"),
        [
            ("You don't park at the gate", "don't"),
            ("The ratio a/b of the mixture is fixed", "a/b"),
            ("Run the pre-edit hook first", "pre-edit"),
            ("TODO: paint the gate", "TODO: paint"),
            ("Call it with --flag and nothing else", '"--flag"'),
            ("The function f(x is never closed", "(x"),
            ("The pattern x* matches all", "x*"),
            ("The caret ^x anchors it", "^x"),
            ("Alder is NEAR(a b) the gate", "NEAR(a b)"),
            ("Salt AND pepper", "salt AND"),
            ("Tea OR coffee", "OR coffee"),
            ("We do NOT paint zebras", "NOT zebras"),
            ("The image is ubuntu 20.04", "20.04"),
            ("The column is title:name", "title:name"),
            ("The price is {high}", "{high}"),
            ("Mail goes to ana@example.org", "ana@example.org"),
            ("The path is C:\\temp\\x.txt", "C:\\temp\\x.txt"),
            ("The key is snake_case_name", "snake_case_name"),
            ("The key is camelCaseName", "camelCaseName"),
            ("It costs 50% of #budget", "50% #budget"),
            ("A semicolon; DROP TABLE memories", "'; DROP TABLE memories; --"),
        ],
    )
    def test_it_is_found_literally(self, api, stored, asked):
        api.remember(stored)
        for text in FILLERS:
            api.remember(text)
        assert found(api, asked)[:1] == [stored]


class TestPunctuation:
    """H2: each ASCII punctuation character alone, leading, inner, trailing."""

    @pytest.fixture
    def stored(self, api):
        for text in FILLERS:
            api.remember(text)
        return api.remember("The zebra crossing is wide")["content"]

    @pytest.mark.parametrize("mark", string.punctuation)
    def test_around_a_word_it_changes_nothing(self, api, stored, mark):
        for text in (
            f"{mark}zebra",
            f"zebra{mark}",
            f"{mark}zebra{mark}",
            f"{mark} zebra",
            f"zebra {mark}",
            f"{mark * 3}zebra",
        ):
            assert found(api, text) == [stored], text

    @pytest.mark.parametrize("mark", PUNCTUATION)
    def test_between_two_words_it_parts_them(self, api, stored, mark):
        assert found(api, f"zebra{mark}crossing") == [stored]

    @pytest.mark.parametrize("mark", "-_.'")
    def test_within_a_compound_its_parts_are_found_too(self, api, stored, mark):
        assert found(api, f"zebra{mark}crossing") == [stored]

    @pytest.mark.parametrize("mark", string.punctuation)
    def test_stored_around_a_word_it_hides_nothing(self, api, mark):
        for text in FILLERS:
            api.remember(text)
        for text in (
            f"The {mark}quagga at the gate",
            f"The okapi{mark} at the gate",
            f"The {mark}gnu{mark} at the gate",
        ):
            api.remember(text)
        for animal in ("quagga", "okapi", "gnu"):
            assert animal in found(api, animal)[0]

    @pytest.mark.parametrize("mark", PUNCTUATION)
    def test_stored_between_two_words_it_hides_neither(self, api, mark):
        for text in FILLERS:
            api.remember(text)
        stored = api.remember(f"At the gate stands quagga{mark}okapi today")["content"]
        assert found(api, "quagga") == found(api, "okapi") == [stored]

    @pytest.mark.parametrize("mark", string.punctuation)
    def test_alone_it_is_answered_as_no_word_at_all(self, api, stored, mark):
        for text in (mark, mark * 3, f" {mark} "):
            nothing_asked(api, text, stored)


class TestNothingButMarks:
    """H3: no word to look for: nothing is found, and a pack holds the newest instead, and says so."""

    @pytest.mark.parametrize("text", ["*", '""', "-", "???", "()", "…", "—", "·", "🎉", "\u200b", "\u0301"])
    def test_a_query_finds_nothing_and_a_pack_holds_the_newest(self, api, text):
        stored = api.remember("The zebra crossing is wide")["content"]
        nothing_asked(api, text, stored)


def nothing_asked(api: Api, text: str, newest: str) -> None:
    body = query(api, find=text)
    assert (body["items"], body["narrowed_from"]) == ([], 0)
    told = smp(api, text)
    assert newest in contents(told)
    assert told["coverage"]["status"] == "weak"
    assert {item["relevance"] for item in told["items"]} == {None}


class TestEmpty:
    """H4: empty, blank, stop words alone, null."""

    @pytest.mark.parametrize("text", ["", None])
    def test_no_text_is_refused(self, api, text):
        assert blamed(api.post("context", {"task": text})) == {"task"}
        assert blamed(api.post("query", {"find": text})) == {"find"}
        assert blamed(api.post("tools/call", {"name": "search", "arguments": {"query": text}})) == {"query"}

    @pytest.mark.parametrize("text", ["   ", "\t", "\n", "\u3000"])
    def test_blanks_are_refused_or_no_word_at_all(self, api, text):
        stored = api.remember("The zebra crossing is wide")["content"]
        response = api.post("context", {"task": text, "format": "smp"})
        assert response.status_code in {200, 422}
        if response.status_code == 200:
            assert response.json()["coverage"]["status"] == "weak"
            assert contents(response.json()) == [stored]
        assert api.post("query", {"find": text}).status_code == 422

    @pytest.mark.parametrize("text", ["the of and", "what was it", "Who are you?", "is it not?"])
    def test_stop_words_alone_are_answered(self, api, text):
        api.remember("The zebra crossing is wide")
        assert smp(api, text)["coverage"]["status"] in {"empty", "weak"}
        assert query(api, find=text)["returned"] in {0, 1}
        assert pack(api, text, model="claude")["budget"]["used"] <= 12_000

    def test_the_longest_word_is_a_word(self, api):
        word = "z" * 5_000
        ref = api.remember(f"The word is {word} indeed")["ref"]
        assert refs(query(api, find=word)) == [ref]
