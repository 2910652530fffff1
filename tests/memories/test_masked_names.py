"""A secret that was masked leaves no name behind: neither itself nor its mark."""

import pytest
from django.utils import timezone

from memories.core.imports.drafts import Conversation, Message, Note
from memories.models import Alias, Entity
from memories.transfer.adopting import adopt
from tests.clients import api_of
from tests.factories import make_caller

pytestmark = pytest.mark.django_db

SECRET = "ghp_" + "a1B2" * 9
TEXT = f"Ana keeps the token {SECRET} in Porto"


@pytest.fixture
def api():
    return api_of()


def names(api):
    rows = Entity.objects.filter(vault=api.vault).values_list("name", flat=True)
    aliases = Alias.objects.filter(vault=api.vault).values_list("name", flat=True)
    return {*rows, *aliases}


def test_a_written_memory_names_no_mark(api):
    api.remember(TEXT)
    assert names(api) == {"Ana", "Porto"}


def test_a_stated_entity_that_is_a_secret_is_none(api):
    told = api.remember("Somebody keeps a token", entities=["Ana", SECRET, f"see {SECRET}"])
    assert told["entities"] == ["Ana"]
    answer = api.patch(f"memories/{told['ref']}", {"entities": [SECRET, "Porto"]})
    assert answer.json()["entities"] == ["Porto"]
    assert names(api) == {"Porto"}


def test_a_capture_names_no_mark(api):
    api.post("captures", {"content": TEXT})
    assert names(api) == {"Ana", "Porto"}


@pytest.mark.parametrize("shape", ["note", "conversation"])
def test_what_another_product_exported_names_neither_the_secret_nor_its_mark(api, shape):
    draft: Note | Conversation
    if shape == "note":
        draft = Note(external_id="1", title="", text=TEXT)
    else:
        message = Message(external_id="1", speaker="user", text=TEXT, position=0)
        draft = Conversation(external_id="1", title="", messages=(message,))
    adopt(make_caller(api.vault), [draft], product="other", now=timezone.now())
    assert names(api) == {"Ana", "Porto"}
