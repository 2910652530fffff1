"""Bodies of lines: cut here, read one by one where they are imported."""

from collections.abc import Mapping
from typing import IO, Any, Final

from rest_framework.parsers import BaseParser

from cortex.api.parsing import read_body

NDJSON: Final = "application/x-ndjson"


class LinesParser(BaseParser):
    """Answers a body's lines as bytes; a line that is no JSON spoils no other."""

    media_type = NDJSON

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return read_body(stream, parser_context).splitlines()


class JsonlParser(LinesParser):
    media_type = "application/jsonl"


class JsonParser(LinesParser):
    """Many clients can only say that what they send is JSON."""

    media_type = "application/json"


LINES_PARSERS: Final = (LinesParser, JsonlParser, JsonParser)
