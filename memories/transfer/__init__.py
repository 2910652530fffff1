"""A vault as JSON Lines, out and in again; what an empty vault took in, it gives out line by line as it came."""

from memories.transfer.exporting import export_lines
from memories.transfer.importing import ImportReport, import_lines

__all__ = ["ImportReport", "export_lines", "import_lines"]
