"""The command `cortex`, run as people and scripts run it: a process of its own, against a live server."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from contextpack.demo.server import SOURCE_DIR, Server
from cortex_client.cli import __doc__ as EXIT_CODES
from cortex_client.cli.failing import Exit
from cortex_client.cli.parsing import AUTHORS, DIRECTIONS, KINDS, LAYERS, build_parser
from cortex_client.cli.terminal import Terminal, as_json, columns_of, plain
from memories.core.kinds import Author, Kind, MemoryLayer
from tests.client.conftest import OPERATOR

pytestmark = pytest.mark.engine_free

COMMAND = [sys.executable, "-m", "cortex_client"]
CLIENT = SOURCE_DIR / "client"
# What reorders text is withheld by the server (TestPlainText has it); all of these it serves as they were said.
HOSTILE = "We decided on \x1b[31mred\x1b]0;owned\x07 \x9b2J\x7f paint."
NOTE = "The quarry opens on Monday, and everybody who drives a lorry knows it."
_vaults = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """An environment to run the command in, and the vault that an operator's key means there."""

    home: Path
    env: dict[str, str]
    vault: str | None = None

    def line(self, *words: str) -> list[str]:
        return [*COMMAND, *words, *(["--vault", self.vault] if self.vault else [])]

    def __call__(self, *words: str, stdin: bytes = b"", **env: str) -> Ended:
        ended = subprocess.run(
            self.line(*words),
            env={**self.env, **env},
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ended(code=ended.returncode, out=ended.stdout.decode(), err=ended.stderr.decode())

    def on_a_terminal(self, *words: str, typed: bytes = b"", **env: str) -> Ended:
        """Run it with a pseudo terminal for all three streams; what it shows is in `out`."""
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            self.line(*words),
            env={**self.env, "TERM": "xterm", "COLUMNS": "40", **env},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as process:
            os.close(theirs)
            if typed:
                os.write(ours, typed)
            shown = b""
            while chunk := _read(ours):
                shown += chunk
        os.close(ours)
        return Ended(code=process.returncode, out=shown.decode().replace("\r\n", "\n"), err="")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # how a terminal tells that nobody is left at its other end
        return b""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def nobody(home: Path) -> Shell:
    """A shell of somebody who has set nothing up."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(CLIENT), "LANG": "C.UTF-8"}
    return Shell(home=home, env=env)


@pytest.fixture
def cortex(nobody: Shell, server: Server) -> Shell:
    """The command in a vault of its own."""
    env = {**nobody.env, "CORTEX_URL": server.url, "CORTEX_TOKEN": OPERATOR}
    return Shell(home=nobody.home, env=env, vault=f"cli-{next(_vaults)}")


@pytest.fixture
def shell(nobody: Shell, server: Server) -> Shell:
    """The command as the first token of the server may use it, in the vault `default`."""
    return Shell(home=nobody.home, env={**nobody.env, "CORTEX_URL": server.url, "CORTEX_TOKEN": server.token})


def ref_of(ended: Ended) -> str:
    assert ended.code == 0, ended.err
    return str(ended.json["ref"])


class TestVerbs:
    def test_what_is_remembered_is_found_asked_for_expanded_and_forgotten(self, cortex):
        ref = ref_of(cortex("remember", "--kind", "decision", "--author", "user", "The launch is on 12 May."))
        found = cortex("find", "launch")
        assert (found.code, [item["ref"] for item in found.json["items"]]) == (0, [ref])
        assert cortex("ask", "Prepare the launch").json["layers"]["decisions"][0]["ref"] == ref
        assert cortex("expand", ref).json["document"]["author"] == "user"
        assert cortex("forget", "--yes", ref).json["forgotten"][0]["probes"]["database"] == 0
        gone = cortex("expand", ref)
        assert (gone.code, gone.out) == (1, "")
        assert gone.err == "cortex: 404 There is nothing here\n"

    def test_options_reach_the_server(self, cortex):
        options = (
            "--kind",
            "negative",
            "--project",
            "atlas",
            "--tag",
            "a",
            "--tag",
            "b",
            "--occurred-at",
            "2026-05-12",
        )
        kept = cortex(
            "remember", "Never ship on Friday.", *options, "--url-of-source", "https://example.org/rule"
        ).json
        assert (kept["kind"], kept["project"], kept["tags"]) == ("negative", "atlas", ["a", "b"])
        assert kept["occurred_at"].startswith("2026-05-12")
        assert kept["source_urls"] == ["https://example.org/rule"]
        assert cortex("find", "Friday", "--project", "other").json["items"] == []
        narrowed = cortex(
            "find", "Friday", "--layer", "negative", "--layer", "decision", "--all", "-n", "3"
        ).json
        assert narrowed["mql"]["layers"] == ["negative", "decision"]
        assert (narrowed["mql"]["valid_only"], narrowed["mql"]["k"]) == (False, 3)

    def test_a_dash_reads_standard_input(self, cortex):
        kept = cortex("remember", "--capture", "-", stdin=b"We decided to paint it red. I like tea.\n")
        assert {memory["kind"] for memory in kept.json["memories"]} == {"decision", "preference"}
        assert cortex("find", "-", stdin=b"tea").json["returned"] >= 1
        nothing = cortex("remember", "-", stdin=b"\n")
        assert (nothing.code, nothing.err) == (2, "cortex: there is no text\n")
        assert cortex("remember", "-", stdin=b"\xff\xfe").code == 2

    def test_markdown_is_for_prompts_even_in_a_pipe(self, cortex):
        ref = ref_of(cortex("remember", "The launch is on 12 May."))
        assert f"[{ref}]" in cortex("ask", "--markdown", "launch").out
        assert f"[{ref}]" in cortex("ask", "--markdown", "--session", "s", "launch").out

    def test_forgetting_goes_on_past_a_ref_that_is_not_there(self, cortex):
        ref = ref_of(cortex("remember", "The key is under the mat."))
        ended = cortex("forget", "-y", "mem_zzzzzzzzzzzz", ref)
        assert (ended.code, ended.json["not_here"]) == (1, ["mem_zzzzzzzzzzzz"])
        assert [told["ref"] for told in ended.json["forgotten"]] == [ref]

    def test_a_vault_goes_out_and_in_again(self, cortex, home):
        ref = ref_of(cortex("remember", "The launch is on 12 May."))
        piped = cortex("export")
        assert json.loads(piped.out.splitlines()[0])["counts"]["memories"] == 1
        file = home / "vault.jsonl"
        assert cortex("export", "-o", str(file)).json == {
            "rows": len(piped.out.splitlines()) - 1,
            "file": str(file),
        }
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        again = cortex("import", str(file), "--text")
        assert again.out.startswith("Imported nothing.\n")
        assert "lines skipped: here already" in again.out
        cortex("forget", "-y", ref)
        assert cortex("import", "-", stdin=file.read_bytes()).code == 0
        assert cortex("import", str(home / "none.jsonl")).code == 2


class TestConversations:
    def test_a_session_goes_on_where_the_last_command_stopped(self, cortex):
        ref = ref_of(cortex("remember", "The launch is on 12 May."))
        first, second = (cortex("ask", "--session", "chat/1", "Prepare the launch").json for _ in range(2))
        assert (first["new"], second["new"]) == ([ref], [])
        assert [memory["content"] for memory in second["pack"]] == ["The launch is on 12 May."]
        assert second["tokens_saved"] > 0
        assert cortex("session", "list").json["sessions"] == [{"session_id": "chat/1", "held": 1}]
        shown = cortex("session", "show", "chat/1").json
        assert [memory["ref"] for memory in shown["held"]] == [*shown["server"]["known"]] == [ref]

    def test_what_was_dropped_comes_again(self, cortex):
        ref = ref_of(cortex("remember", "The launch is on 12 May."))
        cortex("ask", "--session", "s", "launch")
        assert cortex("session", "drop", "s", ref, "mem_zzzzzzzzzzzz").json == {"dropped": [ref]}
        assert cortex("ask", "--session", "s", "launch").json["new"] == [ref]

    def test_an_ended_session_is_gone_here_and_there(self, cortex):
        cortex("ask", "--session", "s", "launch")
        assert cortex("session", "end", "s").code == 0
        assert cortex("session", "show", "s").code == 1
        assert cortex("session", "list").code == 1
        assert cortex("session", "end", "s").code == 1

    def test_another_token_never_meets_this_buffer(self, shell, cortex):
        cortex("ask", "--session", "s", "launch")
        assert shell("session", "list").json == {"sessions": []}

    def test_a_broken_buffer_is_named(self, shell, home):
        shell("ask", "--session", "s", "launch")
        (file,) = home.glob(".local/state/cortex/sessions/*/s.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.write_text("{}")
        ended = shell("ask", "--session", "s", "launch")
        assert (ended.code, "holds no buffer" in ended.err) == (2, True)


class TestTheToken:
    def test_it_is_kept_for_its_owner_alone_and_never_shown(self, nobody, server, home):
        kept = nobody("token", "set", "--url", f"{server.url}/", stdin=f"{server.token}\n".encode())
        file = home / ".config" / "cortex" / "config.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        shown, checked = nobody("token", "show", "--text"), nobody("token", "check")
        assert (kept.code, shown.code, checked.code) == (0, 0, 0)
        assert str(file) in shown.out
        assert "forget_memory" in checked.json["tools"]
        for told in (kept, shown, checked):
            assert server.token not in told.out + told.err

    def test_it_is_asked_for_on_a_terminal_without_an_echo(self, nobody, server):
        typed = f"{server.token}\n".encode()
        # getpass switches the echo off before it prompts; what is typed earlier than that the terminal itself echoes.
        kept = _typed_after(nobody, "Token", typed, "token", "set", "--url", server.url)
        assert server.token not in kept
        assert nobody("token", "check").code == 0

    def test_it_goes_to_no_other_server(self, nobody, server):
        nobody("token", "set", "--url", server.url, stdin=server.token.encode())
        ended = nobody("find", "x", CORTEX_URL="http://127.0.0.1:9")
        assert (ended.code, "there is no token for http://127.0.0.1:9" in ended.err) == (4, True)

    @pytest.mark.parametrize("typed", [b"", b"two words", "ctx_…".encode()])
    def test_what_is_no_token_is_not_kept(self, nobody, home, typed):
        assert nobody("token", "set", stdin=typed).code == 2
        assert not (home / ".config").exists()

    def test_a_file_that_is_none_is_named(self, nobody, home):
        file = home / ".config" / "cortex" / "config.json"
        file.parent.mkdir(parents=True)
        file.write_text("[")
        ended = nobody("find", "x")
        assert (ended.code, str(file) in ended.err) == (2, True)


def _typed_after(shell: Shell, prompt: str, typed: bytes, *words: str) -> str:
    """Type something once a prompt is shown, and return all that the terminal shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *words], env=shell.env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        shown = b""
        while prompt.encode() not in shown and (chunk := _read(ours)):
            shown += chunk
        os.write(ours, typed)
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode()


