"""The settings with OAuth on, as the type checker and the server under test see them.

Descriptions of clients are fetched from nowhere: those of one host are made up here, all others go the real way.
"""

import os
from typing import Any

os.environ.setdefault("CORTEX_OAUTH", "1")
os.environ.setdefault("CORTEX_PUBLIC_URL", "http://127.0.0.1:8766")

from django.db.backends.signals import connection_created

from cortex.settings import *  # noqa: F403
from cortex.settings import OAUTH2_PROVIDER as WITH_THE_NETWORK
from cortex.settings import VAR_DIR

OAUTH2_PROVIDER = {**WITH_THE_NETWORK, "CIMD_METADATA_FETCHER": "tests.oauth.descriptions.MadeUp"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def _listen(connection: Any, **_: object) -> None:
    if _note not in connection.execute_wrappers:
        connection.execute_wrappers.insert(0, _note)  # a request takes its own off the end


def _note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    """Write down the statements on consents, for a test to read."""
    if "oauth_consent" in sql:
        with (VAR_DIR / "statements.sql").open("a") as kept:
            kept.write(" ".join(sql.split()) + "\n")
    return execute(sql, params, many, context)


connection_created.connect(_listen)
