"""What this machine makes of the server: latency beside an empty request, ingest, statements for each route.

`python -m bench` (or `make bench`) boots a server on a throw-away database and calls it as one client would.
"""
