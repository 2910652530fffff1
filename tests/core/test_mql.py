import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contextpack.core.mql import (
    MQL_SCHEMA,
    Expand,
    Mql,
    as_wire,
    follow_ups,
    from_query_params,
    narrow,
    pack_follow_ups,
    parse_moment,
    parse_mql,
)
from contextpack.core.types import Rung
from cortex.errors import Unprocessable
from memories.core.kinds import MemoryLayer
from tests.core.packs import make_item, make_pack, make_ref

SCHEMA = Draft202012Validator(dict(MQL_SCHEMA))
MAY = datetime(2026, 5, 1, tzinfo=UTC)


def blamed(body: Mapping[str, object]) -> list[str]:
    """The fields that a malformed query is refused for."""
    with pytest.raises(Unprocessable) as refusal:
        parse_mql(body)
    assert all(message for _, message in refusal.value.errors)
    return [name for name, _ in refusal.value.errors]


def is_accepted(body: Mapping[str, object]) -> bool:
    try:
        parse_mql(body)
    except Unprocessable:
        return False
    return True


class TestParseMql:
    def test_it_understands_every_field(self):
        assert parse_mql(
            {
                "ask": " Is the launch ready? ",
                "layers": ["decision", "semantic"],
                "entities": ["Atlas", "Ana"],
                "as_of": "2026-05-01",
                "known_at": "2026-05-01T02:00:00+02:00",
                "valid_only": False,
                "min_relevance": 0.25,
                "min_trust": 1,
                "budget_tokens": 1200,
                "model": "gpt-4o",
                "expand": "neighbors",
                "k": 25,
                "project": "atlas",
                "cursor": "mqlc:abc",
            }
        ) == Mql(
            ask="Is the launch ready?",
            layers=(MemoryLayer.DECISION, MemoryLayer.SEMANTIC),
            entities=("Atlas", "Ana"),
            as_of=MAY,
            known_at=MAY,
            valid_only=False,
            min_relevance=0.25,
            min_trust=1.0,
            budget_tokens=1200,
            model="gpt-4o",
            expand=Expand.NEIGHBORS,
            k=25,
            project="atlas",
            cursor="mqlc:abc",
        )

    def test_it_needs_nothing_but_a_text(self):
        mql = parse_mql({"find": "Atlas"})
        assert mql == Mql(find="Atlas")
        assert (mql.text, mql.k, mql.valid_only) == ("Atlas", 10, True)

    @pytest.mark.parametrize(
        ("body", "names"),
        [
            ({}, ["ask"]),
            ({"k": 3}, ["ask"]),
            ({"ask": "a", "find": "b"}, ["ask", "find"]),
            ({"find": "a", "budget_tokens": 500}, ["budget_tokens"]),
            ({"find": "a", "model": "gpt"}, ["model"]),
            ({"find": "a", "min_relevence": 0.5}, ["min_relevence"]),
            ({"find": "a", "k": 0, "layers": ["vibes"], "as_of": "soon"}, ["k", "layers", "as_of"]),
        ],
    )
    def test_it_names_the_field_that_is_to_blame(self, body, names):
        assert blamed(body) == names

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("find", ["", "  \n", "x" * 8001, None, 3, ["a"], True]),
            (
                "layers",
                ["semantic", ["semantic", "semantic"], ["vibes"], ["constraints"], [], [None], None, {}],
            ),
            ("entities", ["Ana", [], [""], [" "], ["x" * 201], ["x"] * 21, [1], None, [["Ana"]]]),
            (
                "as_of",
                ["", "yesterday", "2026-13-01", "2026-02-30", 1767225600, None, "0001-01-01T00:00+14:00"],
            ),
            ("known_at", ["now", "2026-05-01T25:00", True, [], "2026-05-01T02:00:00 02:00"]),
            ("valid_only", ["false", "true", 0, 1, None, []]),
            ("min_relevance", [2.5, -0.1, 1.0000001, True, False, "0.5", None, float("nan"), float("inf")]),
            ("min_trust", [-1, 10**400, True, [0.5]]),
            ("expand", ["", "sideways", "Neighbors", None, ["more"], 1]),
            ("k", [0, 101, -1, True, 2.5, 10.0, "10", None, 10**30]),
            ("project", ["x" * 101, None, 7, ["a"]]),
            ("cursor", ["", 4, None, "x" * 4097]),
        ],
    )
    def test_it_refuses_what_breaks_the_rule_of_a_field(self, field, values):
        for value in values:
            assert blamed({"find": "Atlas", field: value}) == [field], value

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("ask", ["", " ", "x" * 8001, None, 3]),
            ("budget_tokens", [299, 6001, 0, -1, 10**9, "300", 300.5, 300.0, True, None]),
            ("model", ["", " ", 4, None, ["gpt"], "x" * 201]),
        ],
    )
    def test_it_refuses_it_when_asking_too(self, field, values):
        for value in values:
            assert blamed({"ask": "Atlas", field: value}) == [field], value

    @pytest.mark.parametrize(
        "body",
        [
            {"find": "x" * 8000},
            {"find": "a", "entities": ["e" * 200] * 20},
            {"find": "a", "layers": list(MemoryLayer)},
            {"find": "a", "min_relevance": 0, "min_trust": 1},
            {"find": "a", "k": 1},
            {"find": "a", "k": 100},
            {"find": "a", "project": "p" * 100},
            {"ask": "a", "budget_tokens": 300},
            {"ask": "a", "budget_tokens": 6000},
            *[
                {"find": text}
                for text in ["*", '""', "-", "???", "NOT", "a AND", "don't", "设备", "🦊", "%00"]
            ],
        ],
    )
    def test_the_ends_of_a_range_belong_to_it(self, body):
        assert is_accepted(body)
        assert SCHEMA.is_valid(body)

    def test_a_name_given_twice_is_one_name(self):
        assert parse_mql({"find": "a", "entities": ["Ana", " Ana ", "Bo"]}).entities == ("Ana", "Bo")


