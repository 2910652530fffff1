"""Whatever the method, an answer says in one form what is wrong."""

import json

import pytest
from django.test import Client

from memories.models import Scope
from tests.clients import api_of

pytestmark = pytest.mark.django_db

METHODS = ["POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND"]


@pytest.fixture
def browser() -> Client:
    return Client(enforce_csrf_checks=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/docs", "/v1/schema", "/admin"])
def test_what_can_only_be_looked_at_is_405(browser, method, path):
    response = browser.generic(method, path, b"{}")
    assert response.status_code == 405
    assert response["Content-Type"] == "application/problem+json"
    assert response["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/v1/schema"])
def test_it_can_be_looked_at(browser, path):
    assert browser.get(path).status_code == 200
    assert browser.head(path).content == b""


@pytest.mark.parametrize("method", ["GET", "HEAD", *METHODS])
@pytest.mark.parametrize("path", ["/nothing", "/v1/nothing", "/healthz/", "/v1/memories/a/b/c"])
def test_an_unknown_path_is_404_for_any_method(browser, method, path):
    response = browser.generic(method, path, b"{}")
    assert response.status_code == 404
    assert response["Content-Type"] == "application/problem+json"


def test_it_is_405_for_a_token_that_may_only_read_too():
    response = api_of(scopes=[Scope.READ]).call("PUT", "memories", {})
    assert response.status_code == 405


@pytest.mark.parametrize("method", ["PUT", "TRACE", "PROPFIND"])
def test_a_method_that_a_call_does_not_have_is_405_and_names_those_it_has(method):
    response = api_of().call(method, "memories", {})
    assert response.status_code == 405
    assert json.loads(response.content)["status"] == 405
    assert {"GET", "POST"} <= {name.strip() for name in response["Allow"].split(",")}
