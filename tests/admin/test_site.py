"""Pages beside the lists: offered to those who have the permission, and shut to everybody else."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from cortex.adminsite import AdminPage, Card, CortexAdminSite

ADDRESS = "/admin/looking/"


def _looking(request: HttpRequest, **_: object) -> HttpResponse:
    return HttpResponse("seen")


@pytest.fixture
def site(db) -> CortexAdminSite:
    site = CortexAdminSite()
    site.add_page(
        AdminPage(
            name="looking",
            path="looking/",
            title="Looking",
            says="for a test",
            view=_looking,
            permission="memories.view_memory",
        )
    )
    return site


def _answer(site: CortexAdminSite, person: User | AnonymousUser) -> Any:
    patterns: list[Any] = site.get_urls()
    view = next(pattern for pattern in patterns if pattern.name == "looking").callback
    request = RequestFactory().get(ADDRESS)
    request.user = person
    return view(request)


def _person(*codenames: str, staff: bool = True, active: bool = True) -> User:
    person = User.objects.create_user("bo", is_staff=staff, is_active=active)
    person.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return person


def test_a_page_is_open_to_who_may_see_it(site):
    assert _answer(site, _person("view_memory")).content == b"seen"


def test_a_page_is_shut_to_staff_without_the_permission(site):
    with pytest.raises(PermissionDenied):
        _answer(site, _person("view_conflict"))


@pytest.mark.parametrize("fields", [{"staff": False}, {"active": False}])
def test_a_page_asks_everybody_else_to_log_in(site, fields):
    answer = _answer(site, _person("view_memory", **fields))
    assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/admin/login/")


def test_a_page_asks_a_stranger_to_log_in(site):
    assert _answer(site, AnonymousUser()).status_code == 302


def test_the_front_page_offers_a_page_only_to_who_may_see_it(site):
    def offered(person: User) -> list[str]:
        request = RequestFactory().get("/admin/")
        request.user = person
        return [page.name for page in site.index(request).context_data["pages"]]

    person = _person("view_memory")
    assert offered(person) == ["looking"]
    person.user_permissions.clear()
    assert offered(User.objects.get(pk=person.pk)) == []


def test_a_card_that_says_nothing_to_a_reader_is_left_out(site):
    site.add_card("hidden", lambda request: None)
    site.add_card("seen", lambda request: Card(title="Seen", figure=3, url="/admin/", waits=True))
    request = RequestFactory().get("/admin/")
    request.user = _person()
    told = site.index(request).context_data
    assert [card.title for card in told["waiting"]] == ["Seen"]
    assert told["held"] == []