class TestParseMoment:
    @pytest.mark.parametrize(
        ("text", "moment"),
        [
            ("2026-01-15T10:30:00", datetime(2026, 1, 15, 10, 30, tzinfo=UTC)),
            ("2026-01-15T10:30:00Z", datetime(2026, 1, 15, 10, 30, tzinfo=UTC)),
            ("2026-01-15T10:30:00+09:00", datetime(2026, 1, 15, 1, 30, tzinfo=UTC)),
            ("2026-01-15 10:30", datetime(2026, 1, 15, 10, 30, tzinfo=UTC)),
            ("2026-01-15", datetime(2026, 1, 15, tzinfo=UTC)),
            ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
            ("2026-W03-4", datetime(2026, 1, 15, tzinfo=UTC)),
            ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ],
    )
    def test_it_reads_every_form_in_utc(self, text, moment):
        assert parse_moment(text) == moment
        assert parse_moment(text).tzinfo is UTC

    @pytest.mark.parametrize(
        "text", ["", "2025-02-29", "2026-01-15T10:30:60Z", "９９９９-01-01", "9999-12-31T23:59-01:00", "\x00"]
    )
    def test_it_refuses_what_is_no_moment(self, text):
        with pytest.raises(ValueError, match=r".+"):
            parse_moment(text)

    @given(st.text(max_size=30) | st.from_regex(r"[0-9TZ:.+\-W]{0,30}", fullmatch=True))
    def test_any_other_text_is_a_plain_refusal(self, text):
        with suppress(ValueError):
            assert parse_moment(text).tzinfo is UTC


