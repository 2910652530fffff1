"""Tokens are issued and revoked in the admin; the secret is in one answer and nowhere else."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone

from memories.access import caller_for
from memories.admin.linking import list_url, row_url
from memories.models import AccessToken, Scope
from memories.models.vault import token_digest
from tests.admin.rows import decide, listed, shown
from tests.factories import make_token, make_vault

ADD = "admin:memories_accesstoken_add"


def issue(page: Any, of: Any, **fields: Any) -> Any:
    given = {"vault": of.pk, "name": "laptop", "scopes": ["memory:read"], "projects": ""}
    return page.post(reverse(ADD), given | {"expires_at_0": "", "expires_at_1": ""} | fields)


def secret_in(response: Any) -> str:
    found = re.search(r'<pre class="secret"[^>]*>(ctx_[\w-]+)</pre>', response.content.decode())
    assert found
    return found[1]


def test_issuing_shows_a_secret_that_opens_the_vault(page, vault):
    response = issue(page, vault, scopes=["memory:read", "memory:review"], projects="atlas\n\n  zeus \natlas")
    caller = caller_for(secret_in(response))
    assert caller.vault == vault
    assert caller.scopes == {Scope.READ, Scope.REVIEW}
    assert caller.projects == frozenset({"atlas", "zeus"})


def test_the_secret_is_shown_once_and_stored_nowhere(page, vault):
    response = issue(page, vault)
    secret = secret_in(response)
    token = AccessToken.objects.get()
    assert token.digest == token_digest(secret)
    assert "no-store" in response["Cache-Control"]
    later = [listed(page, AccessToken, vault), shown(page, token, "pk"), page.get(reverse("admin:index"))]
    assert not [html for html in later if secret in str(getattr(html, "content", html))]
    assert not [entry for entry in LogEntry.objects.all() if secret in f"{entry} {entry.change_message}"]
    assert not [kept for kept in Session.objects.all() if secret in str(kept.get_decoded())]


def test_the_digest_is_shown_nowhere(page, vault):
    token, _ = make_token(vault)
    assert token.digest not in listed(page, AccessToken, vault) + shown(page, token, "pk")


def test_the_form_offers_the_vault_that_was_looked_at(page, vault):
    other = make_vault("other")
    listed(page, AccessToken, other)
    assert f'value="{other.pk}"' in page.get(reverse(ADD)).content.decode()


def test_a_token_expires_when_the_form_said_so(page, vault):
    until = timezone.now() + timedelta(days=3)
    issue(page, vault, expires_at_0=f"{until:%Y-%m-%d}", expires_at_1=f"{until:%H:%M:%S}")
    assert AccessToken.objects.get().expires_at == until.replace(microsecond=0)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"scopes": []},
        {"scopes": ["everything"]},
        {"vault": "nosuchvault"},
        {"projects": "p" * 101},
        {"expires_at_0": "2020-01-01", "expires_at_1": "00:00"},
    ],
)
def test_a_form_that_makes_no_sense_issues_nothing(page, vault, fields):
    response = issue(page, vault, **fields)
    assert response.status_code == 200
    assert b"errornote" in response.content
    assert not AccessToken.objects.exists()


def test_revoking_closes_a_token_for_good(page, vault):
    token, _ = make_token(vault)
    decide(page, "revoke", token)
    token.refresh_from_db()
    first = token.revoked_at
    assert first is not None
    decide(page, "revoke", token)
    token.refresh_from_db()
    assert token.revoked_at == first
    assert 'value="revoke"' not in shown(page, token, "pk")


def test_the_secret_is_copied_by_a_button_and_selected_whole_without_a_script(page, vault):
    html = issue(page, vault).content.decode()
    assert 'id="secret"' in html
    assert 'data-copy="#secret"' in html


def test_tokens_are_listed_by_whether_they_open_anything(page, vault):
    past = timezone.now() - timedelta(days=1)
    for name, change in (("kept", {}), ("closed", {"revoked_at": past}), ("lapsed", {"expires_at": past})):
        token, _ = make_token(vault, name=name)
        AccessToken.objects.filter(pk=token.pk).update(**change)
    for state, name in (("open", "kept"), ("revoked", "closed"), ("expired", "lapsed")):
        html = listed(page, AccessToken, vault, state=state)
        assert [one for one in ("kept", "closed", "lapsed") if f">{one}</a>" in html] == [name]
        assert f'">{state}</span>' in html


def test_the_last_use_of_a_token_is_told(page, vault):
    _, secret = make_token(vault)
    assert "never" in listed(page, AccessToken, vault)
    caller_for(secret)
    assert "just now" in listed(page, AccessToken, vault)


def test_a_token_is_not_edited(page, vault):
    token, _ = make_token(vault)
    assert page.post(row_url(AccessToken, vault.pk, token.pk), {"scopes": ["vault:admin"]}).status_code == 403
    assert page.get(list_url(AccessToken, vault.pk)).status_code == 200
