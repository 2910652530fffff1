"""What the fuzzer has to be told: how lines of JSON are written."""

import schemathesis

for kind in ("application/x-ndjson", "application/jsonl"):
    schemathesis.serializer.alias(kind, "text/plain")