class TestExitCodes:
    def test_each_is_documented(self):
        documented = {int(code) for code in re.findall(r"^ *(\d+) ", EXIT_CODES or "", re.MULTILINE)}
        assert documented == {int(code) for code in Exit}
        assert all(re.search(rf"\b{int(code)} \w", build_parser().epilog or "") for code in Exit)

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["find", "zqxv"], 1),
            (["ask", "zqxv"], 1),
            (["find"], 2),
            (["fin", "x"], 2),
            (["find", "x", "--coun", "3"], 2),  # no abbreviations: they break as options are added
            (["remember", "x", "--kind", "rumour"], 2),
            (["forget", "mem_zzzzzzzzzzzz"], 2),  # nobody can be asked
            (["find", "x", "--count", "1000"], 3),
            (["expand", "mem_zzzzzzzzzzzz"], 1),
        ],
    )
    def test_they_tell_what_happened(self, cortex, words, code):
        ended = cortex(*words)
        assert ended.code == code, ended.err
        assert "Traceback" not in ended.err

    def test_a_token_that_may_not_is_4(self, shell):
        assert shell("find", "x", CORTEX_TOKEN="ctx_wrong").code == 4
        assert shell("find", "x", CORTEX_TOKEN="").code == 4

    def test_a_server_that_is_not_there_is_5(self, shell):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            ended = shell("find", "x", CORTEX_URL=f"http://127.0.0.1:{held.getsockname()[1]}")
        assert (ended.code, ended.err.startswith("cortex: POST /v1/query got no whole answer")) == (5, True)
        assert shell("find", "x", CORTEX_URL="ftp://elsewhere").code == 2

    def test_ctrl_c_ends_it_without_a_traceback(self, shell):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with subprocess.Popen(
                [*COMMAND, "find", "x"],
                env={**shell.env, "CORTEX_URL": address},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as process:
                silent.settimeout(30)
                connection, _ = silent.accept()  # it has asked, and waits
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
                connection.close()
        assert (process.returncode, out, err) == (130, b"", b"")

    def test_a_reader_that_leaves_ends_it_without_a_word(self, cortex):
        for number in range(3):
            cortex("remember", f"Oak {number}. " + "It grows on a hill. " * 4_000)
        command = f"{' '.join(cortex.line('find', '--text', 'oak'))}; echo $? >&2"
        with subprocess.Popen(
            ["bash", "-c", command], env=cortex.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == b"141\n"


class TestATerminal:
    def test_cards_are_for_people_and_json_for_pipes(self, cortex):
        ref = ref_of(cortex("remember", NOTE))
        shown = cortex.on_a_terminal("find", "quarry")
        assert ref in shown.out
        assert "\x1b[36m" in shown.out
        body = re.sub(r"\x1b\[\d+m", "", shown.out)
        assert max(len(line) for line in body.splitlines()) <= 40
        assert NOTE in " ".join(body.split())
        assert cortex("find", "--text", "quarry").out.startswith(ref)
        assert json.loads(cortex.on_a_terminal("find", "--json", "quarry").out)["returned"] >= 1

    @pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_no_colour_where_none_is_wanted(self, cortex, env):
        cortex("remember", "The quarry opens on Monday.")
        shown = cortex.on_a_terminal("find", "quarry", **env)
        assert "\x1b" not in shown.out
        assert "quarry" in shown.out

    def test_nothing_that_a_memory_says_is_obeyed(self, cortex):
        """Memory text is anybody's: it comes as pictures on a terminal and escaped in JSON."""
        (kept,) = cortex("remember", "--kind", "decision", HOSTILE).json["content"].split("\n")
        assert "\x1b" in kept  # the server keeps what was said
        for words in (
            ["find", "paint", "--text"],
            ["ask", "paint", "--text"],
            ["ask", "paint", "--markdown"],
            ["ask", "paint", "--session", "hostile", "--text"],
            ["session", "show", "hostile", "--text"],
        ):
            out = cortex(*words, NO_COLOR="1").out
            assert "red" in out, words
            assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out) == [], words
        told = cortex("find", "paint")
        assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", told.out) == []
        assert told.json["items"][0]["content"] == kept  # and yet nothing is lost
        refused = cortex("find", "x", "--cursor", "\x1b[2Jx")
        assert "\x1b" not in refused.err

    def test_forgetting_asks_first(self, cortex):
        ref = ref_of(cortex("remember", "The shed is green."))
        kept = cortex.on_a_terminal("forget", ref, typed=b"n\n")
        assert (kept.code, cortex("expand", ref).code) == (2, 0)
        gone = cortex.on_a_terminal("forget", ref, typed=b"y\n")
        assert (gone.code, cortex("expand", ref).code) == (0, 1)
        assert "no trace is left" in gone.out


class TestPlainText:
    @pytest.mark.parametrize(
        ("said", "shown"),
        [
            ("a\x1b[31mb\x00\x7f", "a␛[31mb␀␡"),
            ("a\x9b31mb", "a31mb"),
            ("one\ntwo\tthree\u2028four", "one two three four"),
            ("\u202egnp.exe\u200b\ufeff", "gnp.exe"),
            ("👩\u200d🚒 क्\u200dष", "👩\u200d🚒 क्\u200dष"),
            ("tag\U000e0041", "tag"),
            ("\ud83d", ""),
        ],
    )
    def test_it_holds_nothing_that_a_terminal_obeys(self, said, shown):
        assert plain(said) == shown

    def test_json_holds_the_same_and_escapes_it(self):
        text = "a\x1b\x7f\x9b\u202e\u2028\U000e0041é漢"
        written = as_json({"text": text})
        assert json.loads(written)["text"] == text
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\U000e0041]", written) is None
        assert "é漢" in written

    @pytest.mark.parametrize("text", ["word " * 30, "漢字" * 40, "x" * 200, "e\u0301" * 60, "", "a  b\n\nc"])
    def test_paragraphs_fit_and_lose_nothing(self, text):
        told = Terminal(width=30).paragraph(text)
        assert all(columns_of(line) <= 30 for line in told.splitlines())
        assert "".join(told.split()) == "".join(text.split())


