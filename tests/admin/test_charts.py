"""Pictures are text: well-formed, escaped, named, and the same figures stand in a table beside them."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string

from memories.admin.charts import (
    Chart,
    Column,
    Line,
    Moment,
    Part,
    columns,
    heat_map,
    line_chart,
    sparkline,
    stacked_bar,
    timeline,
)

HOSTILE = '"><img src=x onerror="alert(1)">'
DAY = datetime(2026, 3, 1, tzinfo=UTC)


def _all_of(text: str) -> dict[str, Chart]:
    parts = (Part(name=text, value=3, tone="blue"), Part(name="rest", value=1.5, tone="grey"))
    return {
        "bar": stacked_bar(parts, label=text, unit="tokens", total=10),
        "columns": columns([Column(name=text, parts=parts)], label=text, each="turn"),
        "heat": heat_map(
            [text], ["1", text], [[(0, text), (9, "more")]], label=text, each="memory", heats=[text]
        ),
        "lines": line_chart(
            [Line(name=text, values=(1, None), tone="blue")], [text, "b"], label=text, each="week"
        ),
        "spark": sparkline([1, 2], label=text),
        "time": timeline(
            [Moment(name=text, began_at=DAY, note=text)], until=DAY + timedelta(days=3), label=text
        ),
    }


@pytest.mark.parametrize("kind", ["bar", "columns", "heat", "lines", "spark", "time"])
def test_a_picture_is_well_formed_and_holds_stored_text_as_text(kind):
    chart = _all_of(HOSTILE)[kind]
    drawn = ElementTree.fromstring(chart.svg)
    assert drawn.get("role") == "img"
    assert HOSTILE in (drawn.get("aria-label") or "")
    assert {element.tag for element in drawn.iter()} <= {
        "svg", "title", "g", "rect", "line", "circle", "polyline", "text"
    }  # fmt: skip
    assert not [
        name for element in drawn.iter() for name in element.attrib if name.startswith(("on", "style"))
    ]
    html = render_to_string("admin/cortex/chart.html", {"chart": chart})
    assert "<img" not in html


@pytest.mark.parametrize("kind", ["bar", "columns", "heat", "lines", "spark", "time"])
def test_a_picture_of_nothing_is_a_picture(kind):
    empty = {
        "bar": lambda: stacked_bar([], label="x", unit="tokens"),
        "columns": lambda: columns([], label="x", each="turn"),
        "heat": lambda: heat_map([], [], [], label="x", each="memory", heats=[]),
        "lines": lambda: line_chart([], [], label="x", each="week"),
        "spark": lambda: sparkline([], label="x"),
        "time": lambda: timeline([], until=DAY, label="x"),
    }
    assert ElementTree.fromstring(empty[kind]().svg).tag == "svg"


def test_the_parts_of_a_bar_fill_their_share_of_the_whole():
    bar = stacked_bar(
        [Part(name="facts", value=25, tone="blue"), Part(name="free", value=75, tone="grey")],
        label="Budget",
        unit="tokens",
        total=100,
    )
    widths = [float(rect.get("width") or 0) for rect in ElementTree.fromstring(bar.svg).iter("rect")]
    assert widths == [1_000, 248, 748]
    assert bar.rows == (("facts", "25", "25%"), ("free", "75", "75%"))


def test_a_bar_with_more_in_it_than_the_whole_stays_in_its_frame():
    bar = stacked_bar(
        [Part(name=str(n), value=80, tone="blue") for n in range(3)], label="x", unit="tokens", total=100
    )
    rects = list(ElementTree.fromstring(bar.svg).iter("rect"))[1:]
    assert max(float(rect.get("x") or 0) + float(rect.get("width") or 0) for rect in rects) <= 1_000


def test_columns_share_one_scale():
    drawn = columns(
        [Column(name=str(n), parts=(Part(name="new", value=n, tone="green"),)) for n in (10, 20)],
        label="Turns",
        each="turn",
    )
    low, high = (float(rect.get("height") or 0) for rect in ElementTree.fromstring(drawn.svg).iter("rect"))
    assert high == pytest.approx(2 * low, abs=1.5)
    assert drawn.head == ("Turn", "new")
    assert drawn.rows == (("10", "10"), ("20", "20"))


def test_what_began_later_stands_further_to_the_right():
    line = timeline(
        [Moment(name=str(n), began_at=DAY + timedelta(days=n)) for n in range(3)],
        until=DAY + timedelta(days=9),
        label="Chain",
    )
    begun = [float(dot.get("cx") or 0) for dot in ElementTree.fromstring(line.svg).iter("circle")]
    assert begun == sorted(set(begun))
