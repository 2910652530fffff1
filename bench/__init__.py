"""What this machine makes of the server: latency beside an empty request, ingest, statements for each route,
and what a session's delta saves.

`python -m bench` (or `make bench`) boots a server on a throw-away database and calls it as one client would.
"""

import sys
from pathlib import Path

# The client is a package of its own; it is measured from the sources beside these.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client"))
