"""The demo as a user runs it: one subprocess, from an empty folder to CMP DEMO OK."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from contextpack.demo.protocol import DELTA_KEYS, ENVELOPE_KEYS, ITEM_KEYS, RULES
from contextpack.demo.server import SOURCE_DIR

EXAMPLES = SOURCE_DIR / "docs" / "examples"
COMMAND = [sys.executable, "manage.py", "cmp_demo"]

pytestmark = pytest.mark.engine_free


def run_demo(*flags: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *flags],
        cwd=SOURCE_DIR,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    ended: "subprocess.CompletedProcess[str]"
    temporary: Path
    examples: Path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    temporary, examples = tmp_path_factory.mktemp("temporary"), tmp_path_factory.mktemp("examples")
    ended = run_demo("--examples", str(examples), TMPDIR=str(temporary))
    return Played(ended=ended, temporary=temporary, examples=examples)


def test_the_demo_ends_in_ok(played):
    assert played.ended.returncode == 0, played.ended.stdout[-2_000:] + played.ended.stderr
    assert played.ended.stdout.rstrip().endswith("CMP DEMO OK")


def test_the_demo_leaves_nothing_behind(played):
    assert list(played.temporary.iterdir()) == []


@pytest.mark.parametrize("section", ["§1, §2", "§3", "§4, §5", "§6", "§8"])
def test_the_demo_shows_every_section(played, section):
    assert f"\n{section}  " in played.ended.stdout


def test_a_port_that_is_taken_is_a_reason_in_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = run_demo("--port", str(taken.getsockname()[1]))
    assert ended.returncode == 1
    assert "is taken" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


class TestKeep:
    @pytest.fixture
    def kept(self, tmp_path) -> Iterator["subprocess.Popen[str]"]:
        process = subprocess.Popen(
            [*COMMAND, "--keep", "--examples", str(tmp_path)],
            cwd=SOURCE_DIR,
            stdout=subprocess.PIPE,
            text=True,
        )
        yield process
        process.kill()
        process.communicate()

    def test_it_leaves_a_server_that_answers_and_ends_with_it(self, kept):
        told = self.told(kept)
        request = Request(f"{told['API']}stats", headers={"Authorization": f"Bearer {told['Token']}"})
        with urlopen(request, timeout=30) as answer:
            assert json.load(answer)["pending_vectors"] == 0
        kept.send_signal(signal.SIGINT)
        assert kept.wait(30) == 0
        with pytest.raises(OSError, match="refused"):
            urlopen(request, timeout=30)

    def told(self, process: "subprocess.Popen[str]") -> dict[str, str]:
        """Read up to the token, which comes last."""
        told: dict[str, str] = {}
        assert process.stdout is not None
        for line in process.stdout:
            words = line.split()
            if len(words) == 2 and words[0] in {"API", "Docs", "Admin", "Token"}:
                told[words[0]] = words[1]
            if "Token" in told:
                break
        return told


@pytest.fixture(params=["kept", "fresh"])
def examples(request, played) -> Path:
    """The examples of the documentation, and those that the demo captured just now."""
    return EXAMPLES if request.param == "kept" else played.examples


def example(folder: Path, name: str) -> dict[str, Any]:
    envelope: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return envelope


@pytest.mark.parametrize("name", ["example_smp_claude", "example_smp_delta_turn2"])
def test_an_example_is_an_envelope(examples, name):
    envelope = example(examples, name)
    assert tuple(envelope) == ENVELOPE_KEYS
    assert tuple(envelope["legend"]["rules"]) == RULES
    assert all(tuple(item) == ITEM_KEYS for item in envelope["items"])


def test_the_second_example_carries_a_delta_of_what_it_cites(examples):
    envelope = example(examples, "example_smp_delta_turn2")
    delta, cited = envelope["working_memory"], [item["ref"] for item in envelope["items"]]
    assert tuple(delta) == DELTA_KEYS
    assert delta["cursor"] == "2"
    assert 0 < len(delta["new"]) < len(cited)
    assert {entry["ref"] for entry in delta["new"]} < set(cited)
