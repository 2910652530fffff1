"""The commands of this app: what they do, what they print, and how plainly they fail."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories.core.text import hash_terms, pack_hashes, terms
from memories.models import AccessToken, Memory, SearchDocument, Vault
from tests.clients import Api, api_of
from tests.factories import make_memory, make_vault

pytestmark = pytest.mark.django_db

COMMANDS = [
    "backup",
    "restore",
    "create_vault",
    "create_token",
    "import_memories",
    "export_vault",
    "embed",
    "reindex",
    "sweep",
]


def run(name, *args, **options):
    """Run a command and return what it printed and what it reported."""
    out, err = StringIO(), StringIO()
    call_command(name, *args, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        call_command(name, "--help")
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("usage:")


# -- create_vault --------------------------------------------------------------------------------


def test_a_vault_is_made():
    out, _ = run("create_vault", "ana", "--name", "Ana's", "--language", "german")
    vault = Vault.objects.get(slug="ana")
    assert (vault.name, vault.language) == ("Ana's", "german")
    assert "ana" in out


@pytest.mark.parametrize("args", [["taken"], ["no slug!"], ["x" * 101], ["ok", "--language", "klingon"]])
def test_a_vault_that_cannot_be_is_refused(args):
    make_vault("taken")
    with pytest.raises(CommandError):
        run("create_vault", *args)
    assert Vault.objects.count() == 1


# -- create_token --------------------------------------------------------------------------------


def test_a_token_is_printed_once_and_works():
    vault = make_vault("ana")
    out, err = run("create_token", "--vault", "ana", "--name", "laptop")
    secret = out.strip()
    assert secret.startswith("ctx_")
    assert secret not in err
    assert Api(secret).post("memories", {"content": "It is so"}).status_code == 201
    token = AccessToken.objects.get(vault=vault)
    assert token.scopes == ["memory:read", "memory:write"]
    assert (token.projects, token.expires_at) == ([], None)


def test_a_token_is_limited_as_asked():
    vault = make_vault("ana")
    run(
        *("create_token", "--vault", "ana", "--name", "narrow", "--scope", "memory:read"),
        *("--scope", "memory:review", "--project", "a", "--project", "b", "--expires-in", "30"),
    )
    token = AccessToken.objects.get(vault=vault)
    assert (token.scopes, token.projects) == (["memory:read", "memory:review"], ["a", "b"])
    assert token.expires_at is not None
    assert round((token.expires_at - token.created_at).total_seconds() / 86_400) == 30


@pytest.mark.parametrize(
    "args",
    [
        ["--vault", "nope", "--name", "x"],
        ["--vault", "ana", "--name", ""],
        ["--vault", "ana"],
        ["--vault", "ana", "--name", "x", "--scope", "root"],
        ["--vault", "ana", "--name", "x", "--expires-in", "0"],
        ["--vault", "ana", "--name", "x", "--expires-in", "soon"],
        ["--vault", "ana", "--name", "x", "--project", ""],
    ],
)
def test_a_token_that_cannot_be_is_refused(args):
    make_vault("ana")
    with pytest.raises(CommandError):
        run("create_token", *args)
    assert not AccessToken.objects.exists()


def test_an_unknown_vault_is_named_with_those_that_are_known():
    make_vault("ana")
    with pytest.raises(CommandError, match=r"no vault 'bo'. Known: ana"):
        run("export_vault", "bo")


# -- export_vault, import_memories ---------------------------------------------------------------


def test_a_vault_goes_through_a_file(tmp_path):
    api = api_of()
    api.remember("It is so")
    api.post("captures", {"content": "Ana likes tea. Bo likes coffee."})
    make_vault("target")
    file = tmp_path / "vault.jsonl"
    run("export_vault", api.vault.slug, str(file))
    printed, _ = run("export_vault", api.vault.slug)
    assert file.read_text() == printed
    out, _ = run("import_memories", str(file), "--vault", "target")
    assert "memories        3" in out
    assert "skipped         0" in out
    assert run("export_vault", "target")[0] == printed


def test_skipped_lines_are_told_with_their_reason(tmp_path):
    api = api_of()
    for number in range(30):
        api.remember(f"Fact {number}")
    file = tmp_path / "vault.jsonl"
    run("export_vault", api.vault.slug, str(file))
    out, _ = run("import_memories", str(file), "--vault", api.vault.slug)
    assert "here already" in out
    assert "more (--all-skipped lists them)" in out
    whole, _ = run("import_memories", str(file), "--vault", api.vault.slug, "--all-skipped")
    assert whole.count("here already") == 90


def test_a_file_that_cannot_be_used_is_named(tmp_path):
    make_vault("ana")
    with pytest.raises(CommandError, match="Cannot read"):
        run("import_memories", str(tmp_path / "nowhere"), "--vault", "ana")
    with pytest.raises(CommandError, match="Cannot write"):
        run("export_vault", "ana", str(tmp_path / "no" / "where"))
    (tmp_path / "odd").write_text("hello\n")
    with pytest.raises(CommandError, match="no exported lines"):
        run("import_memories", str(tmp_path / "odd"), "--vault", "ana")


# -- reindex -------------------------------------------------------------------------------------


def test_the_indexes_are_rebuilt_from_the_rows():
    vault = make_vault()
    for number in range(5):
        make_memory(vault, content=f"Kumquat number {number}", index=False)
    api = api_of(vault)
    assert api.get("memories?q=kumquat").json()["results"] == []
    out, err = run("reindex", "--vault", vault.slug)
    assert "5 memories indexed" in out
    assert "5/5" in err
    assert len(api.get("memories?q=kumquat").json()["results"]) == 5
    assert api.get("stats").json()["pending_vectors"] == 0


def test_every_vault_is_reindexed_unless_one_is_named():
    for _ in range(2):
        make_memory(index=False)
    run("reindex")
    assert SearchDocument.objects.count() == 2


def test_an_interrupted_run_goes_on_where_it_stopped():
    vault = make_vault()
    pks = sorted(make_memory(vault, content=f"Fact {n}", index=False).pk for n in range(4))
    run("reindex", "--vault", vault.slug, "--after", str(pks[1]))
    assert set(SearchDocument.objects.values_list("memory_id", flat=True)) == set(pks[2:])
    with pytest.raises(CommandError):
        run("reindex", "--after", "5")


def test_hashed_terms_that_were_read_otherwise_are_written_anew():
    vault = make_vault(language="german")
    right = make_memory(vault, content="Der Schlüssel liegt im Haus")
    old = make_memory(vault, content="Die Schlüssel liegen in den Häusern")
    redacted = make_memory(vault, content="Das Haus ist leer", redacted_at=timezone.now())
    Memory.objects.filter(pk__in=[old.pk, redacted.pk]).update(term_hashes=b"")
    run("reindex", "--vault", vault.slug)
    for memory in (right, old, redacted):
        memory.refresh_from_db()
    assert bytes(old.term_hashes) == pack_hashes(hash_terms(terms(old.content, "german"), "german"))
    assert bytes(right.term_hashes) == pack_hashes(hash_terms(["schlussel", "liegt", "haus"]))
    assert bytes(redacted.term_hashes) == b""


# -- sweep ---------------------------------------------------------------------------------------


def test_a_sweep_tells_what_it_dropped():
    vault = make_vault()
    make_memory(vault, content="Over", expires_at="2020-01-01T00:00:00Z")
    make_memory(vault, content="Stays")
    out, _ = run("sweep", "--vault", vault.slug)
    assert "1 expired memories" in out
    assert list(Memory.objects.values_list("content", flat=True)) == ["Stays"]
    assert "nothing to drop" in run("sweep", "--vault", vault.slug)[0]
