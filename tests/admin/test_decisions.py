"""What is decided in the admin goes through the writing verbs, under the person's own name."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from memories.admin import deciding
from memories.admin.linking import list_url, row_url
from memories.models import (
    Capture,
    Decision,
    Entity,
    Memory,
    ProposedSupersession,
    Source,
    Supersession,
    Tombstone,
)
from memories.search import fulltext
from tests.admin.rows import decide, listed, make_conflict, make_pin, mention, shown, told
from tests.factories import make_memory, make_vault


def test_approving_names_the_person_and_carries_out_what_was_proposed(page, vault):
    old = make_memory(vault, content="The launch is in May", author="user")
    new = make_memory(
        vault, content="The launch is in June", status="pending", flags=["contradicts_user"], author="agent"
    )
    ProposedSupersession.objects.create(vault=vault, old=old, new=new, actor="token:1", reason="heard so")
    response = decide(page, "approve", new)
    assert told(response) == ["1 memory approved."]
    old.refresh_from_db()
    new.refresh_from_db()
    assert (new.status, new.flags, new.reviewed_by) == ("approved", [], "user:ana")
    assert old.superseded_by == new.ref
    assert Supersession.objects.get(vault_id=vault.pk).actor == "user:ana"


def test_archiving_many_says_what_was_done_and_what_was_refused(page, vault):
    fresh = [make_memory(vault, content=f"Number {number}") for number in range(3)]
    archived = make_memory(vault, content="Archived before", status="archived")
    response = decide(page, "archive", *fresh, archived)
    done, refused = told(response)
    assert done == "3 memories archived."
    assert refused.startswith(f"{archived.ref} was not archived")


@pytest.mark.parametrize("action", ["redact", "forget"])
def test_what_cannot_be_undone_asks_first(page, vault, action):
    memory = make_memory(vault, content="The door code is 1234")
    response = decide(page, action, memory)
    assert b"No way back" in response.content
    assert b"1234" not in response.content
    memory.refresh_from_db()
    assert memory.content == "The door code is 1234"


def test_redacting_takes_the_text_away_everywhere(page, vault):
    memory = make_memory(vault, content="The door code is 1234")
    pin = make_pin(vault, memory.ref)
    decide(page, "redact", memory, confirmed="1")
    memory.refresh_from_db()
    pin.refresh_from_db()
    assert memory.content == ""
    assert memory.reviewed_by == "user:ana"
    assert bytes(pin.body) == b""
    assert not fulltext.lookup("door code", vault_id=vault.pk, language=vault.language)
    assert "1234" not in listed(page, Memory, vault) + shown(page, memory)


def test_forgetting_leaves_a_tombstone_and_says_what_was_erased(page, vault):
    memory = make_memory(vault, content="The door code is 1234")
    mention(memory, "Door")
    capture = Capture.objects.create(vault=vault, content="The door code is 1234")
    Source.objects.create(vault=vault, memory=memory, capture=capture, url=f"cortex-capture://{capture.ref}")
    messages = told(decide(page, "forget", memory, confirmed="1"))
    assert messages[0] == "1 memory forgotten."
    assert "memories 1" in messages[1]
    assert "captures 1" in messages[1]
    assert len(messages) == 2  # no probe found anything
    assert not Memory.objects.filter(vault_id=vault.pk).exists()
    assert Tombstone.objects.get(vault_id=vault.pk).actor == "user:ana"


def test_forgetting_what_is_gone_already_is_told(page, vault):
    memory = make_memory(vault)
    decide(page, "forget", memory, confirmed="1")
    response = decide(page, "forget", memory, confirmed="1")
    assert response.status_code == 200


def test_the_page_of_a_row_offers_what_still_makes_a_difference(page, vault):
    def offered(memory: Memory) -> set[str]:
        html = shown(page, memory)
        return {name for name in ("approve", "archive", "redact", "forget") if f'value="{name}"' in html}

    assert offered(make_memory(vault, content="a")) == {"archive", "redact", "forget"}
    assert offered(make_memory(vault, content="b", status="pending")) == {
        "approve",
        "archive",
        "redact",
        "forget",
    }
    assert offered(make_memory(vault, content="c", withheld=True)) == {
        "approve",
        "archive",
        "redact",
        "forget",
    }


def test_a_decision_on_the_page_of_a_row_comes_back_to_it(page, vault):
    memory = make_memory(vault, status="pending")
    response = decide(page, "approve", memory, from_page="1")
    assert response.redirect_chain[-1][0] == row_url(Memory, vault.pk, memory.ref)
    assert response.status_code == 200


@pytest.mark.parametrize(("action", "winner"), [("keep_left", "left"), ("keep_right", "right")])
def test_keeping_a_side_supersedes_the_other(page, vault, action, winner):
    sides = {
        "left": make_memory(vault, content="Rate is 60"),
        "right": make_memory(vault, content="Rate is 600"),
    }
    conflict = make_conflict(sides["left"], sides["right"])
    decide(page, action, conflict)
    conflict.refresh_from_db()
    kept = sides.pop(winner)
    (other,) = sides.values()
    other.refresh_from_db()
    assert (conflict.resolution, conflict.resolved_by) == (kept.ref, "user:ana")
    assert other.superseded_by == kept.ref


def test_keeping_both_only_clears_the_conflict(page, vault):
    left, right = make_memory(vault, content="Rate is 60"), make_memory(vault, content="Rate is 600")
    conflict = make_conflict(left, right)
    decide(page, "keep_both", conflict)
    conflict.refresh_from_db()
    assert conflict.resolution == "both"
    assert not Memory.objects.filter(vault_id=vault.pk, superseded_by__isnull=False).exists()


def test_a_resolved_conflict_is_not_resolved_again(page, vault):
    conflict = make_conflict(make_memory(vault, content="a"), make_memory(vault, content="b"))
    decide(page, "keep_both", conflict)
    assert "not resolved" in told(decide(page, "keep_left", conflict))[0]
    assert 'value="keep_left"' not in shown(page, conflict).partition('id="content-main"')[2]


def test_a_decision_is_in_the_log_of_the_row_without_its_text(page, vault):
    memory = make_memory(vault, content="The door code is 1234")
    decide(page, "archive", memory)
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.object_repr) == (f"{vault.pk}.{memory.ref}", memory.ref)
    assert entry.get_change_message() == "Archived."
    history = row_url(Memory, vault.pk, memory.ref).replace("/change/", "/history/")
    assert "Archived." in page.get(history).content.decode()
    assert entry.get_admin_url() in page.get(reverse("admin:index")).content.decode()


def test_too_many_at_once_do_nothing(page, vault, monkeypatch):
    monkeypatch.setattr(deciding, "ROWS_LIMIT", 2)
    rows = [make_memory(vault, content=f"Number {number}") for number in range(3)]
    for action in ("archive", "redact"):
        assert "nothing was done" in told(decide(page, action, *rows))[0]
    assert Memory.objects.filter(vault_id=vault.pk, status="approved").count() == 3


# -- Who may -------------------------------------------------------------------------------------


@pytest.fixture
def reader(db) -> Client:
    """A member of staff who may look at memories and conflicts, no more."""
    person = User.objects.create_user("ben", password="correct horse battery", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=("view_memory", "view_conflict")))
    client = Client()
    client.force_login(person)
    return client


def test_who_may_only_look_decides_nothing(reader, vault):
    memory = make_memory(vault, status="pending")
    assert 'value="approve"' not in shown(reader, memory)
    for action in ("approve", "archive", "redact", "forget"):
        decide(reader, action, memory, confirmed="1")
    memory.refresh_from_db()
    assert memory.status == "pending"


def test_who_may_only_look_sees_no_other_table(reader, vault):
    assert reader.get(list_url(Tombstone, vault.pk)).status_code == 403
    assert reader.get(list_url(Memory, vault.pk)).status_code == 200


def test_a_stranger_is_led_to_the_login(client, vault):
    memory = make_memory(make_vault("secret"), content="The door code is 1234")
    for address in (list_url(Memory, vault.pk), row_url(Memory, memory.vault_id, memory.ref)):
        response = client.get(address)
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("admin:login"))


def test_declining_and_undoing_are_the_same_verbs(page, vault):
    old = make_memory(vault, content="The launch is in May", author="user")
    new = make_memory(vault, content="The launch is in June", status="pending", author="agent")
    ProposedSupersession.objects.create(vault=vault, old=old, new=new, actor="token:1", reason="heard so")
    assert told(decide(page, "decline", new)) == ["1 memory declined."]
    assert not ProposedSupersession.objects.filter(vault=vault).exists()
    assert "decline" in shown(page, new)
    assert told(decide(page, "undo", new)) == ["1 memory put back."]
    new.refresh_from_db()
    assert (new.status, new.reviewed_by) == ("pending", "")
    assert ProposedSupersession.objects.get(vault=vault).reason == "heard so"
    assert [each.actor for each in Decision.objects.filter(vault=vault)] == ["user:ana"] * 2
    assert told(decide(page, "undo", new))[0].startswith(f"{new.ref} was not put back: nothing was decided")


def test_forgetting_an_entity_asks_first_and_says_what_went(page, vault):
    memories = [make_memory(vault, content=f"Zebulon keeps ledger {n}") for n in range(3)]
    for memory in memories:
        mention(memory, "Zebulon")
    entity = Entity.objects.get(vault=vault)
    assert b"No way back" in decide(page, "forget", entity).content
    assert Memory.objects.filter(vault=vault).count() == 3
    done = told(decide(page, "forget", entity, confirmed="1"))
    assert done[:2] == ["1 entity forgotten.", "Memories forgotten: 3."]
    assert not Memory.objects.filter(vault=vault).exists()
    assert not Entity.objects.filter(vault=vault).exists()
