"""The estimate against real tokenizers: close on prose, and never far under in any script."""

import json
import random
import time
import uuid
from pathlib import Path

import pytest
import quicktok
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.profiles import PROFILES
from contextpack.core.tokens import TokenFamily, estimate_tokens, family_of

ORACLES = {
    TokenFamily.CL100K: quicktok.get_encoding("cl100k_base"),
    TokenFamily.O200K: quicktok.get_encoding("o200k_base"),
}

_DATA = Path(__file__).parent / "data"
TEXTS: dict[str, str] = json.loads((_DATA / "token_texts.json").read_text(encoding="utf-8"))
CLAUDE_FAMILIES = (TokenFamily.CLAUDE_3, TokenFamily.CLAUDE_4_8)
# By `python3.12 bench/count_claude.py tests/core/data/token_texts.json`.
CLAUDE_COUNTS: dict[str, list[int]] = json.loads((_DATA / "claude_counts.json").read_text(encoding="utf-8"))

PLAIN = (
    "minutes",
    "letter",
    "engineering",
    "chat",
    "phone call",
    "friends",
    "preferences",
    "decision",
    "travel",
)
# Kinds of which every line of a pack has one.
IN_EVERY_LINE = (
    "refs",
    "old refs",
    "dates",
    "hex",
    "uuids",
    "capitals",
    "markdown packs",
    "old markdown packs",
)
LOOSE = ("random letters",)  # no text of anybody's; a tokenizer spells it, word by word, as chance has it


def texts_of(group: str) -> list[str]:
    return [name for name in TEXTS if name.startswith(f"{group}/")]


def real_count(name: str, family: TokenFamily) -> int:
    if family in ORACLES:
        return len(ORACLES[family].encode(TEXTS[name]))
    return CLAUDE_COUNTS[name][CLAUDE_FAMILIES.index(family)]


def ratio(name: str, family: TokenFamily) -> float:
    return estimate_tokens(TEXTS[name], family) / real_count(name, family)


def test_the_claude_counts_are_of_these_texts():
    assert list(CLAUDE_COUNTS) == list(TEXTS)


@pytest.mark.parametrize("family", TokenFamily)
@pytest.mark.parametrize("name", PLAIN)
def test_plain_english_is_within_a_tenth_of_the_tokenizer(name, family):
    assert 0.9 <= ratio(f"english/{name}", family) <= 1.1


@pytest.mark.parametrize("family", TokenFamily)
def test_english_prose_is_on_average_at_most_a_few_percent_off(family):
    names = texts_of("english")
    estimated = sum(estimate_tokens(TEXTS[name], family) for name in names)
    assert 0.97 <= estimated / sum(real_count(name, family) for name in names) <= 1.06


@pytest.mark.parametrize("family", TokenFamily)
@pytest.mark.parametrize("name", texts_of("script"))
def test_no_script_is_under_the_tokenizer_by_more_than_a_tenth(name, family):
    assert 0.9 <= ratio(name, family) <= 1.4


@pytest.mark.parametrize("family", TokenFamily)
@pytest.mark.parametrize("name", [name for name in texts_of("machine") if not name.endswith(LOOSE)])
def test_machine_text_is_not_under_the_tokenizer_by_more_than_a_tenth(name, family):
    assert ratio(name, family) >= 0.9


@pytest.mark.parametrize("family", TokenFamily)
@pytest.mark.parametrize("kind", IN_EVERY_LINE)
def test_what_each_line_of_a_pack_has_is_priced_within_a_tenth(kind, family):
    assert 0.97 <= ratio(f"machine/{kind}", family) <= 1.12


@pytest.mark.parametrize("family", ORACLES)
def test_fresh_machine_text_is_priced_within_a_tenth(family):
    """The fit saw other refs and digests than these; all digits cost alike, whatever they are."""
    dice = random.Random(11)
    lines = [
        f"- 2026-0{dice.randrange(1, 10)}-11 {dice.randbytes(16).hex()} [mem_{dice.randrange(10**12):012d}]"
    ]
    lines += [str(uuid.UUID(int=dice.getrandbits(128), version=4)) for _ in range(20)]
    text = "\n".join(lines)
    assert 0.97 <= estimate_tokens(text, family) / len(ORACLES[family].encode(text)) <= 1.1


