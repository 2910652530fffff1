"""Pictures of figures, drawn on the server: pure functions from values to SVG, each with the same told as a table.

Colours are classes (`cx-t-…` for a tone, `cx-h…` for a heat) that the stylesheet fills, so that the light and the
dark scheme both work and nothing is inline. Whatever text goes in is escaped.
"""

from memories.admin.charts.bars import Column, Part, columns, stacked_bar
from memories.admin.charts.chains import Holder, succession
from memories.admin.charts.graphs import Node, one_hop
from memories.admin.charts.heat import heat_map
from memories.admin.charts.lines import Line, line_chart, sparkline
from memories.admin.charts.moments import Moment, timeline
from memories.admin.charts.svg import TONES, Chart, element, shortened, tone_at

__all__ = [
    "TONES",
    "Chart",
    "Column",
    "Holder",
    "Line",
    "Moment",
    "Node",
    "Part",
    "columns",
    "element",
    "heat_map",
    "line_chart",
    "one_hop",
    "shortened",
    "sparkline",
    "stacked_bar",
    "succession",
    "timeline",
    "tone_at",
]
