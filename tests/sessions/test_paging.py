"""Reading on in an answer: every page of it belongs to the turn that asked."""

import pytest

from sessions.models import WorkingSession
from tests.clients import api_of
from tests.wire.asking import new_refs, refs, smp
from tests.wire.corpora import TASK, make_corpus


@pytest.fixture
def api(db):
    api = api_of()
    make_corpus(api.vault, 60)
    return api


def test_the_fifth_page_tells_nobody_to_forget_the_first(api):
    asked = {"session_id": "chat", "model": "claude", "token_budget": 400}
    page = smp(api, TASK, **asked)
    read = set(refs(page))
    for _ in range(6):
        assert page["cursor"]
        page = smp(api, TASK, **asked, cursor=page["cursor"])
        assert page["working_memory"]["evicted"] == []
        assert set(new_refs(page)) == set(refs(page)) - read
        read |= set(refs(page))
    session = WorkingSession.objects.get(vault=api.vault)
    assert session.turn == 1
    assert set(session.state["known"]) == read
