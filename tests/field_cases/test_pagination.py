"""Every row by way of the cursor, each once, whatever happens meanwhile; odd cursors are refused (M1, M4, M5)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from tests.clients import Api, api_of
from tests.factories import LONG_AGO, make_memory
from tests.wire.asking import Body, ask, expand, get, ok, pack, query, refs

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def api():
    return api_of()


def write(api: Api, count: int, *, begin: int = 0) -> list[str]:
    """Write so many memories in as few calls as that takes, all of one moment."""
    made: list[str] = []
    for start in range(begin, begin + count, 1_000):
        numbers = range(start, min(start + 1_000, begin + count))
        batch = [{"content": f"Oak number {number:05d}"} for number in numbers]
        results = ok(api.post("memories/bulk", {"memories": batch}))["results"]
        made += [result["ref"] for result in results]
    return made


Turn = Callable[[Api, str | None], tuple[list[str], str | None]]
"""Asks for a page and answers its refs and the next cursor."""


def listed(api: Api, cursor: str | None) -> tuple[list[str], str | None]:
    body = ok(get(api, "memories", limit=200, **({"cursor": cursor} if cursor else {})))
    return [row["ref"] for row in body["results"]], body["next"]


def queried(api: Api, cursor: str | None) -> tuple[list[str], str | None]:
    body = query(api, find="oak", k=100, **({"cursor": cursor} if cursor else {}))
    return refs(body), body["cursor"]


def expanded(api: Api, cursor: str | None) -> tuple[list[str], str | None]:
    if cursor is None:
        return queried(api, None)
    body = ok(expand(api, cursor, "more"))
    return refs(body), body["cursor"]


def packed(api: Api, cursor: str | None) -> tuple[list[str], str | None]:
    asked = {"model": "claude", "format": "markdown", "legend": False}
    response = ask(api, "oak", **asked, **({"cursor": cursor} if cursor else {}))
    assert response.status_code == 200, response.content
    lines = [line for line in response.content.decode().splitlines() if line.startswith("- ")]
    return [line.rsplit("[", 1)[1].rstrip("]") for line in lines], response.headers.get("Cortex-Cursor")


def follow(api: Api, turn: Turn, *, between: Callable[[], Any] = lambda: None) -> list[str]:
    told, cursor = turn(api, None)
    while cursor:
        between()
        more, cursor = turn(api, cursor)
        told += more
    return told


class TestAllRows:
    """M1: row 501 is as reachable as the first."""

    @pytest.mark.parametrize(
        ("turn", "count"),
        [(listed, 501), (queried, 1), (queried, 1_201), (expanded, 501), (packed, 1), (packed, 1_201)],
    )
    def test_every_row_comes_once(self, api, turn, count):
        made = write(api, count)
        told = follow(api, turn)
        assert len(told) == len(set(told))
        assert set(told) == set(made)

    def test_an_answer_says_how_many_there_are(self, api):
        write(api, 501)
        body = query(api, find="oak", k=100)
        assert (body["returned"], body["narrowed_from"], body["narrowed_to"]) == (100, 501, 501)

    def test_a_pack_is_complete_only_with_its_last_page(self, api):
        write(api, 501)
        body: Body = pack(api, "oak", model="claude")
        for _ in range(50):
            if body["cursor"] is None:
                break
            assert body["coverage"]["status"] == "usable"
            body = pack(api, "oak", model="claude", cursor=body["cursor"])
        assert body["coverage"]["status"] == "complete"


class TestMeanwhile:
    """M4: rows of one moment, and rows that come and go while a client turns pages."""

    @pytest.mark.parametrize("turn", [listed, queried, packed])
    def test_rows_of_one_moment_keep_their_order_while_others_come(self, api, turn):
        with time_machine.travel(NOW) as clock:
            made = write(api, 300)
            numbers = iter(range(100_000, 200_000, 5))

            def between() -> None:
                clock.shift(timedelta(seconds=5))
                write(api, 5, begin=next(numbers))

            told = follow(api, turn, between=between)
        assert len(told) == len(set(told))
        assert set(made) <= set(told)

    @pytest.mark.parametrize("turn", [listed, queried, packed])
    def test_what_goes_takes_no_other_along(self, api, turn):
        with time_machine.travel(NOW) as clock:
            made = write(api, 300)
            seen, cursor = turn(api, None)
            clock.shift(timedelta(seconds=5))
            gone = [seen[0], seen[-1], next(ref for ref in made if ref not in seen)]
            for ref in gone:
                assert api.delete(f"memories/{ref}").status_code == 200
            told = list(seen)
            while cursor:
                more, cursor = turn(api, cursor)
                told += more
        assert len(told) == len(set(told))
        assert set(made) - set(gone) <= set(told)
        assert gone[2] not in told


class TestOddCursors:
    """M5: refused as a whole, and never another's data."""

    @pytest.fixture
    def cursors(self, api):
        for number in range(30):
            make_memory(api.vault, content=f"Oak number {number}", at=LONG_AGO)
        return {
            "query": query(api, find="oak", k=3)["cursor"],
            "context": pack(api, "oak", model="claude", token_budget=300)["cursor"],
            "memories": ok(get(api, "memories", limit=3))["next"],
        }

    def ways(self, api: Api, cursor: Any) -> list[Any]:
        return [
            api.post("query", {"find": "oak", "cursor": cursor}),
            ask(api, "oak", model="claude", token_budget=300, cursor=cursor),
            get(api, "memories", limit=3, cursor=cursor),
            get(api, "expand", ref=cursor, direction="more"),
            get(api, "sessions", cursor=cursor),
        ]

    @pytest.mark.parametrize(
        "odd",
        [
            "x",
            "mqlc:",
            "mqlc:x",
            "mqlc:mqlc:x",
            "0",
            "null",
            "../..",
            "a:b:c",
            "🎉",
            "e30",
            "W10",
            "mqlc:W10:a:b",
        ],
    )
    def test_what_is_no_cursor_is_400(self, api, cursors, odd):
        assert {response.status_code for response in self.ways(api, odd)} == {400}

    @pytest.mark.parametrize("kind", ["query", "context", "memories"])
    def test_a_tampered_or_cut_cursor_is_400(self, api, cursors, kind):
        whole = cursors[kind]
        middle = len(whole) // 2
        flipped = whole[:middle] + ("A" if whole[middle] != "A" else "B") + whole[middle + 1 :]
        for odd in (whole[:-1], whole[:middle], flipped, whole + "A", whole.upper()):
            for response in self.ways(api, odd):
                assert response.status_code == 400, odd

    @pytest.mark.parametrize("kind", ["query", "context", "memories"])
    def test_a_cursor_of_another_kind_or_query_is_refused(self, api, cursors, kind):
        for other in (
            api.post("query", {"find": "ash", "cursor": cursors[kind]}),
            ask(api, "ash", cursor=cursors[kind]),
            get(api, "memories", limit=3, q="oak", cursor=cursors[kind]),
            get(api, "sessions", cursor=cursors[kind]),
        ):
            assert other.status_code in {400, 422}

    @pytest.mark.parametrize("kind", ["query", "context", "memories"])
    def test_anothers_cursor_gives_nothing_of_theirs(self, api, cursors, kind):
        for stranger in (api_of(), api_of(api.vault, projects=["x"])):
            for response in self.ways(stranger, cursors[kind]):
                assert response.status_code in {400, 404, 422}
                assert b"Oak number" not in response.content

    @pytest.mark.parametrize("value", [5, True, ["x"], {"a": 1}])
    def test_what_is_no_text_is_422(self, api, cursors, value):
        assert api.post("query", {"find": "oak", "cursor": value}).status_code == 422
        assert ask(api, "oak", cursor=value).status_code == 422

    def test_nul_is_400(self, api, cursors):
        for path in (
            "query?find=oak&cursor=",
            "context?task=oak&cursor=",
            "memories?cursor=",
            "sessions?cursor=",
        ):
            assert api.get(f"{path}a%00b").status_code == 400
        for path, text in (("query", "find"), ("context", "task")):
            assert api.post(path, {text: "oak", "cursor": "a\0b"}).status_code == 400
