"""Compact JSON out. Views answer plain dicts; there are no serializers on the way out."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rest_framework.renderers import BaseRenderer


class CompactJSONRenderer(BaseRenderer):
    """UTF-8 without padding; bytes pass as they are (a pin replays what was sent)."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if data is None:
            return b""
        if isinstance(data, bytes):
            return data
        return dump_json(data)


def dump_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form on the wire")
