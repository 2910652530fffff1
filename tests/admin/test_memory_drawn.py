"""A memory's page draws its chain and what it is about, sets conflicts side by side, and tells where it was served."""

import re
from datetime import timedelta
from itertools import pairwise

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from contextpack.models import Receipt
from memories.admin.charts import Holder, Node, one_hop, succession
from memories.admin.linking import row_url
from memories.models import Conflict, Decision, Memory, Vault
from sessions.models import WorkingSession
from tests.admin.rows import NOW, make_conflict, make_receipt, make_session, mention, served, shown, told
from tests.factories import make_memory, make_token, make_vault

MOST_STATEMENTS = 40


def make_chain(vault: Vault, length: int) -> list[Memory]:
    line = [
        make_memory(vault, content=f"The fee is {n}0", at=NOW + timedelta(days=n), index=False)
        for n in range(length)
    ]
    for old, new in pairwise(line):
        old.superseded_by, old.superseded_at = new.ref, new.recorded_at
        old.save()
    return line


# -- Drawing -------------------------------------------------------------------------------------


def holder(key: str, day: int, after: str | None) -> Holder:
    return Holder(
        key=key,
        name=f"<b>{key}</b>",
        began_at=NOW + timedelta(days=day),
        ended_at=None,
        after=after,
        tone="blue",
        href=f"/{key}",
    )


def test_a_chain_ties_each_to_what_followed_it_and_escapes_what_they_say():
    drawn = succession(
        [holder("a", 0, "c"), holder("b", 1, "c"), holder("c", 2, None)],
        until=NOW + timedelta(days=9),
        label="x",
    )
    assert drawn.svg.count("cx-tie") == 2
    assert drawn.svg.count("<a href=") == 3
    assert "<b>" not in drawn.svg
    assert 'role="group"' in drawn.svg  # what is an "img" has no links for a reader who does not see it


def test_a_successor_that_is_not_shown_is_tied_to_nothing():
    assert "cx-tie" not in succession([holder("a", 0, "gone")], until=NOW + timedelta(days=9), label="x").svg


def test_a_graph_ties_what_is_near_and_says_the_same_as_a_table():
    drawn = one_hop(
        Node(name="this"),
        [Node(name="<i>", href="/1"), Node(name="two", href="/2")],
        [Node(name="far", href="/3")],
        [(0, 0), (1, 0)],
        label="x",
        head=("near", "far"),
    )
    assert drawn.svg.count("cx-edge") == 4
    assert "<i>" not in drawn.svg
    assert drawn.rows == (("<i>", "far"), ("two", "far"))


# -- The page ------------------------------------------------------------------------------------


def test_the_chain_is_drawn_with_links_and_told_as_a_table(page, vault):
    line = make_chain(vault, 3)
    html = shown(page, line[1])
    picture = html[html.index("cx-chain") : html.index("</svg>", html.index("cx-chain"))]
    for memory in line:
        assert row_url(Memory, vault.pk, memory.ref) in picture
    assert picture.count("cx-tie") == 2
    assert "3 memories in each other&#x27;s place" in html


def test_what_it_is_about_leads_to_the_memories_that_share_most_of_it(page, vault):
    memory = make_memory(vault, content="Ana leads Atlas")
    mention(memory, "Ana", "Atlas")
    both, one = make_memory(vault, content="Ana left Atlas"), make_memory(vault, content="Atlas is late")
    mention(both, "Ana", "Atlas")
    mention(one, "Atlas")
    old = make_memory(vault, content="Ana was at Atlas", superseded_by=both.ref)
    mention(old, "Ana")
    html = shown(page, memory)
    picture = html[html.index("cx-graph") : html.index("</svg>", html.index("cx-graph"))]
    assert picture.index("Ana left Atlas") < picture.index("Atlas is late")
    assert "Ana was at Atlas" not in picture


def test_a_conflict_stands_side_by_side_and_is_resolved_where_it_stands(page, vault):
    left, right = make_memory(vault, content="Rate is 60"), make_memory(vault, content="Rate is 600")
    conflict = make_conflict(left, right)
    html = shown(page, right)
    assert 'Rate is <mark class="cx-differs">600</mark>' in html
    assert 'Rate is <mark class="cx-differs">60</mark>' in html
    form = html[html.index('id="open-conflicts"') :]
    assert re.search(r'value="keep_right">Keep this one', form)
    names = ("_selected_action", "from_page", "return_to")
    fields = {name: re.findall(rf'name="{name}" value="([^"]*)"', form)[0] for name in names}
    (address,) = re.findall(r'action="([^"]*conflict/[^"]*)"', form)
    response = page.post(address, {"action": "keep_right", **fields}, follow=True)
    assert response.redirect_chain[-1][0] == row_url(Memory, vault.pk, right.ref)
    assert told(response) == ["1 conflict resolved."]
    assert Conflict.objects.get(vault=vault, pk=conflict.pk).resolution == right.ref
    assert "open-conflicts" not in response.content.decode()


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_the_way_back_leads_nowhere_else(page, vault, elsewhere):
    conflict = make_conflict(make_memory(vault, content="a"), make_memory(vault, content="b"))
    address = row_url(Conflict, vault.pk, conflict.ref).partition(f"{vault.pk}.")[0]
    fields = {"action": "keep_both", "_selected_action": conflict.pk, "from_page": "1"}
    response = page.post(f"{address}?vault={vault.pk}", {**fields, "return_to": elsewhere})
    assert response["Location"] == row_url(Conflict, vault.pk, conflict.ref)


