"""Where OAuth is off there is nothing of it; where it cannot be on, the server says why in one line."""

import os
import re
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from contextpack.demo.server import SOURCE_DIR
from cortex import env
from tests.api.test_starting import manage

GOOD = [
    "https://memory.example.org",
    "https://memory.example.org:8443/",
    "http://127.0.0.1:8766",
    "http://[::1]:8766",
]


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/oauth/authorize",
        "/oauth/register",
    ],
)
def test_there_is_no_discovery(path):
    assert Client().get(path).status_code == 404


def test_a_call_without_a_token_is_told_nothing_of_it():
    answer = Client().post("/mcp", b"{}", content_type="application/json")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="cortex"'


def test_there_are_no_tables_of_it():
    assert not {"oauth", "oauth2_provider"} & set(settings.INSTALLED_APPS)


@pytest.mark.parametrize("raw", GOOD)
def test_an_address_that_can_issue_tokens_is_taken(monkeypatch, raw):
    monkeypatch.setenv("CORTEX_X", raw)
    assert env.own_address("CORTEX_X", for_oauth=True) == raw.rstrip("/")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "CORTEX_OAUTH=1 needs CORTEX_X"),
        ("http://memory.example.org", "https://"),
        ("https://memory.example.org/cortex", "path"),
        ("memory.example.org", "an address such as"),
        ("ftp://memory.example.org", "an address such as"),
        ("https://ana:secret@memory.example.org", "an address such as"),
        ("https://memory.example.org?x=1", "an address such as"),
        ("https://memory example.org", "an address such as"),
        ("https://memory.example.org:port", "an address such as"),
    ],
)
def test_any_other_is_refused(monkeypatch, raw, reason):
    monkeypatch.setenv("CORTEX_X", raw)
    with pytest.raises(ImproperlyConfigured, match=reason) as refused:
        env.own_address("CORTEX_X", for_oauth=True)
    assert "secret" not in str(refused.value)


def test_citations_alone_need_no_encryption(monkeypatch):
    monkeypatch.setenv("CORTEX_X", "http://memory.lan:8766/cortex/")
    assert env.own_address("CORTEX_X") == "http://memory.lan:8766/cortex"


WITHOUT_THEM = """
import runpy, sys
sys.modules["oauth2_provider"] = sys.modules["oauthlib"] = None
sys.argv = ["manage.py", "check"]
runpy.run_path("manage.py", run_name="__main__")
"""


def start_without_its_packages(tmp_path, switch: str) -> "subprocess.CompletedProcess[str]":
    named = {
        "CORTEX_VAR_DIR": str(tmp_path),
        "CORTEX_OAUTH": switch,
        "CORTEX_PUBLIC_URL": "https://m.example",
    }
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_THEM],
        cwd=SOURCE_DIR,
        env=os.environ | named,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_its_packages_a_server_starts_as_ever(tmp_path):
    ended = start_without_its_packages(tmp_path, "0")
    assert ended.returncode == 0, ended.stderr


def test_without_its_packages_it_says_what_to_install(tmp_path):
    ended = start_without_its_packages(tmp_path, "1")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("Cortex cannot start: CORTEX_OAUTH=1 needs packages that are not installed")
    assert line.endswith("pip install '.[oauth]'")


@pytest.mark.parametrize("name", ["claude-ai", "chatgpt"])
def test_a_server_starts_with_the_settings_that_a_page_names(tmp_path, name):
    page = (SOURCE_DIR / "docs" / "connect" / f"{name}.md").read_text()
    named = dict(re.findall(r"\b(CORTEX_[A-Z_]+)=(\S+)", page))
    assert {"CORTEX_OAUTH", "CORTEX_PUBLIC_URL"} <= set(named)
    ended = manage(tmp_path, "check", **named)
    assert ended.returncode == 0, ended.stderr


def test_a_server_that_cannot_start_says_so_in_one_line(tmp_path):
    ended = manage(tmp_path, "check", CORTEX_OAUTH="1", CORTEX_PUBLIC_URL="")
    assert ended.returncode == 1
    assert ended.stderr.startswith("Cortex cannot start: CORTEX_OAUTH=1 needs CORTEX_PUBLIC_URL")
    assert len(ended.stderr.splitlines()) == 1
