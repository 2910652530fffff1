"""Every page of our own, in both widths and both schemes: nothing complains, nothing overflows, nothing is barred."""

from urllib.parse import urlencode

import pytest

from tests.browser.looking import SCHEMES, WIDTHS, Site

pytestmark = pytest.mark.xdist_group("browser")


def _front(site: Site) -> str:
    return f"/admin/?vault={site.vault}"


def _receipt(site: Site) -> str:
    """The receipt of a question within a conversation, whose pack draws on several layers."""
    ref = site.one(
        "select ref from contextpack_receipt where session_id = 'kelp4-power' order by assembled_at limit 1 offset 1"
    )
    return site.page_of("contextpack/receipt", ref)


def _session(site: Site) -> str:
    """The conversation in which most happens: news, evictions, tokens saved."""
    key = site.one("select id from session_working_set where session_id = 'year-end-review'")
    return site.page_of("memory_sessions/workingsession", key)


def _receipts(site: Site) -> str:
    return f"/admin/contextpack/receipt/?vault={site.vault}"


def _inbox(site: Site) -> str:
    return f"/admin/memories/review/?vault={site.vault}"


def _playground(site: Site) -> str:
    """A question that is answered differently to two models, and an answer of last spring that neither gets."""
    ref = site.one(
        "select ref from memories_memory where content like 'The battery of a Kelp 3 lasts%' "
        "and superseded_by is not null order by recorded_at limit 1"
    )
    asked = {"task": "How long does the battery of a Kelp 3 last?", "model": "claude", "beside": "cursor"}
    given = {"vault": site.vault, **asked, "token_budget": 700, "ref": ref}
    return f"/admin/playground/?{urlencode(given)}"


def _memory(site: Site) -> str:
    """A memory that replaced another and was served often."""
    ref = site.one(
        "select m.ref from memories_memory m join memories_supersession s on s.new_id = m.id"
        " order by m.superseded_by is null, (select count(*) from contextpack_receipt r"
        " where instr(r.items, m.ref) > 0) desc, m.ref limit 1"
    )
    return site.page_of("memories/memory", ref)


def _about(site: Site) -> str:
    """A memory about more than any other."""
    ref = site.one(
        "select m.ref from memories_memory m join memories_mention t on t.memory_id = m.id"
        " group by m.ref order by count(*) desc, m.content limit 1"
    )
    return site.page_of("memories/memory", ref)


def _conflicted(site: Site) -> str:
    """A memory that another one contradicts."""
    ref = site.one(
        "select m.ref from memories_memory m join memories_conflict c on c.left_id = m.id"
        " where c.resolved_at is null order by c.detected_at, m.ref limit 1"
    )
    return site.page_of("memories/memory", ref)


def _search(site: Site) -> str:
    return (
        f"/admin/memories/memory/?vault={site.vault}&by=agents&q=How+long+does+the+battery+of+a+Kelp+3+last"
    )


def _overview(site: Site) -> str:
    return f"/admin/overview/?vault={site.vault}&run=1"


PAGES = {
    "search": _search,
    "memory": _memory,
    "about": _about,
    "conflicted": _conflicted,
    "inbox": _inbox,
    "front": _front,
    "receipts": _receipts,
    "receipt": _receipt,
    "session": _session,
    "playground": _playground,
    "overview": _overview,
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_at_every_width_and_in_every_scheme(site, look, name, width, scheme):
    window = look(width=width, scheme=scheme).open(PAGES[name](site))
    assert window.overflow() <= 0
    assert window.serious() == []
