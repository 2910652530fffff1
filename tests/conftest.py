"""What every test may count on: quick password hashes, the deterministic embedder, no deployment's own choices."""

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def _plain_settings(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.CORTEX_EMBEDDER = "hash"
    settings.CORTEX_API_KEY = ""
    settings.CORTEX_AUTO_APPROVE = True
    settings.CORTEX_THROTTLE = ""
    settings.CORTEX_PUBLIC_URL = ""
    settings.CORTEX_RECEIPTS = "all"
    cache.clear()
