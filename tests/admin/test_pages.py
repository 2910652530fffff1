"""What the page of a row tells: everything that explains it, nothing that could be edited."""

import re
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories.admin.evidence import WITHHELD_TEXT
from memories.admin.linking import list_url, row_url
from memories.models import Alias, Conflict, Entity, Memory, ProposedSupersession, Source, Supersession
from memories.writing.forgetting import forget
from memories.writing.superseding import supersede
from tests.admin.rows import (
    NOW,
    left_out,
    listed,
    make_capture,
    make_conflict,
    make_pin,
    make_receipt,
    make_session,
    make_tombstone,
    mention,
    served,
    shown,
)
from tests.factories import make_caller, make_memory, make_vault

# -- Memories ------------------------------------------------------------------------------------


def test_a_memorys_page_shows_its_text_sources_and_entities(page, vault):
    memory = make_memory(vault, content="Ana leads team red", summary="Ana leads", tags=["people"])
    mention(memory, "Ana", "Team Red")
    html = shown(page, memory)
    assert "Ana leads team red" in html
    assert 'href="https://example.org/note"' in html
    assert all(row_url(Entity, vault.pk, entity.ref) in html for entity in Entity.objects.all())


def test_a_memorys_page_shows_the_whole_chain_with_who_when_and_why(page, vault):
    caller = make_caller(vault, actor="token:7")
    first = make_memory(vault, content="The launch is on Monday")
    second = supersede(caller, first.ref, content="The launch is on Tuesday", reason="it rained", now=NOW)
    third = supersede(
        caller, second.memory.ref, content="The launch is on Friday", reason="it snowed", now=NOW
    )
    for memory in (first, second.memory, third.memory):
        html = shown(page, memory)
        chain = html[html.index('id="chain"') : html.index('id="sources"')]
        refs = [first.ref, second.memory.ref, third.memory.ref]
        assert [chain.index(f"on {day}") for day in ("Monday", "Tuesday", "Friday")] == sorted(
            chain.index(f"on {day}") for day in ("Monday", "Tuesday", "Friday")
        )
        assert all(ref in chain for ref in refs)
        assert "it rained" in chain
        assert "it snowed" in chain
        assert "token:7" in chain


def test_a_long_chain_costs_no_more_statements_than_a_short_one(page, vault):
    def statements(memory: Memory) -> int:
        with CaptureQueriesContext(connection) as seen:
            shown(page, memory)
        return len(seen)

    chain = [make_memory(vault, content=f"Version {number}") for number in range(130)]
    for old, new in pairwise(chain[:4]):
        _link(old, new)
    statements(chain[1])  # the first visit remembers the vault
    short = statements(chain[1])
    for old, new in pairwise(chain[3:]):
        _link(old, new)
    assert statements(chain[65]) == short
    html = shown(page, chain[65])
    assert "15 older ones are not shown" in html
    assert "14 newer ones are not shown" in html


def _link(old: Memory, new: Memory) -> None:
    Memory.objects.filter(vault_id=old.vault_id, pk=old.pk).update(superseded_by=new.ref, superseded_at=NOW)
    Supersession.objects.create(vault_id=old.vault_id, old=old, new=new, actor="operator", at=NOW)


def test_a_memorys_page_shows_conflicts_and_proposals(page, vault):
    left, right = make_memory(vault, content="Rate is 60"), make_memory(vault, content="Rate is 600")
    conflict = make_conflict(left, right)
    ProposedSupersession.objects.create(
        vault_id=vault.pk, old=left, new=right, actor="token:9", reason="it was measured"
    )
    html = shown(page, left)
    assert row_url(Conflict, vault.pk, conflict.ref) in html
    assert "Rate is 600" in html
    assert "it was measured" in html
    assert "token:9" in html


def test_a_memory_offers_no_field_to_edit(page, vault):
    memory = make_memory(vault, content="Fixed")
    html = shown(page, memory)
    assert 'name="content"' not in html
    assert "<textarea" not in html
    response = page.post(row_url(Memory, vault.pk, memory.ref), {"content": "Changed", "_save": "Save"})
    assert response.status_code == 403
    memory.refresh_from_db()
    assert memory.content == "Fixed"


