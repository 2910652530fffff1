"""The programs on the pages about frameworks run as they stand there, against stand-ins for the providers."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from contextpack.demo.server import SOURCE_DIR, Server
from cortex_client import Cortex
from tests.adapters.providers import providers
from tests.mcp.test_connect_pages import Snippet, snippets

NEEDED = {
    "langgraph.md": "langgraph",
    "openai-agents.md": "agents",
    "llamaindex.md": "llama_index",
    "anthropic-memory-tool.md": "anthropic",
}
SAID = {
    "langgraph.md": "Known: The Atlas launch is on 12 May. (0.",
    "openai-agents.md": "I was told:",
    "llamaindex.md": "mem_",
    "anthropic-memory-tool.md": "I was told: File created successfully at: /memories/atlas.md (error: False)",
}
PROGRAMS = snippets("python adapters")


def test_each_page_has_a_program():
    assert {program.values[0].page for program in PROGRAMS} == set(NEEDED) == set(SAID)


@pytest.mark.parametrize("snippet", PROGRAMS)
def test_the_program_on_the_page_runs(server: Server, snippet: Snippet):
    if find_spec(NEEDED[snippet.page]) is None:
        pytest.skip(f"{NEEDED[snippet.page]} is not installed here: make adapters runs this")
    with Cortex(server.url, server.token) as cortex, providers() as provider:
        ref = cortex.remember("The Atlas launch is announced by Priya.", author="user")["ref"]
        ended = subprocess.run(
            [sys.executable, "-c", snippet.text],
            env={
                **os.environ,
                "PYTHONPATH": str(SOURCE_DIR / "client"),
                "CORTEX_URL": server.url,
                "CORTEX_TOKEN": server.token,
                "OPENAI_BASE_URL": f"{provider}/v1",
                "OPENAI_API_KEY": "none",
                "OPENAI_AGENTS_DISABLE_TRACING": "1",
                "ANTHROPIC_BASE_URL": provider,
                "ANTHROPIC_API_KEY": "none",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert SAID[snippet.page] in ended.stdout
    if snippet.page == "openai-agents.md":
        assert ref in ended.stdout
