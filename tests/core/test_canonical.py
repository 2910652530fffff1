from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.canonical import canonical_bytes, digest, pack_digest, wire_text
from contextpack.core.types import Budget, Coverage, PackLayer, Rung
from tests.core.packs import make_item, make_pack

# Surrogates are no text, and larger integers are no JSON numbers.
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e6, 1e6)
scalars = st.none() | st.booleans() | numbers | words
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4)
)


def turned_round(value: Any) -> Any:
    """The same value with every mapping's keys in reverse."""
    if isinstance(value, dict):
        return {name: turned_round(part) for name, part in reversed(value.items())}
    return [turned_round(part) for part in value] if isinstance(value, list) else value


class TestCanonicalBytes:
    @given(values)
    def test_it_does_not_depend_on_the_order_of_keys(self, value):
        assert canonical_bytes(value) == canonical_bytes(turned_round(value))

    @given(st.floats(0, 1))
    def test_it_does_not_see_the_last_bits_of_a_score(self, score):
        rounded = round(score, 6)
        assert canonical_bytes([rounded]) == canonical_bytes([rounded + 1e-12])

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ({"b": 1, "a": (True, None)}, '{"a":[true,null],"b":1}'),
            ({"relevance": 0.1 + 0.2}, '{"relevance":0.3}'),
            ([1.0, 1, -0.0], "[1,1,0]"),
            ({PackLayer.FACTS: Rung.FULL}, '{"facts":"full"}'),
            ("Zoë 設備\n", '"Zoë 設備\\n"'),
        ],
    )
    def test_it_writes_one_text_for_a_value(self, value, text):
        assert canonical_bytes(value) == text.encode()

    @pytest.mark.parametrize(
        "value", [float("nan"), float("inf"), {1, 2}, b"x", object(), {1: "x"}, "\ud83d", 2**60, {None: 1}]
    )
    def test_it_refuses_what_json_does_not_know(self, value):
        with pytest.raises(ValueError, match=r".+"):
            canonical_bytes({"value": value} if not isinstance(value, dict) else value)


class TestWireText:
    def test_it_is_compact_and_keeps_the_order_and_the_script(self):
        assert wire_text({"b": [1, None], "a": "é"}) == '{"b":[1,null],"a":"é"}'

    def test_it_refuses_a_number_that_is_none(self):
        with pytest.raises(ValueError, match="JSON"):
            wire_text(float("nan"))


class TestDigest:
    def test_it_names_its_function(self):
        assert digest(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


class TestPackDigest:
    pack = make_pack(make_item(1, "a"), make_item(2, "b"))

    def test_it_stays_while_the_pack_stays(self):
        twin = make_pack(make_item(1, "a"), make_item(2, "b"))
        assert pack_digest(self.pack) == pack_digest(twin)

    def test_it_does_not_hear_of_scores_and_counts(self):
        scored = replace(
            self.pack,
            items=tuple(replace(item, utility=0.9, density=0.1, tokens=7) for item in self.pack.items),
            budget=Budget(tokens=500, used=14),
            coverage=Coverage(status="usable"),
        )
        assert pack_digest(scored) == pack_digest(self.pack)

    @pytest.mark.parametrize(
        "other",
        [
            make_pack(make_item(2, "b"), make_item(1, "a")),
            make_pack(make_item(1, "a")),
            make_pack(make_item(1, "a"), make_item(3, "b")),
            make_pack(make_item(1, "a"), make_item(2, "c")),
            make_pack(make_item(1, "a"), make_item(2, "b", rung=Rung.HEAD)),
        ],
        ids=["order", "fewer", "ref", "text", "rung"],
    )
    def test_it_changes_with_what_is_sent(self, other):
        assert pack_digest(other) != pack_digest(self.pack)
