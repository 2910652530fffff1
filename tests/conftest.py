"""What every test may count on: quick password hashes, the deterministic embedder, no deployment's own choices."""

import os

import pytest
from django.core.cache import cache
from hypothesis import settings as hypothesis_settings

# Quick for every run; HYPOTHESIS_PROFILE=thorough searches longer.
hypothesis_settings.register_profile("quick", max_examples=30, deadline=None)
hypothesis_settings.register_profile("thorough", max_examples=1_000, deadline=None)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


# What these look at (refusals, walls, pages, packing, tools) is decided where no statement is spelt twice.
ENGINE_FREE = (
    "tests.admin.",
    "tests.api.",
    "tests.browser.",
    "tests.field_cases.test_payloads.",
    "tests.field_cases.test_relevance.",
    "tests.field_cases.test_token_budget.",
    "tests.mcp.",
    "tests.wire.test_errors.",
    "tests.wire.test_schema.",
    "tests.wire.test_strictness.",
    "tests.wire.test_tools.",
    "tests.wire.test_walls.",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what says the same on every engine, so that one run of it is enough."""
    for item in items:
        place = item.path.relative_to(item.config.rootpath).with_suffix("").as_posix().replace("/", ".") + "."
        if item.get_closest_marker("django_db") is None or place.startswith(ENGINE_FREE):
            item.add_marker(pytest.mark.engine_free)


@pytest.fixture(scope="session")
def throttle_dir(tmp_path_factory):
    """What one run counts says nothing to the next."""
    return tmp_path_factory.mktemp("throttle")


@pytest.fixture(autouse=True)
def _plain_settings(settings, throttle_dir):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.CORTEX_EMBEDDER = "hash"
    settings.CORTEX_LLM_URL = ""
    settings.CORTEX_API_KEY = ""
    settings.CORTEX_METRICS_TOKEN = ""
    settings.CORTEX_AUTO_APPROVE = True
    settings.CORTEX_THROTTLE = ""
    settings.THROTTLE_DIR = throttle_dir
    settings.CORTEX_PUBLIC_URL = ""
    settings.CORTEX_RECEIPTS = "all"
    settings.WHITENOISE_USE_FINDERS = False  # each new client would look through all static files first
    cache.clear()