moments = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)
texts = st.text(min_size=1, max_size=12).filter(str.strip)
valid_values = {
    "layers": st.lists(st.sampled_from([layer.value for layer in MemoryLayer]), min_size=1, unique=True),
    "entities": st.lists(texts, min_size=1, max_size=20),
    "as_of": moments,
    "known_at": moments | st.dates().map(str),
    "valid_only": st.booleans(),
    "min_relevance": st.floats(0, 1) | st.sampled_from([0, 1]),
    "min_trust": st.floats(0, 1),
    "expand": st.sampled_from(["document", "neighbors", "more"]),
    "k": st.integers(1, 100),
    "project": texts,
    "cursor": texts,
}
asking = {"budget_tokens": st.integers(300, 6000), "model": texts}
valid_bodies = st.fixed_dictionaries({"find": texts}, optional=valid_values) | st.fixed_dictionaries(
    {"ask": texts}, optional={**valid_values, **asking}
)
odd_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
names = st.sampled_from([field.name for field in fields(Mql)]) | st.text(max_size=6)


@st.composite
def odd_bodies(draw):
    """A valid query with a few fields replaced by anything at all."""
    body = dict(draw(valid_bodies))
    body.update(draw(st.dictionaries(names, odd_values, max_size=2)))
    return body


class TestSchema:
    def test_it_is_a_schema_with_an_object_root_that_refuses_the_unknown(self):
        Draft202012Validator.check_schema(dict(MQL_SCHEMA))
        assert MQL_SCHEMA["type"] == "object"
        assert MQL_SCHEMA["additionalProperties"] is False
        assert "$ref" not in json.dumps(MQL_SCHEMA)

    def test_it_describes_every_field_of_the_language(self):
        assert list(MQL_SCHEMA["properties"]) == [field.name for field in fields(Mql)]
        assert all(part["description"] for part in MQL_SCHEMA["properties"].values())

    @given(valid_bodies)
    def test_the_parser_accepts_what_is_meant_to_be_valid(self, body):
        assert is_accepted(body)
        assert SCHEMA.is_valid(body)

    @given(odd_bodies())
    def test_what_the_parser_accepts_is_valid_by_the_schema(self, body):
        if is_accepted(body):
            assert SCHEMA.is_valid(body)

    @pytest.mark.parametrize(
        "body",
        [
            {"find": " "},
            {"find": "a", "unknown": 1},
            {"find": "a", "min_relevance": 2.5},
            {"find": "a", "layers": ["vibes"]},
            {"find": "a", "layers": []},
            {"find": "a", "k": 101},
            {"find": "a", "valid_only": "false"},
            {"ask": "a", "budget_tokens": 100},
        ],
    )
    def test_the_schema_refuses_what_the_parser_refuses(self, body):
        assert not is_accepted(body)
        assert not SCHEMA.is_valid(body)


class TestAsWire:
    def test_it_tells_what_was_understood_and_the_defaults(self):
        mql = parse_mql({"find": "Atlas", "as_of": "2026-05-01", "layers": ["decision"]})
        assert as_wire(mql) == {
            "find": "Atlas",
            "layers": ["decision"],
            "as_of": "2026-05-01T00:00:00+00:00",
            "valid_only": True,
            "k": 10,
        }

    @given(valid_bodies)
    def test_it_means_the_same_when_it_is_read_again(self, body):
        mql = parse_mql(body)
        assert parse_mql(json.loads(json.dumps(as_wire(mql)))) == mql


class TestQueryParams:
    def test_it_reads_each_value_as_the_type_of_its_field(self):
        assert from_query_params(
            {
                "ask": ["007"],
                "layers": ["decision,semantic"],
                "entities": ["Ana", "Bo, Atlas"],
                "valid_only": ["false"],
                "min_relevance": ["0.25"],
                "min_trust": ["1"],
                "budget_tokens": ["1200"],
                "k": ["5"],
            }
        ) == {
            "ask": "007",
            "layers": ["decision", "semantic"],
            "entities": ["Ana", "Bo", "Atlas"],
            "valid_only": False,
            "min_relevance": 0.25,
            "min_trust": 1.0,
            "budget_tokens": 1200,
            "k": 5,
        }

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("valid_only", ["False"]),
            ("valid_only", ["1"]),
            ("k", ["ten"]),
            ("k", ["5.0"]),
            ("k", ["٥"]),
            ("k", ["1" * 5000]),
            ("k", ["5", "6"]),
            ("k", [""]),
            ("min_relevance", ["nan"]),
            ("min_relevance", ["1e400"]),
            ("layers", [""]),
            ("entities", ["Ana,,Bo"]),
            ("find", ["a", "b"]),
            ("tier", ["gold"]),
        ],
    )
    def test_what_does_not_read_as_its_type_is_refused(self, name, values):
        assert blamed(from_query_params({"find": ["Atlas"], name: values})) == [name]

    @given(st.dictionaries(names, st.lists(st.text(max_size=5), min_size=1, max_size=3), max_size=4))
    def test_no_query_string_does_worse_than_a_refusal(self, params):
        assert is_accepted(from_query_params(params)) in (True, False)


