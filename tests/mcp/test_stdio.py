"""`manage.py mcp_stdio`: whose rights it has, which lines it answers, and what it does with the others."""

import pytest
from django.core.management import CommandError

from contextpack.core.mcp import MODERN
from memories.models import AccessToken, Memory, Scope, Vault
from tests.factories import make_token, make_vault
from tests.mcp.speaking import message, modern, over_stdio

pytestmark = pytest.mark.django_db

CALL = message("tools/call", name="remember_this", arguments={"content": "Oak is hard."})


def test_stdio_speaks_both_eras_and_forgets_neither(monkeypatch):
    sent = [
        modern("server/discover"),
        message("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={}),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        [message("ping")],
        b"\n",
        b"{\n",
        modern("tools/list"),
        message("tools/list"),
    ]
    told = over_stdio(monkeypatch, *sent)
    discovered, initialized, batch, garbled, modern_list, plain_list = told
    assert discovered["result"]["supportedVersions"][0] == MODERN[0]
    assert initialized["result"]["protocolVersion"] == "2025-06-18"
    assert (batch["error"]["code"], garbled["error"]["code"], garbled["id"]) == (-32600, -32700, None)
    assert modern_list["result"]["tools"] == plain_list["result"]["tools"]


def test_stdio_reads_on_behind_a_message_that_is_too_long(monkeypatch, settings):
    settings.BODY_LIMIT_BYTES = 100
    told = over_stdio(monkeypatch, message("ping"), b" " * 250 + b"\n", message("ping"))
    assert [answer.get("error", {}).get("code") for answer in told] == [None, -32700, None]


class TestRights:
    def test_without_a_token_it_reads_and_writes_in_the_default_vault_and_reviews_nothing(
        self, monkeypatch, settings
    ):
        settings.CORTEX_AUTO_APPROVE = False
        listed, called = over_stdio(monkeypatch, message("tools/list"), CALL)
        assert len(listed["result"]["tools"]) == 9
        assert [told["status"] for told in called["result"]["structuredContent"]["memories"]] == ["pending"]
        assert set(Memory.objects.values_list("vault__slug", flat=True)) == {"default"}

    def test_it_takes_another_vault_by_name(self, monkeypatch):
        make_vault("red")
        over_stdio(monkeypatch, CALL, vault="red")
        assert set(Memory.objects.values_list("vault__slug", flat=True)) == {"red"}
        with pytest.raises(CommandError, match="no vault 'blue'"):
            over_stdio(monkeypatch, CALL, vault="blue")
        assert not Vault.objects.filter(slug="blue").exists()

    def test_a_token_has_its_own_vault_and_scopes(self, monkeypatch):
        _, secret = make_token(scopes=[Scope.READ])
        monkeypatch.setenv("CORTEX_TOKEN", secret)
        listed, refused = over_stdio(monkeypatch, message("tools/list"), CALL)
        assert len(listed["result"]["tools"]) == 5
        assert refused["error"]["code"] == -32602

    def test_a_token_that_opens_nothing_is_told_at_once(self, monkeypatch):
        with pytest.raises(CommandError, match="unknown, expired or revoked"):
            over_stdio(monkeypatch, token="ctx_wrong")

    def test_a_token_that_is_revoked_meanwhile_ends_it(self, monkeypatch):
        _, secret = make_token()
        monkeypatch.setattr(
            AccessToken, "is_valid_at", lambda self, now, left=[1, 1]: bool(left and left.pop())
        )
        with pytest.raises(CommandError, match="unknown, expired or revoked"):
            over_stdio(monkeypatch, message("ping"), message("ping"), token=secret)


def test_a_fault_of_ours_is_told_and_does_not_end_it(monkeypatch):
    def fail(*args: object, **named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("contextpack.mcp.call_tool", fail)
    failed, alive = over_stdio(monkeypatch, CALL, message("ping"))
    assert (failed["id"], failed["error"]["code"]) == (1, -32603)
    assert alive["result"] == {}
