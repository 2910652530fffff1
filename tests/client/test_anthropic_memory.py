"""Anthropic's memory tool over a live server: what each command does to files that are memories."""

import pytest

from cortex_client import Cortex
from cortex_client.anthropic_memory import TOOL, MemoryFiles

pytestmark = pytest.mark.engine_free

NOTES = "/memories/notes.md"


@pytest.fixture
def files(cortex: Cortex) -> MemoryFiles:
    return MemoryFiles(cortex, project="ana")


def done(files: MemoryFiles, command: str, **asked: object) -> str:
    text, failed = files.run({"command": command, **asked})
    assert not failed, text
    return text


def refused(files: MemoryFiles, command: str, **asked: object) -> str:
    text, failed = files.run({"command": command, **asked})
    assert failed, text
    assert text.startswith("Error: ")
    return text


def content(files: MemoryFiles, path: str) -> str:
    return "\n".join(line.partition("\t")[2] for line in done(files, "view", path=path).splitlines()[1:])


def test_it_is_the_tool_that_the_messages_api_knows():
    assert TOOL == {"type": "memory_20250818", "name": "memory"}


class TestFiles:
    def test_what_is_created_is_viewed_as_it_was_written(self, files):
        done(files, "create", path=NOTES, file_text="  Ana\r\n\n\tlikes tea  \n")
        assert content(files, NOTES) == "  Ana\n\n\tlikes tea  \n"
        assert "     2\t" in done(files, "view", path=NOTES)
        assert done(files, "view", path=NOTES, view_range=[3, -1]).splitlines()[1:] == [
            "     3\t\tlikes tea  ",
            "     4\t",
        ]

    def test_the_root_is_an_empty_folder_at_first_and_lists_two_levels(self, files):
        assert done(files, "view", path="/memories").splitlines()[1:] == ["0B\t/memories"]
        for path in ("/memories/b/c/d.md", "/memories/a.md"):
            done(files, "create", path=path, file_text="12345")
        assert done(files, "view", path="/memories/").splitlines()[1:] == [
            "10B\t/memories",
            "5B\t/memories/a.md",
            "5B\t/memories/b/",
            "5B\t/memories/b/c/",
        ]

    def test_what_is_created_asks_nothing_of_the_files_elsewhere(self, cortex, files, monkeypatch):
        for n in range(3):
            done(files, "create", path=f"/memories/old/{n}.md", file_text="a")
            done(files, "str_replace", path=f"/memories/old/{n}.md", old_str="a", new_str="b")
        listed = []
        ask = cortex.memories

        def noting(**asked):
            page = ask(**asked)
            listed.extend(page["results"])
            return page

        monkeypatch.setattr(cortex, "memories", noting)
        done(files, "create", path="/memories/new/deep/notes.md", file_text="c")
        assert listed == []
        assert len(done(files, "view", path="/memories/new").splitlines()) == 4
        assert len(listed) == 1

    def test_files_of_the_same_text_stay_apart(self, files):
        for path in (NOTES, "/memories/other.md"):
            done(files, "create", path=path, file_text="The same.")
        done(files, "str_replace", path=NOTES, old_str="same", new_str="Same")
        assert (content(files, NOTES), content(files, "/memories/other.md")) == ("The Same.", "The same.")

    def test_a_change_supersedes_and_may_go_back(self, cortex, files):
        done(files, "create", path=NOTES, file_text="tea\ncoffee\n")
        assert "     1\tcocoa" in done(files, "str_replace", path=NOTES, old_str="tea", new_str="cocoa")
        done(files, "str_replace", path=NOTES, old_str="cocoa", new_str="tea")
        assert content(files, NOTES) == "tea\ncoffee\n"
        (row,) = cortex.memories(active=True)["results"]
        assert len(cortex.memory(row["ref"])["chain"]) == 3

    @pytest.mark.parametrize(
        ("line", "text"),
        [(0, "new\na\nb"), (1, "a\nnew\nb"), (2, "a\nb\nnew\n")],
        ids=["first", "middle", "last"],
    )
    def test_a_line_is_inserted_behind_the_one_that_is_named(self, files, line, text):
        done(files, "create", path=NOTES, file_text="a\nb")
        done(files, "insert", path=NOTES, insert_line=line, insert_text="new")
        assert content(files, NOTES) == text

    def test_a_deleted_file_is_erased_with_its_history(self, cortex, files):
        done(files, "create", path="/memories/old.md", file_text="the quarry")
        done(files, "rename", old_path="/memories/old.md", new_path=NOTES)
        done(files, "str_replace", path=NOTES, old_str="quarry", new_str="mill")
        done(files, "delete", path=NOTES)
        assert cortex.memories()["results"] == []
        assert "does not exist" in refused(files, "view", path=NOTES)

    def test_folders_move_and_go_whole(self, files):
        for name in ("a.md", "deep/b.md"):
            done(files, "create", path=f"/memories/office/{name}", file_text=name)
        done(files, "rename", old_path="/memories/office", new_path="/memories/home")
        assert content(files, "/memories/home/deep/b.md") == "deep/b.md"
        refused(files, "view", path="/memories/office")
        done(files, "create", path="/memories/office", file_text="a file now")
        done(files, "delete", path="/memories/home")
        assert done(files, "view", path="/memories").splitlines()[2:] == ["10B\t/memories/office"]


