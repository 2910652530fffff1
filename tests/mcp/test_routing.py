"""The table of requests and tools (docs/tools.md) is whole, and the descriptions set apart what competes in it."""

import re
from collections import Counter
from typing import NamedTuple

import pytest

from contextpack.demo.server import SOURCE_DIR
from contextpack.tools import TOOLS

PAGE = (SOURCE_DIR / "docs" / "tools.md").read_text()


class Row(NamedTuple):
    request: str
    first: str
    rival: str
    reason: str


ROWS = [
    Row(*cells)
    for cells in re.findall(r"^\| (.+?) \| `(\w+)` \| (?:`(\w+)`)? ?\| (.+) \|$", PAGE, re.MULTILINE)
]
RIVALS = sorted({(row.first, row.rival) for row in ROWS if row.rival})


def test_there_are_sixty_requests_and_no_two_alike():
    assert len(ROWS) == len({row.request for row in ROWS}) == 60


def test_every_tool_is_there_and_is_the_right_one_at_least_three_times():
    chosen = Counter(row.first for row in ROWS)
    assert set(chosen) == set(TOOLS)
    assert {name: count for name, count in chosen.items() if count < 3} == {}
    assert {row.rival for row in ROWS if row.rival} <= set(TOOLS)


def test_the_page_tells_what_each_tool_is_for():
    assert set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE, re.MULTILINE)) == set(TOOLS)


@pytest.mark.parametrize(("first", "rival"), RIVALS)
def test_of_two_that_compete_one_names_the_other(first, rival):
    assert rival in TOOLS[first].description or first in TOOLS[rival].description


def test_descriptions_stay_short_enough_to_be_read():
    long = {name: len(tool.description) for name, tool in TOOLS.items() if len(tool.description) > 500}
    assert long == {}