def test_a_side_that_was_redacted_or_has_expired_is_not_told(page, vault):
    memory = make_memory(vault, content="Rate is 60")
    make_conflict(memory, make_memory(vault, content="", redacted_at=NOW))
    make_conflict(memory, make_memory(vault, content="Rate is a secret", expires_at=NOW))
    html = shown(page, memory)
    assert html.count("Its text is gone.") == 2
    assert "a secret" not in html


def test_who_may_not_resolve_sees_both_sides_and_no_button(vault):
    person = User.objects.create_user("ben", password="correct horse battery", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=("view_memory",)))
    reader = Client()
    reader.force_login(person)
    left, right = make_memory(vault, content="Rate is 60"), make_memory(vault, content="Rate is 600")
    make_conflict(left, right)
    html = shown(reader, left)
    assert "600</mark>" in html
    assert 'value="keep_both"' not in html
    assert 'id="served"' not in html  # of receipts nothing is told to who may not look at them


# -- Where it was served -------------------------------------------------------------------------


def test_it_says_to_which_tokens_and_in_which_conversations_it_was_served(page, vault):
    memory, other = make_memory(vault, content="Oak is hard"), make_memory(vault, content="Elm is tough")
    token, _ = make_token(vault, name="The joiner's phone")
    session = make_session(vault, memory.ref, session_id="chat-7")
    mine = make_receipt(
        vault, actor=f"token:{token.pk}", session_id="chat-7", task="which wood", items=[served(memory.ref)]
    )
    folded = make_receipt(
        vault, task="a chair", items=[served(other.ref, folded_refs=[memory.ref])], assembled_at=NOW
    )
    make_receipt(vault, task="something else", items=[served(other.ref)])
    html = shown(page, memory)
    part = html[html.index('id="served"') : html.index('id="sources"')]
    assert "In 2 packs, to 2 tokens, in 1 conversation" in part
    assert "The joiner&#x27;s phone" in part
    assert row_url(Receipt, vault.pk, mine.ref) in part
    assert row_url(WorkingSession, vault.pk, session.pk) in part
    assert row_url(Receipt, vault.pk, folded.ref) in part
    assert row_url(Memory, vault.pk, other.ref) in part  # under which it was folded
    assert "something else" not in part


def test_what_another_vault_served_is_not_told(page, vault):
    memory = make_memory(vault)
    other = make_vault("other")
    copy = make_memory(other, ref=memory.ref)
    make_receipt(other, task="their secret plan", items=[served(copy.ref)])
    assert "their secret plan" not in shown(page, memory)
    assert "their secret plan" in shown(page, copy)


def test_months_are_drawn_by_token(page, vault):
    memory = make_memory(vault)
    for month in range(14):
        make_receipt(vault, items=[served(memory.ref)], assembled_at=NOW + timedelta(days=14 - 30 * month))
    html = shown(page, memory)
    assert html.count('<g><rect x="') == 12
    assert "In 14 packs" in html


def test_a_page_costs_no_more_statements_however_much_hangs_on_it(page, vault):
    memory = make_chain(vault, 3)[1]

    def hang(numbers: range) -> None:
        for number in numbers:
            other = make_memory(vault, content=f"Neighbour {number}", index=False)
            mention(memory, f"Thing {number}", "Everything")
            mention(other, f"Thing {number}", "Everything")
            make_conflict(memory, make_memory(vault, content=f"Not {number}", index=False))
            make_receipt(vault, items=[served(memory.ref)], session_id=f"chat-{number}")
            make_session(vault, memory.ref, session_id=f"chat-{number}")
            Decision.objects.create(
                vault=vault, memory=memory.ref, verb="archive", actor=f"token:{number}", at=NOW
            )

    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            shown(page, memory)
        tables = r'FROM "(memories_(?!vault)|contextpack_|session_)'
        tenant = [q["sql"] for q in seen if re.search(tables, q["sql"])]
        assert [sql for sql in tenant if "vault_id" not in sql.partition(" FROM ")[2]] == []
        return len(seen)

    hang(range(10))
    statements()
    few = statements()
    hang(range(10, 100))
    assert statements() == few
    assert few <= MOST_STATEMENTS