@pytest.mark.parametrize("what", ["add/", "{key}/delete/"])
def test_memories_are_neither_added_nor_deleted_in_the_admin(page, vault, what):
    memory = make_memory(vault)
    page_url = row_url(Memory, vault.pk, memory.ref).removesuffix("change/")
    address = (
        list_url(Memory, vault.pk).partition("?")[0] + "add/" if what == "add/" else f"{page_url}delete/"
    )
    assert page.get(address).status_code == 403
    assert page.post(address, {"post": "yes"}).status_code == 403
    assert Memory.objects.count() == 1


def test_an_expired_memory_shows_that_it_is_but_not_its_text(page, vault):
    memory = make_memory(
        vault, content="The door code is 1234", expires_at=timezone.now() - timedelta(hours=1)
    )
    for html in (shown(page, memory), listed(page, Memory, vault)):
        assert "1234" not in html
        assert WITHHELD_TEXT in html
        assert "expired" in html


def test_a_memory_says_what_keeps_it_out_of_packs(page, vault):
    memory = make_memory(
        vault,
        content="Odd",
        status="pending",
        withheld=True,
        flags=["instruction_like"],
        superseded_by="mem_x",
    )
    for html in (shown(page, memory), listed(page, Memory, vault)):
        for name in ("pending", "withheld", "superseded", "instruction_like"):
            assert re.search(rf'<span class="(badge|cx-chip [\w-]+)">{name}</span>', html)


def test_a_captures_page_shows_its_text_and_who_cites_it(page, vault):
    capture = make_capture(vault, "A long talk about the launch", url="https://example.org/talk")
    memory = make_memory(vault, content="The launch was discussed")
    url = f"cortex-capture://{capture.ref}"
    Source.objects.create(vault=vault, memory=memory, capture=capture, url=url)
    html = shown(page, capture)
    assert "A long talk about the launch" in html
    assert 'href="https://example.org/talk"' in html
    assert row_url(Memory, vault.pk, memory.ref) in html
    assert row_url(type(capture), vault.pk, capture.ref) in shown(page, memory)


def test_an_entitys_page_shows_its_names_and_memories(page, vault):
    memory = make_memory(vault, content="Ana met the mayor")
    mention(memory, "Ana")
    entity = Entity.objects.get(vault_id=vault.pk)
    Alias.objects.create(vault=vault, entity=entity, name="Annie", key="annie")
    html = shown(page, entity)
    assert "Annie" in html
    assert "Ana met the mayor" in html
    assert "Annie" in listed(page, Entity, vault)


def test_a_conflicts_page_shows_both_sides(page, vault):
    left, right = make_memory(vault, content="Rate is 60"), make_memory(vault, content="Rate is 600")
    html = shown(page, make_conflict(left, right))
    assert "Rate is 60<" in html
    assert "Rate is 600<" in html


def test_a_tombstones_page_tells_that_and_by_whom(page, vault):
    html = shown(page, make_tombstone(vault, "mem_gone"))
    assert "mem_gone" in html
    assert "operator" in html


# -- Sessions ------------------------------------------------------------------------------------


def test_a_sessions_page_shows_known_set_trajectory_and_deltas(page, vault):
    first, second = make_memory(vault, content="Held one"), make_memory(vault, content="Held two")
    make_session(vault, first.ref)
    session = make_session(vault, first.ref, second.ref, question="q2")
    html = shown(page, session, "pk")
    assert "Known: 2" in html
    assert "Held one" in html
    assert "Held two" in html
    deltas = html[html.index('id="deltas"') : html.index('id="centroid"')]
    assert deltas.count("<tr>") == 3  # the head and two deltas
    assert deltas.count(row_url(Memory, vault.pk, second.ref)) == 1
    assert "launch" in html[html.index('id="centroid"') :]


def test_a_session_names_no_forgotten_memory(page, vault):
    kept, gone = make_memory(vault, content="Kept"), make_memory(vault, content="Gone soon")
    session = make_session(vault, kept.ref, gone.ref)
    forget(make_caller(vault), gone.ref, now=NOW)
    html = shown(page, session, "pk")
    assert gone.ref not in html
    assert kept.ref in html
    assert "1 memories that were forgotten or redacted" in html