class TestWhatIsKeptApart:
    def test_another_project_has_other_files(self, cortex, files):
        done(files, "create", path=NOTES, file_text="of Ana")
        others = MemoryFiles(cortex, project="bob")
        refused(others, "view", path=NOTES)
        done(others, "create", path=NOTES, file_text="of Bob")
        done(others, "delete", path=NOTES)
        assert content(files, NOTES) == "of Ana"

    def test_other_agents_find_what_was_noted(self, cortex, files):
        done(files, "create", path=NOTES, file_text="Ana keeps the key to the mill.")
        (item,) = cortex.query(find="key to the mill")["items"]
        assert "Ana keeps the key" in item["content"]

    def test_a_person_who_redacts_takes_the_words_and_the_file_is_gone(self, cortex, files):
        done(files, "create", path=NOTES, file_text="Ana keeps the key.")
        (row,) = cortex.memories()["results"]
        cortex._send("POST", f"/v1/memories/{row['ref']}/redact", {})
        assert "does not exist" in refused(files, "view", path=NOTES)

    def test_a_secret_is_masked_and_the_model_is_told(self, files):
        told = done(files, "create", path=NOTES, file_text="password: hunter2hunter2\nAKIAIOSFODNN7EXAMPLE\n")
        assert "masked" in told
        assert "AKIAIOSFODNN7EXAMPLE" not in content(files, NOTES)


class TestRefusals:
    @pytest.mark.parametrize(
        "path",
        [
            "",
            "/",
            "/etc/passwd",
            "/memoriesx/a",
            "memories/a",
            "/memories/../etc/passwd",
            "/memories/a/../../b",
            "/memories/./a",
            "/memories/%2e%2e/a",
            "/memories/..\\a",
            "/memories/a\nb",
            "/memories/a\x00",
            "/memories/ a",
        ],
    )
    @pytest.mark.parametrize("command", ["view", "create", "delete", "rename"])
    def test_no_path_leaves_the_folder(self, files, command, path):
        asked = {
            "view": {"path": path},
            "create": {"path": path, "file_text": "x"},
            "delete": {"path": path},
            "rename": {"old_path": NOTES, "new_path": path},
        }[command]
        assert "/memories" in refused(files, command, **asked)

    def test_the_root_cannot_be_changed(self, files):
        for command, asked in (
            ("delete", {"path": "/memories"}),
            ("create", {"path": "/memories/", "file_text": "x"}),
            ("rename", {"old_path": "/memories", "new_path": "/memories/x"}),
        ):
            assert "itself cannot be changed" in refused(files, command, **asked)

    def test_what_does_not_fit_is_told_so_that_the_next_try_can_be_right(self, files):
        done(files, "create", path=NOTES, file_text="tea\ntea\n")
        for message, command, asked in (
            ("already exists", "create", {"path": NOTES, "file_text": "x"}),
            ("is a file, not a directory", "create", {"path": f"{NOTES}/x", "file_text": "x"}),
            ("in lines: 1, 2", "str_replace", {"path": NOTES, "old_str": "tea", "new_str": "x"}),
            ("did not appear", "str_replace", {"path": NOTES, "old_str": "milk", "new_str": "x"}),
            ("did not appear", "str_replace", {"path": NOTES, "old_str": "", "new_str": "x"}),
            ("[0, 2]", "insert", {"path": NOTES, "insert_line": 3, "insert_text": "x"}),
            ("[0, 2]", "insert", {"path": NOTES, "insert_line": "1", "insert_text": "x"}),
            ("does not exist", "insert", {"path": "/memories/none", "insert_line": 0, "insert_text": "x"}),
            ("does not exist", "delete", {"path": "/memories/none"}),
            ("does not exist", "rename", {"old_path": "/memories/none", "new_path": "/memories/x"}),
            ("cannot be moved", "rename", {"old_path": NOTES, "new_path": f"{NOTES}/x"}),
            ("two line numbers", "view", {"path": NOTES, "view_range": [1]}),
            ("there is no command", "move", {}),
            ("missing a required argument", "create", {"path": NOTES}),
            ("unexpected keyword", "view", {"path": NOTES, "mode": "x"}),
            ("must be a text", "create", {"path": NOTES, "file_text": 7}),
            ("Cortex refused", "create", {"path": "/memories/long", "file_text": "x" * 100_001}),
        ):
            assert message in refused(files, command, **asked)
