"""The pages about connecting hold: their programs run, and their configurations connect (docs/connect)."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import pytest

from contextpack.demo.server import SOURCE_DIR, Server, throwaway_settings

FOLDER = SOURCE_DIR / "docs" / "connect"
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LIST_TOOLS = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'


class Snippet(NamedTuple):
    page: str
    kind: str
    text: str


def snippets(*kinds: str) -> list[Any]:
    """Return the fenced blocks of these kinds, such as `sh run`, from all pages."""
    blocks = [
        (path, number, *block)
        for path in sorted(FOLDER.glob("*.md"))
        for number, block in enumerate(_BLOCK.findall(path.read_text()))
    ]
    return [
        pytest.param(Snippet(path.name, kind, text), id=f"{path.stem}-{number}")
        for path, number, kind, text in blocks
        if kind in kinds
    ]


def programs() -> list[Any]:
    """Return each Python program, and what a reader of a page types into one shell, from its top to its end."""
    typed: dict[tuple[str, str], list[str]] = {}
    for snippet in snippets("sh run", "sh run vault:admin"):
        page, kind, text = snippet.values[0]
        typed.setdefault((page, kind), []).append(text)
    shells = [
        pytest.param(Snippet(page, kind, "\n".join(texts)), id=f"{page} {kind}")
        for (page, kind), texts in typed.items()
    ]
    return [*shells, *snippets("python run")]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages call curl")
@pytest.mark.parametrize("snippet", programs())
def test_what_can_run_runs(server, snippet, tmp_path, token_of):
    """With the token that docs/connect/README.md tells to make, but where the block names a scope."""
    language, _, *scopes = snippet.kind.split(" ")
    program = {"sh": ["bash", "-ec"], "python": [sys.executable, "-c"]}[language]
    ended = subprocess.run(
        [*program, snippet.text],
        env=a_readers_environment(server, tmp_path, token_of(*scopes)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout
    assert '"error"' not in ended.stdout
    assert '"isError":true' not in ended.stdout


@pytest.fixture(scope="module")
def token_of(server: Server) -> Callable[..., str]:
    """Make tokens as the pages say, each once."""
    made: dict[tuple[str, ...], str] = {}

    def token(*scopes: str) -> str:
        if scopes not in made:
            chosen = [part for scope in scopes for part in ("--scope", scope)]
            made[scopes] = subprocess.run(
                [sys.executable, "manage.py", "create_token", "--vault=default", "--name=pages", *chosen],
                env=throwaway_settings(server.folder, {}),
                cwd=SOURCE_DIR,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            ).stdout.strip()
        return made[scopes]

    return token


def a_readers_environment(server: Server, home: Path, token: str) -> dict[str, str]:
    """Return what somebody has who followed the pages: the client's package and its command, a server, a token."""
    command = home / "bin" / "cortex"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cortex_client "$@"\n')
    command.chmod(0o755)
    return {
        **os.environ,
        "HOME": str(home),
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(SOURCE_DIR / "client"),
        "CORTEX_URL": server.url,
        "CORTEX_TOKEN": token,
    }


@pytest.mark.parametrize("snippet", snippets("json connect", "toml connect"))
def test_what_configures_a_client_connects_it(server, snippet):
    config = (json if snippet.kind.startswith("json") else tomllib).loads(snippet.text)
    servers = next(config[name] for name in ("mcpServers", "servers", "mcp_servers") if name in config)
    (entry,) = servers.values()
    listed = tools_over_http(server, entry) if "url" in entry else tools_over_stdio(server, entry)
    assert len(listed["result"]["tools"]) == 9


def tools_over_http(server: Server, entry: dict[str, Any]) -> Any:
    """Ask as the client would that is configured like this, at the port of the test's server."""
    headers = dict(entry.get("headers", {}))
    if entry.get("bearer_token_env_var") == "CORTEX_TOKEN":
        headers["Authorization"] = "Bearer ${CORTEX_TOKEN}"
    filled = {name: re.sub(r"\$\{[^}]+\}", server.token, value) for name, value in headers.items()}
    url = entry["url"].replace("http://127.0.0.1:8766", server.url)
    assert url.startswith(server.url)
    request = Request(url, data=LIST_TOOLS, headers={**filled, "Content-Type": "application/json"})
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


def tools_over_stdio(server: Server, entry: dict[str, Any]) -> Any:
    assert entry["command"] == "/path/to/cortex/.venv/bin/python"
    ended = subprocess.run(
        [sys.executable, *(part.replace("/path/to/cortex", str(SOURCE_DIR)) for part in entry["args"])],
        env=throwaway_settings(server.folder, {**entry["env"], "CORTEX_TOKEN": server.token}),
        cwd=server.folder,  # a client starts it anywhere
        input=LIST_TOOLS,
        capture_output=True,
        timeout=60,
        check=True,  # it ends with its input
    )
    (line,) = ended.stdout.splitlines()  # and says nothing that is no message
    return json.loads(line)


@pytest.mark.parametrize("snippet", snippets("json", "toml"))
def test_what_is_for_elsewhere_reads(snippet):
    assert (json if snippet.kind == "json" else tomllib).loads(snippet.text)


def test_every_page_is_in_the_index_and_every_link_leads_somewhere():
    index = set(re.findall(r"\]\(([\w.-]+\.md)\)", (FOLDER / "README.md").read_text()))
    assert index == {path.name for path in FOLDER.glob("*.md")} - {"README.md"}
    for path in FOLDER.glob("*.md"):
        linked = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
        assert [name for name in linked if not (path.parent / name).exists()] == []