rows = st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)), max_size=20)
thresholds = st.dictionaries(st.sampled_from(["min_relevance", "min_trust", "layer"]), st.floats(0, 1))


def at_least(least: float) -> Callable[[tuple[int, float]], bool]:
    return lambda row: row[1] >= least


def knobs_of(limits: Mapping[str, float]) -> dict[str, Callable[[tuple[int, float]], bool]]:
    return {knob: at_least(least) for knob, least in limits.items()}


class TestNarrow:
    def test_it_counts_what_each_knob_removed(self):
        kept, narrowing = narrow(
            [1, 2, 3, 4, 5, 6], {"even": lambda row: row % 2 == 0, "small": lambda row: row < 5}
        )
        assert kept == [2, 4]
        assert narrowing == [{"knob": "even", "removed": 3}, {"knob": "small", "removed": 1}]

    def test_it_keeps_everything_without_a_knob(self):
        assert narrow([3, 1, 2], {}) == ([3, 1, 2], [])

    @given(rows, thresholds, st.floats(0, 1))
    def test_one_more_knob_only_removes(self, found, limits, least):
        knobs = knobs_of(limits)
        before, _ = narrow(found, knobs)
        after, _ = narrow(found, {**knobs, "more": at_least(least)})
        assert [row for row in before if row in after] == after

    @given(rows, thresholds)
    def test_the_counts_add_up(self, found, limits):
        kept, narrowing = narrow(found, knobs_of(limits))
        assert len(found) - sum(step["removed"] for step in narrowing) == len(kept)


class TestFollowUps:
    def test_it_goes_on_from_the_best_hit_where_that_was_asked_for(self):
        mql = Mql(find="Atlas", expand=Expand.NEIGHBORS)
        assert follow_ups([make_ref(4), make_ref(5)], mql) == [
            {"tool": "expand", "arguments": {"ref": make_ref(4), "direction": "neighbors"}}
        ]

    def test_it_offers_the_next_page_where_there_is_one(self):
        assert follow_ups([make_ref(4)], Mql(find="Atlas"), cursor="mqlc:x") == [
            {"tool": "expand", "arguments": {"ref": "mqlc:x", "direction": "more"}}
        ]

    def test_it_suggests_nothing_that_would_answer_nothing(self):
        assert follow_ups([], Mql(find="Atlas", expand=Expand.DOCUMENT)) == []
        assert follow_ups([make_ref(1)], Mql(find="Atlas", expand=Expand.MORE)) == []
        assert follow_ups([make_ref(1)], Mql(find="Atlas")) == []

    def test_a_pack_points_to_the_whole_of_what_it_shortened(self):
        pack = make_pack(make_item(1), make_item(2, rung=Rung.HEAD), make_item(3, rung=Rung.SUMMARY))
        assert pack_follow_ups(pack) == [
            {"tool": "expand", "arguments": {"ref": make_ref(2), "direction": "document"}},
            {"tool": "expand", "arguments": {"ref": make_ref(3), "direction": "document"}},
        ]

    def test_a_pack_does_not_point_to_everything(self):
        pack = make_pack(*(make_item(number, rung=Rung.HEAD) for number in range(9)))
        assert len(pack_follow_ups(pack)) == 3