def test_a_session_of_many_memories_costs_no_more_statements(page, vault):
    def statements(session_id: str, count: int) -> int:
        refs = [
            make_memory(vault, content=f"{session_id} {number}", index=False).ref for number in range(count)
        ]
        session = make_session(vault, *refs, session_id=session_id)
        shown(page, session, "pk")
        with CaptureQueriesContext(connection) as seen:
            shown(page, session, "pk")
        return len(seen)

    assert statements("few", 1) == statements("many", 40)


# -- Receipts and pins ---------------------------------------------------------------------------


def test_a_receipts_page_shows_each_items_why_and_folded_refs(page, vault):
    item, folded = make_memory(vault, content="Launch in May"), make_memory(vault, content="In May we launch")
    receipt = make_receipt(vault, items=[served(item.ref, folded_refs=[folded.ref])])
    html = shown(page, receipt)
    items = html[html.index('id="items"') : html.index('id="fates"')]
    for told in ("Launch in May", "0.625 (rrf)", "fts, entity", "launch", "summary", "facts", "0.0125"):
        assert told in items
    assert row_url(Memory, vault.pk, folded.ref) in items


def test_a_receipts_page_tells_why_others_are_not_in_the_pack(page, vault):
    bought, lost, twin = (make_memory(vault, content=text) for text in ("Bought", "Lost", "Twin"))
    fates = [left_out(lost.ref), left_out(twin.ref, outcome="folded_into", into=bought.ref)]
    html = shown(page, make_receipt(vault, items=[served(bought.ref)], fates=fates))
    told = html[html.index('id="fates"') : html.index('id="why-not"')]
    assert "outbid" in told
    assert "13" in told
    assert f'folded_into <a class="ref" href="{row_url(Memory, vault.pk, bought.ref)}"' in told


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "archived"}, "archived"),
        ({"status": "pending"}, "pending"),
        ({}, "not_retrieved"),
    ],
)
def test_a_receipt_answers_why_a_memory_is_not_in_it(page, vault, fields, reason):
    memory, receipt = make_memory(vault, **fields), make_receipt(vault)
    response = page.get(row_url(type(receipt), vault.pk, receipt.ref), {"why_not": memory.ref})
    assert f"<strong>{reason}</strong>" in response.content.decode()


def test_a_receipt_says_nothing_of_another_vaults_memory(page, vault):
    theirs, receipt = make_memory(make_vault("other")), make_receipt(vault)
    response = page.get(row_url(type(receipt), vault.pk, receipt.ref), {"why_not": theirs.ref})
    assert "<strong>unknown</strong>" in response.content.decode()


def test_a_receipt_marks_what_was_forgotten_since(page, vault):
    html = shown(page, make_receipt(vault, items=[served("mem_gone")]))
    assert "(not here any more)" in html


def test_a_pins_page_shows_what_it_keeps_but_not_its_bytes(page, vault):
    memory = make_memory(vault, content="Pinned text")
    html = shown(page, make_pin(vault, memory.ref), "pk")
    assert "Pinned text" in html
    assert "sha256:11" in html
    assert "bytes&quot;" not in html


# -- Vaults --------------------------------------------------------------------------------------


def test_a_vaults_page_counts_what_it_holds_and_leads_to_its_lists(page, vault):
    make_memory(vault, status="archived")
    make_memory(make_vault("other"))
    html = page.get(reverse("admin:memories_vault_change", args=(vault.pk,))).content.decode()
    assert '<th scope="row">memories</th><td>1</td>' in html
    assert '<th scope="row">status archived</th><td>1</td>' in html
    assert list_url(Memory, vault.pk) in html


def test_a_vault_is_made_and_renamed_but_its_language_stays(page, vault):
    add = reverse("admin:memories_vault_add")
    response = page.post(add, {"slug": "team", "name": "Team", "language": "german"}, follow=True)
    made = type(vault).objects.get(slug="team")
    assert response.status_code == 200
    change = reverse("admin:memories_vault_change", args=(made.pk,))
    page.post(change, {"name": "The team", "slug": "changed", "language": "english"})
    made.refresh_from_db()
    assert (made.slug, made.name, made.language) == ("team", "The team", "german")


def test_no_vault_is_deleted_in_the_admin(page, vault):
    delete = reverse("admin:memories_vault_delete", args=(vault.pk,))
    assert page.post(delete, {"post": "yes"}).status_code == 403