@pytest.mark.parametrize("family", ORACLES)
@pytest.mark.parametrize(
    "alphabet", ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"], ids=["small", "capital"]
)
def test_an_endless_word_is_not_cheap(alphabet, family):
    text = "".join(random.Random(3).choices(alphabet, k=4_000))
    assert estimate_tokens(text, family) >= 0.85 * len(ORACLES[family].encode(text))


@pytest.mark.parametrize("family", TokenFamily)
def test_the_lines_of_a_pack_cost_together_what_they_cost_apart(family):
    pack = TEXTS["machine/markdown packs"]
    lines = pack.splitlines(keepends=True)
    apart = sum(estimate_tokens(line, family) for line in lines)
    assert estimate_tokens(pack, family) <= apart <= estimate_tokens(pack, family) + 2 * len(lines)


def test_a_number_costs_what_its_length_costs():
    assert {estimate_tokens(f"[mem_{number:012d}]") for number in range(0, 10**12, 37_037_037_037)} == {
        estimate_tokens("[mem_000000000000]")
    }


@pytest.mark.parametrize("name", PROFILES)
def test_english_prose_comes_out_near_the_characters_per_token_of_the_profile(name):
    profile = PROFILES[name]
    text = TEXTS["english/chat"]
    chars_per_token = len(text) / estimate_tokens(text, family_of(profile, None))
    assert chars_per_token == pytest.approx(profile.chars_per_token, rel=0.15)


@pytest.mark.parametrize(
    ("name", "model", "family"),
    [
        ("generic", None, TokenFamily.CL100K),
        ("generic", "some-local-model", TokenFamily.CL100K),
        ("claude", "claude", TokenFamily.CLAUDE_3),
        ("claude", "claude-3-5-sonnet-20241022", TokenFamily.CLAUDE_3),
        ("claude", "claude-opus-4-20250514", TokenFamily.CLAUDE_3),
        ("claude", "claude-opus-4.6", TokenFamily.CLAUDE_3),
        ("claude", "claude-opus-4-7", TokenFamily.CLAUDE_4_8),
        ("claude", "claude-opus-4-8", TokenFamily.CLAUDE_4_8),
        ("claude", "Claude Sonnet 5", TokenFamily.CLAUDE_4_8),
        ("gpt", "gpt", TokenFamily.CL100K),
        ("gpt", "gpt-4-turbo", TokenFamily.CL100K),
        ("gpt", "chatgpt", TokenFamily.CL100K),
        ("gpt", "gpt-4o", TokenFamily.O200K),
        ("gpt", "gpt-4.1-mini", TokenFamily.O200K),
        ("gpt", "gpt-5", TokenFamily.O200K),
        ("gpt", "o3", TokenFamily.O200K),
        ("cursor", "cursor", TokenFamily.CLAUDE_3),
        ("cursor", "gpt-4o cursor", TokenFamily.O200K),
    ],
)
def test_the_model_names_its_tokenizer(name, model, family):
    assert family_of(PROFILES[name], model) is family


def test_only_the_empty_text_is_free():
    assert estimate_tokens("") == 0
    assert all(estimate_tokens(text) > 0 for text in ("a", "1", ".", "é", "漢", "😀", "\ud83d"))


@given(st.text(), st.text(), st.sampled_from(TokenFamily))
def test_texts_put_together_cost_no_less_than_the_dearer_one_nearly(one, other, family):
    together = estimate_tokens(f"{one}\n{other}", family)
    assert together >= max(estimate_tokens(one, family), estimate_tokens(other, family)) - 2


@pytest.mark.parametrize(
    "text",
    ["a", "A", "aB", "a1", " ", ".", "-+", '":"', "\n", "漢", "é ก", "é漢", "😀", "\u0301", "\x00", "\ud800"],
    ids=ascii,
)
def test_a_hostile_megabyte_takes_linear_time(text):
    start = time.process_time()
    assert estimate_tokens(text * (1_000_000 // len(text))) >= 0
    assert time.process_time() - start < 5  # a quadratic pass would take minutes
