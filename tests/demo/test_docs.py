"""The documentation holds: its commands run, its settings exist, its paths lead somewhere."""

import re
import shutil
import subprocess
import tomllib

import pytest

from contextpack.core.mql import MQL_SCHEMA
from contextpack.core.rendering import JsonPack, Row
from contextpack.demo.server import SOURCE_DIR, throwaway_server
from contextpack.serializers import ContextRequestSerializer
from contextpack.tools import TOOLS
from memories.wire import MemoryDict

PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/wire.md",
    "docs/examples/README.md",
    "docs/connect/README.md",
    "docs/tools.md",
    "docs/connect/claude-ai.md",
    "docs/connect/chatgpt.md",
)
FOLDERS = ("contextpack", "cortex", "memories", "sessions", "oauth", "bench", "tests", "docs")


def page(name: str) -> str:
    return (SOURCE_DIR / name).read_text()


def blocks(name: str, kind: str) -> list[str]:
    """Return the fenced blocks of a page that are of one kind, such as `sh`."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


def test_the_quick_start_is_two_commands():
    assert blocks("README.md", "sh")[0].split("\n") == ["make demo", "make test", ""]


@pytest.mark.engine_free
@pytest.mark.skipif(shutil.which("curl") is None, reason="the tour calls curl")
def test_the_tour_can_be_copied_and_pasted():
    tour = "\n".join(["set -euo pipefail", *blocks("README.md", "sh tour")])
    with throwaway_server() as server:
        ended = subprocess.run(
            ["bash", "-c", tour],
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "CORTEX_URL": server.url,
                "CORTEX_TOKEN": server.token,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.rstrip().endswith('"probes":{"fts":0,"vectors":0,"database":0}}')


@pytest.mark.parametrize("name", PAGES)
def test_no_function_of_a_page_hides_a_command(name):
    commands = tomllib.loads(page("client/pyproject.toml"))["project"]["scripts"]
    assert set(re.findall(r"^(\w+)\(\) \{", page(name), re.MULTILINE)) & {*commands, "curl"} == set()


def test_all_pages_call_the_address_and_the_token_what_the_client_calls_them():
    folders = (SOURCE_DIR / "docs", SOURCE_DIR / "client")
    texts = [page("README.md"), *(path.read_text() for folder in folders for path in folder.rglob("*.md"))]
    named = re.findall(r"(?:\$\{?|environ\[.)(\w*(?:CORTEX|TOKEN)\w*)", "\n".join(texts))
    settings = re.findall(r'"(CORTEX_[A-Z_]+)"', page("cortex/settings.py"))
    assert {*named} - {*settings} == {"CORTEX_URL", "CORTEX_TOKEN"}


def test_every_setting_is_documented_and_none_is_invented():
    known = set(re.findall(r'"(CORTEX_[A-Z_]+)"', page("cortex/settings.py")))
    assert set(re.findall(r"`(CORTEX_[A-Z_]+)`", page("README.md"))) == known


def test_the_wire_names_every_field_and_every_tool():
    words = set(re.findall(r"[a-z_]+", page("docs/wire.md")))
    fields = {*MemoryDict.__annotations__, *JsonPack.__annotations__, *Row.__annotations__}
    assert {*fields, *ContextRequestSerializer().fields, *MQL_SCHEMA["properties"], *TOOLS} - words == set()


@pytest.mark.parametrize("name", PAGES)
def test_every_path_leads_somewhere(name):
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", page(name))
    assert [path for path in named if not (SOURCE_DIR / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name):
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", page(name))
    assert [path for path in linked if not ((SOURCE_DIR / name).parent / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_make_target_exists(name):
    targets = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", page(name), re.MULTILINE)) <= targets
