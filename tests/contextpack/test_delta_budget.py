"""The budget of an answer that carries only what is new is that of what it carries."""

from typing import Any

import pytest

from contextpack.core.canonical import wire_text
from contextpack.core.profiles import PROFILES
from contextpack.core.tokens import estimate_tokens, family_of
from tests.clients import Api, api_of
from tests.wire.asking import ask, contents, items, ok
from tests.wire.corpora import TASK, make_corpus

FORMATS = pytest.mark.parametrize("fmt", ["json", "smp"])


@pytest.fixture
def api(db):
    api = api_of()
    make_corpus(api.vault, 60)
    return api


def turn(api: Api, fmt: str, budget: int, task: str = TASK) -> tuple[dict[str, Any], float]:
    """Ask for new content alone; answer the body and the share of content in it."""
    response = ask(
        api, task, format=fmt, token_budget=budget, session_id="chat", delta="content", model="claude"
    )
    return ok(response), float(response["Cortex-Content-Share"])


@FORMATS
def test_a_first_turn_counts_what_a_pack_without_a_session_counts(api, fmt):
    body, share = turn(api, fmt, 2_000)
    alone = ask(api, TASK, format=fmt, token_budget=2_000, model="claude")
    assert body["budget"] == alone.json()["budget"]
    assert share == float(alone["Cortex-Content-Share"])


@FORMATS
def test_a_wider_turn_counts_its_new_items_alone_with_their_headings(api, fmt):
    turn(api, fmt, 800)
    body, share = turn(api, fmt, 2_000)
    used, sent = body["budget"]["used"], items(body)
    assert sent
    assert body["working_memory"]["carried"]
    assert used == tokens("".join(f'"{layer}":[],' for layer in body.get("layers", ())) + written(sent))
    assert share == round(sum(map(tokens, contents(body))) / used, 3)
    if fmt == "json":
        assert body["budget"]["distinct_facts_per_1k_tokens"] == round(len(sent) * 1_000 / used, 2)


@FORMATS
def test_a_turn_that_carries_nothing_uses_nothing(api, fmt):
    turn(api, fmt, 2_000)
    body, share = turn(api, fmt, 2_000)
    assert items(body) == []
    assert (body["budget"]["used"], share) == (0, 0.0)
    if fmt == "json":
        assert body["budget"]["distinct_facts_per_1k_tokens"] == 0


def test_a_markdown_turn_says_which_part_of_it_is_memory_text(api):
    asked = {"format": "markdown", "session_id": "chat", "delta": "content", "model": "claude"}
    first = ask(api, TASK, token_budget=800, **asked)
    again = ask(api, TASK, token_budget=800, **asked)
    assert 0.3 < float(first["Cortex-Content-Share"]) < 1
    assert float(again["Cortex-Content-Share"]) == 0


def tokens(text: str) -> int:
    return estimate_tokens(text, family_of(PROFILES["claude"], "claude"))


def written(sent: list[dict[str, Any]]) -> str:
    return "".join(f"{wire_text(item)}," for item in sent)
