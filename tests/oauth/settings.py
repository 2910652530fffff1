"""The settings with OAuth on, as the type checker and the server under test see them.

Descriptions of clients are fetched from nowhere: those of one host are made up here, all others go the real way.
"""

import os

os.environ.setdefault("CORTEX_OAUTH", "1")
os.environ.setdefault("CORTEX_PUBLIC_URL", "http://127.0.0.1:8766")

from cortex.settings import *  # noqa: F403
from cortex.settings import OAUTH2_PROVIDER

OAUTH2_PROVIDER = {**OAUTH2_PROVIDER, "CIMD_METADATA_FETCHER": "tests.oauth.descriptions.MadeUp"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
