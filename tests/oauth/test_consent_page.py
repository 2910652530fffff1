"""The page that asks: for whom it is, what it says of the client, and what it never gives away."""

import re

import httpx2
import pytest

from tests.oauth.speaking import (
    CALLBACK,
    DESCRIBED_CALLBACK,
    DESCRIBED_CLIENT,
    PASSWORD,
    Person,
    RawClient,
    back,
    registered,
    ticked,
)

ALL = "memory:read memory:write memory:review vault:admin"


@pytest.fixture(scope="module")
def reader(server) -> Person:
    """A member of the staff who may look at vaults and memories, and change nothing."""
    return Person(server.url, "reader")


@pytest.fixture
def described(server) -> RawClient:
    return RawClient(url=server.url, client_id=DESCRIBED_CLIENT, redirect_uri=DESCRIBED_CALLBACK)


def offered(page: httpx2.Response) -> list[str]:
    return re.findall(r'name="scopes" value="([^"]+)"', page.text)


def test_a_stranger_is_led_to_the_login_first(client):
    led = httpx2.get(client.request())
    assert led.status_code == 302
    assert led.headers["Location"].startswith("/admin/login/?next=/oauth/authorize%3F")


def test_somebody_who_may_not_use_the_admin_is_asked_to_log_in_as_another(server, client):
    with httpx2.Client(base_url=server.url) as browser:
        page = browser.get("/admin/login/")
        token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)[0]
        form = {"username": "visitor", "password": PASSWORD, "csrfmiddlewaretoken": token}
        browser.post("/admin/login/", data=form)
        assert browser.get(client.request()).headers["Location"].startswith("/admin/login/")


def test_the_page_runs_nothing_and_is_framed_by_nobody(ana, client):
    page = ana.look(client.request())
    policy = page.headers["Content-Security-Policy"]
    assert "form-action 'self' http://127.0.0.1:33418" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["X-Frame-Options"] == "DENY"
    assert "no-store" in page.headers["Cache-Control"]
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", page.text) == []
    boxes = re.findall(r'<input type="checkbox"[^>]*\bid="([^"]+)"', page.text)
    assert boxes
    assert set(boxes) <= set(re.findall(r'<label for="([^"]+)"', page.text))


def test_a_name_that_nothing_proves_is_said_to_be_so(ana, client):
    page = ana.look(client.request()).text
    assert "nothing proves it" in page
    assert "127.0.0.1:33418" in page
    assert "a program on your own machine" in page


def test_a_client_that_its_own_host_describes_needs_no_warning(ana, described):
    page = ana.look(described.request())
    assert "Example Chat" in page.text
    assert "errornote" not in page.text
    assert "form-action 'self' https:" in page.headers["Content-Security-Policy"]


def test_a_described_client_that_answers_elsewhere_does(ana, described):
    page = ana.look(described.request(redirect_uri="http://127.0.0.1:5005/callback"))
    assert "the answer goes elsewhere" in page.text


def test_a_hostile_name_stays_a_text(server, ana):
    hostile = registered(server.url, client_name="<script src=//evil.example></script><b>Cortex</b>")
    page = ana.look(hostile.request()).text
    assert "<script src=//evil" not in page
    assert "&lt;b&gt;Cortex" in page


def test_reading_and_writing_are_ticked_and_more_only_by_hand(ana, client):
    page = ana.look(client.request(scope=ALL))
    assert offered(page) == ALL.split()
    assert ticked(page.text, "input", "checked") == ["memory:read", "memory:write"]
    assert ticked(page.text, "option", "selected")


def test_a_superuser_may_tick_everything(ana, client):
    led = ana.answer(client.request(scope=ALL), scopes=ALL.split())
    told = client.redeem(back(led)["code"]).json()
    assert set(told["scope"].split()) == set(ALL.split())


def test_nobody_gives_more_than_the_admin_gives_them(reader, client):
    assert offered(reader.look(client.request(scope=ALL))) == ["memory:read"]
    assert reader.answer(client.request(scope=ALL), scopes=["memory:read", "memory:write"]).status_code == 422
    assert client.redeem(back(reader.answer(client.request()))["code"]).json()["scope"] == "memory:read"


def test_whoever_sees_no_vault_gives_nothing(server, client):
    clerk = Person(server.url, "clerk")
    page = clerk.look(client.request())
    assert offered(page) == []
    assert "You may not give what it asks for" in page.text


@pytest.mark.parametrize("extra", ["memory:review", "vault:admin", "everything"])
def test_nothing_is_given_that_was_not_asked_for(ana, client, extra):
    assert ana.answer(client.request(), scopes=["memory:read", extra]).status_code == 422


@pytest.mark.parametrize("chosen", [{"scopes": []}, {"vault": "nowhere"}])
def test_a_choice_that_is_none_is_asked_for_again(ana, client, chosen):
    page = ana.answer(client.request(), **chosen)
    assert page.status_code == 422
    assert "errorlist" in page.text


def test_a_refusal_is_told_to_the_client(server, ana, client):
    told = back(ana.answer(client.request(), say="deny"))
    assert told["error"] == "access_denied"
    assert told["state"] == "some state"
    assert told["iss"] == server.url


def test_a_form_of_another_page_changes_nothing(ana, client):
    assert ana.browser.post(client.request(), data={"allow": "1", "scopes": "memory:read"}).status_code == 403


def test_the_query_alone_says_where_the_answer_goes(ana, client):
    page = ana.answer(client.request())
    assert page.headers["Location"].startswith(f"{CALLBACK}?")
