"""What was told under one view of a vault, and who may read it again."""

import pytest

from contextpack.models import Pin, Receipt
from memories.access import EVERY_PROJECT, SCOPE_LENGTH, scope_digest
from tests.clients import api_of
from tests.wire.asking import fill, smp

LONG_NAMES = [f"{number:03d} {'a project with a long name ' * 7}"[:200] for number in range(40)]


def test_a_view_has_one_name_however_many_projects_it_has():
    assert scope_digest(None) == EVERY_PROJECT
    assert scope_digest(LONG_NAMES) == scope_digest(frozenset(reversed(LONG_NAMES)))
    assert len(scope_digest(LONG_NAMES)) <= SCOPE_LENGTH
    assert len({scope_digest(names) for names in (["a\nb"], ["a", "b"], ["a"], [], ["*"])}) == 5


@pytest.mark.django_db
def test_a_token_of_many_long_projects_keeps_its_packs_and_reads_them_again():
    api = api_of()
    fill(api, "Oak for the barn", project=LONG_NAMES[7])
    limited = api_of(api.vault, projects=LONG_NAMES)
    told = smp(limited, "oak", pin=True, session_id="chat")
    for reader, status in ((limited, 200), (api, 200), (api_of(api.vault, projects=LONG_NAMES[:39]), 404)):
        assert reader.get(f"pins/{told['pin']['id']}").status_code == status
        assert reader.get(f"receipts/{told['receipt']['id']}").status_code == status
    pin, receipt = Pin.objects.get(vault=api.vault), Receipt.objects.get(vault=api.vault)
    assert pin.projects == receipt.projects == sorted(LONG_NAMES)
    assert len(pin.scope) <= SCOPE_LENGTH


@pytest.mark.django_db
def test_a_project_whose_name_holds_a_line_break_is_not_two():
    api = api_of()
    fill(api, "Oak for the barn", project="barn")
    told = smp(api_of(api.vault, projects=["barn", "hall"]), "oak")["receipt"]["id"]
    assert api_of(api.vault, projects=["barn\nhall"]).get(f"receipts/{told}").status_code == 404
