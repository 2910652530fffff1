"""What was told under one view of a vault, and who may read it again."""

import pytest

from contextpack.models import Pin, Receipt
from memories.access import EVERY_PROJECT, SCOPE_LENGTH, scope_digest
from memories.models import Memory
from tests.clients import api_of
from tests.wire.asking import fill, items, pack, smp

LONG_NAMES = [f"{number:03d} {'a project with a long name ' * 7}"[:100] for number in range(40)]


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


@pytest.mark.django_db
def test_a_receipt_does_not_name_what_moved_out_of_sight():
    api = api_of()
    limited = api_of(api.vault, projects=["hall"])
    fill(api, "The archive is closed on Monday", "On Monday the archive is closed", project="hall")
    (moved,) = fill(api, "The archive has a red door", project="hall")
    body = pack(limited, "archive Monday door", model="claude")
    receipt, folded = body["receipt"]["id"], next(row for row in items(body) if row["folded_refs"])
    (inner,) = folded["folded_refs"]
    for ref in (moved, inner):
        Memory.objects.filter(vault=api.vault, ref=ref).update(project="barn")
    told = limited.get(f"receipts/{receipt}")
    assert [item["ref"] for item in told.json()["items"]] == [folded["ref"]]
    assert moved not in told.content.decode()
    assert inner not in told.content.decode()
    assert inner in api.get(f"receipts/{receipt}").content.decode()


@pytest.mark.django_db
def test_why_not_names_no_survivor_that_moved_out_of_sight():
    api = api_of()
    limited = api_of(api.vault, projects=["hall"])
    fill(api, "The archive is closed on Monday", "On Monday the archive is closed", project="hall")
    body = pack(limited, "archive Monday", model="claude")
    (row,) = items(body)
    Memory.objects.filter(vault=api.vault, ref=row["ref"]).update(project="barn")
    path = f"receipts/{body['receipt']['id']}/why-not/{row['folded_refs'][0]}"
    assert (limited.get(path).json()["reason"], limited.get(path).json()["into"]) == ("folded_into", None)
    assert api.get(path).json()["into"] == row["ref"]
