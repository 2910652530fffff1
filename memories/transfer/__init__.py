"""A vault as JSON Lines, out and in again: export → import into an empty vault → export gives the same lines."""

from memories.transfer.exporting import export_lines
from memories.transfer.importing import ImportReport, import_lines

__all__ = ["ImportReport", "export_lines", "import_lines"]