class TestCompletion:
    def completed(self, shell: Shell, *words: str) -> set[str]:
        script = (
            f'{sys.executable} -m cortex_client completion bash > "$HOME/done" && . "$HOME/done"\n'
            f"COMP_WORDS=(cortex {' '.join(repr(word) for word in words)}); COMP_CWORD={len(words)}\n"
            'complete -p cortex >/dev/null && _cortex && echo "${COMPREPLY[@]}"'
        )
        ended = subprocess.run(
            ["bash", "-euc", script], env=shell.env, capture_output=True, text=True, timeout=30, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return set(ended.stdout.split())

    def test_bash_completes_verbs_steps_options_and_values(self, nobody):
        assert self.completed(nobody, "ex") == {"expand", "export"}
        assert self.completed(nobody, "token", "s") == {"set", "show"}
        assert self.completed(nobody, "find", "--min") == {"--min-relevance"}
        assert self.completed(nobody, "remember", "--kind", "pr") == {"preference", "procedure"}
        assert self.completed(nobody, "remember", "some text", "--author", "") == set(AUTHORS)
        assert self.completed(nobody, "completion", "") >= {"bash", "zsh", "fish"}

    @pytest.mark.parametrize("shell_name", ["zsh", "fish"])
    def test_others_get_a_script_that_they_can_read(self, nobody, shell_name):
        script = nobody("completion", shell_name)
        assert (script.code, "--min-relevance" in script.out or "-l min-relevance" in script.out) == (0, True)
        if shutil.which(shell_name) is None:
            pytest.skip(f"{shell_name} is not here: its script was written, not read by it")
        read = subprocess.run(
            [shell_name, "-n"], input=script.out, text=True, capture_output=True, check=False
        )
        assert (read.returncode, read.stderr) == (0, "")


class TestHelp:
    @pytest.mark.parametrize(
        "verb",
        ["ask", "find", "remember", "expand", "forget", "session", "import", "export", "token", "completion"],
    )
    def test_every_verb_shows_examples(self, nobody, verb):
        told = nobody(verb, "--help")
        assert told.code == 0
        assert re.search(rf"examples:\n( .*\n)*.*cortex {verb}", told.out)

    def test_the_words_of_the_server_are_the_words_of_the_command(self):
        assert set(KINDS) == {kind.value for kind in Kind}
        assert set(LAYERS) == {layer.value for layer in MemoryLayer}
        assert set(AUTHORS) == {author.value for author in Author}
        assert DIRECTIONS == ("document", "neighbors", "more")

    def test_the_package_installs_the_command(self):
        project = tomllib.loads((CLIENT / "pyproject.toml").read_text())
        assert project["project"]["scripts"] == {"cortex": "cortex_client.cli:main"}
        folders = {path.parent.relative_to(CLIENT) for path in CLIENT.glob("cortex_client/**/*.py")}
        assert {str(folder).replace("/", ".") for folder in folders} == set(
            project["tool"]["setuptools"]["packages"]
        )
        assert project["project"]["dependencies"] == []


def test_it_starts_quickly(nobody):
    began = time.monotonic()
    assert nobody("--help").code == 0
    assert time.monotonic() - began < 5
