import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.envelope import build_envelope
from contextpack.core.rendering import as_json, as_markdown
from contextpack.core.types import DeltaMode, PackFormat
from memories.core.echo import strip_own_output
from memories.core.marks import EMPTY_PACK, NOTHING_NEW, PACK_HEADER
from tests.core.packs import make_item, make_pack, make_ref, make_request

NEW = "Remember that my locker is 14"
PACK = make_pack(make_item(), make_item(ref=make_ref(2), content="Ana's bike {is} red"))
DELTA = {"new": [], "evicted": [make_ref(8)], "superseded": [], "carried": [make_ref(3)], "cursor": "2"}
ENVELOPE = json.dumps(build_envelope(PACK, make_request()), ensure_ascii=False)
MARKDOWN_REQUEST = make_request(format=PackFormat.MARKDOWN, delta=DeltaMode.CONTENT)
OWN = {
    "envelope": ENVELOPE,
    "envelope without legend": json.dumps(build_envelope(PACK, make_request(legend=False))),
    "indented envelope": json.dumps(json.loads(ENVELOPE), indent=2),
    "envelope with sorted keys": json.dumps(json.loads(ENVELOPE), sort_keys=True),
    "json pack": json.dumps(as_json(PACK, make_request(format=PackFormat.JSON))),
    "markdown pack": as_markdown(PACK, MARKDOWN_REQUEST),
    "markdown pack with a notice": as_markdown(PACK, MARKDOWN_REQUEST, working_memory=DELTA),
    "markdown pack without line breaks": as_markdown(PACK, MARKDOWN_REQUEST).replace("\n", " "),
    "quoted markdown pack": "\n".join(
        "> " + line for line in as_markdown(PACK, MARKDOWN_REQUEST).splitlines()
    ),
    "markdown pack without its header": as_markdown(PACK, MARKDOWN_REQUEST).partition("\n")[2],
    "empty pack": EMPTY_PACK,
    "nothing new": NOTHING_NEW,
    "tool result": json.dumps({"name": "get_context", "result": json.loads(ENVELOPE)}),
    "remote call": json.dumps(
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": ENVELOPE}]}}
    ),
    "remote call with markdown": json.dumps(
        {"content": [{"type": "text", "text": as_markdown(PACK, MARKDOWN_REQUEST)}]}
    ),
}

each_own = pytest.mark.parametrize("own", OWN.values(), ids=OWN.keys())


@each_own
def test_it_leaves_nothing_of_our_own_output(own):
    assert strip_own_output(own) == ""


@each_own
def test_it_keeps_what_is_new_around_it(own):
    assert strip_own_output(f"{own}\n\n{NEW}") == NEW
    assert strip_own_output(f"{NEW}\n\n{own}") == NEW
    assert strip_own_output(f"{NEW}\n\n```json\n{own}\n```\n\nThanks!") == f"{NEW}\n\nThanks!"


@each_own
def test_it_finds_several(own):
    assert strip_own_output(f"{own}\n\n{NEW}\n\n{ENVELOPE}\n") == NEW


def test_it_keeps_what_shares_a_line_with_a_pack():
    assert strip_own_output(f"so: {ENVELOPE} {NEW}") == f"so:  {NEW}"


def test_it_keeps_the_rest_of_an_object_that_holds_a_pack():
    mixed = json.dumps({"note": NEW, "context": json.loads(ENVELOPE)})
    assert NEW in strip_own_output(mixed)
    assert "legend" not in strip_own_output(mixed)


def test_it_knows_an_envelope_that_was_cut_off():
    assert strip_own_output(f"{ENVELOPE[:400]}\n\n{NEW}") == NEW


def test_it_finds_a_pack_whose_halves_it_joined():
    halves = f"{PACK_HEADER[:10]}{ENVELOPE}{PACK_HEADER[10:]}\n- x [{make_ref(1)}]\n"
    assert strip_own_output(halves) == ""


@pytest.mark.parametrize(
    "text",
    [
        NEW,
        f"I do not believe [{make_ref(1)}]",
        f"- Ana was right in [{make_ref(1)}]\n- Bob was not [{make_ref(2)}]",
        "## facts\n\nThe earth is round.",
        '{"smp": "a voltage"}',
        '{"layers": 3, "budget": 100}',
        'if (x) { y["smp"] }',
        "{" * 50,
        "  spaces stay  ",
        "",
    ],
)
def test_it_leaves_everything_else_as_it_is(text):
    assert strip_own_output(text) == text


@given(st.text(max_size=80), st.sampled_from(sorted(OWN.values())), st.text(max_size=80))
def test_it_takes_out_all_in_one_go(before, own, after):
    once = strip_own_output(f"{before}\n\n{own}\n\n{after}")
    assert strip_own_output(once) == once
    assert make_ref(2) not in once


@given(st.text(max_size=200))
def test_it_never_touches_text_that_is_not_ours(text):
    assert strip_own_output(text) == text


@pytest.mark.parametrize(
    "hostile",
    [
        '"smp"' + "{" * 1_000_000,
        '"smp"' + '{"' * 500_000,
        '"smp"' + '{"a" ' * 200_000,
        '"smp"' + '{"a":' * 200_000,
        '"smp"' + '{"a":[' * 100_000,
        '{"smp":"1","legend":' * 50_000,
        '"smp"{"a":' + "9" * 900_000 + "}",
        PACK_HEADER * 15_000,
        "[mem_" * 200_000,
    ],
)
def test_it_answers_hostile_text_in_linear_time(hostile):
    assert len(strip_own_output(hostile)) <= len(hostile)
