"""`/m/<ref>`, where a citation leads: for people who may look, escaped, with links that may be followed."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from memories.models import Source
from tests.factories import make_memory, make_vault

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def text_of(response) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_it_shows_the_memory_with_what_it_cites(page, vault):
    memory = make_memory(vault, content="Oak is hard.", source_url="https://example.org/oak?a=1&b=2")
    text = text_of(page.get(f"/m/{memory.ref}"))
    assert "Oak is hard." in text
    assert '<a href="https://example.org/oak?a=1&amp;b=2" rel="noopener noreferrer nofollow">' in text


def test_whoever_is_not_logged_in_is_led_to_the_login_and_back(vault):
    memory = make_memory(vault)
    response = Client().get(f"/m/{memory.ref}")
    assert (response.status_code, response["Location"]) == (302, f"/admin/login/?next=/m/{memory.ref}")


@pytest.mark.parametrize(("may_view", "status"), [(False, 403), (True, 200)])
def test_a_member_of_staff_needs_the_right_to_view_memories(vault, may_view, status):
    person = User.objects.create_user("bo", password="correct horse battery", is_staff=True)
    if may_view:
        person.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client = Client()
    client.force_login(person)
    assert client.get(f"/m/{make_memory(vault).ref}").status_code == status


def test_what_a_memory_says_is_text_whatever_it_says(page, vault):
    memory = make_memory(vault, content=HOSTILE, source_url=None, speaker=HOSTILE, tags=[HOSTILE])
    Source.objects.create(vault=vault, memory=memory, url="javascript:alert(3)", title=HOSTILE, text=HOSTILE)
    Source.objects.create(vault=vault, memory=memory, url="data:text/html,x", title="", text="")
    response = page.get(f"/m/{memory.ref}")
    text = text_of(response)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert 'href="javascript:' not in text
    assert 'href="data:' not in text
    assert "&lt;script&gt;" in text
    assert "default-src 'self'" in response["Content-Security-Policy"]
    assert "unsafe-inline" not in response["Content-Security-Policy"]


def test_a_memory_of_any_vault_is_found_by_its_ref_alone(page, vault):
    elsewhere = make_memory(make_vault("other"), content="Elm is tough.")
    assert "Elm is tough." in text_of(page.get(f"/m/{elsewhere.ref}"))


def test_of_two_copies_the_one_in_the_vault_at_hand_is_shown(page, vault):
    here = make_memory(vault, content="Oak is hard.")
    copy = make_memory(make_vault("a-copy"), content="Oak is soft.", ref=here.ref)
    assert "Oak is hard." in text_of(page.get(f"/m/{here.ref}"))
    assert "Oak is soft." in text_of(page.get(f"/m/{here.ref}?vault={copy.vault_id}"))


def test_what_is_not_there_is_404(page, vault):
    for ref in ("mem_zzzzzzzzzzzz", "x"):
        assert page.get(f"/m/{ref}").status_code == 404


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_it_can_only_be_looked_at(page, vault, method):
    assert page.generic(method, f"/m/{make_memory(vault).ref}").status_code == 405
