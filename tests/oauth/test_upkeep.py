"""The list of connected clients, its one decision, and what a sweep takes away."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from tests.oauth.conftest import manage
from tests.oauth.speaking import back, registered


@contextmanager
def database(server) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(server.folder / "cortex.sqlite3", timeout=20)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def test_a_person_sees_who_is_connected_and_ends_it(server, ana):
    named = registered(server.url, client_name="Listed Chat")
    told = named.connect(ana, vault="Team Red")
    with database(server) as rows:
        (vault,) = rows.execute("SELECT id FROM memories_vault WHERE slug = 'team-red'").fetchone()
        (key,) = rows.execute(
            "SELECT c.id FROM oauth_consent c JOIN oauth2_provider_application a ON a.id = c.client_id"
            " WHERE a.client_id = ?",
            (named.client_id,),
        ).fetchone()
    address = f"/admin/oauth/consent/?vault={vault}"
    page = ana.browser.get(address).text
    assert "Listed Chat" in page
    assert "connected" in page
    assert "Listed Chat" in ana.browser.get(f"/admin/oauth/consent/{vault}.{key}/change/").text
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[0]
    form = {"csrfmiddlewaretoken": token, "action": "revoke", "_selected_action": str(key)}
    assert ana.browser.post(address, data=form).status_code == 302
    assert named.call(told["access_token"]).status_code == 401
    assert named.refresh(told["refresh_token"]).json()["error"] == "invalid_grant"
    assert "revoked" in ana.browser.get(address).text


def test_every_write_names_its_vault(server, ana, client):
    told = client.connect(ana)
    client.call(told["access_token"])
    client.refresh(told["refresh_token"])
    manage(server, "sweep")
    statements = set((server.folder / "statements.sql").read_text().splitlines())
    writes = [sql for sql in statements if sql.startswith(("INSERT", "UPDATE", "DELETE"))]
    assert {sql.split()[0] for sql in writes} == {"INSERT", "UPDATE", "DELETE"}
    assert [sql for sql in writes if "vault_id" not in sql] == []


def test_the_librarys_own_pages_are_not_there(ana):
    assert "oauth2_provider" not in ana.browser.get("/admin/").text
    assert ana.browser.get("/admin/oauth2_provider/accesstoken/").status_code == 404


def test_a_sweep_drops_what_nobody_uses_and_keeps_what_is_used(server, ana):
    used, unused, unredeemed = (
        registered(server.url, client_name=name) for name in ("used", "unused", "asked")
    )
    told = used.connect(ana)
    back(ana.answer(unredeemed.request()))
    long_ago = "2020-01-01 00:00:00"
    with database(server) as rows:
        for client in (used, unused, unredeemed):
            aged = (long_ago, client.client_id)
            rows.execute("UPDATE oauth2_provider_application SET updated = ? WHERE client_id = ?", aged)
            rows.execute(
                "UPDATE oauth_consent SET created_at = ? WHERE family IS NULL AND client_id ="
                " (SELECT id FROM oauth2_provider_application WHERE client_id = ?)",
                aged,
            )
    assert "unused clients" in manage(server, "sweep")
    with database(server) as rows:
        kept = {
            client_id for (client_id,) in rows.execute("SELECT client_id FROM oauth2_provider_application")
        }
    assert used.client_id in kept
    assert not {unused.client_id, unredeemed.client_id} & kept
    assert used.call(told["access_token"]).status_code == 200


def test_the_tables_are_as_the_models_say(server):
    assert "No changes" in manage(server, "makemigrations", "--check", "--dry-run", "oauth")
