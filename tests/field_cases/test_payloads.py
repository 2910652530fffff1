"""Bodies that break servers, retries that double rows, and a database that is not there (Q1, Q2, Q3, Q8, Q11)."""

import json
from typing import Any

import pytest
from django.db import OperationalError

from memories.models import Memory
from tests.clients import api_of
from tests.wire.asking import ask, error_of, ok
from tests.wire.routes import guarded_routes

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of()


def address(path: str, part: str = "x") -> str:
    """Fill the variable parts of a route."""
    while "<" in path:
        path = f"{path[: path.index('<')]}{part}{path[path.index('>') + 1 :]}"
    return path


ROUTES = sorted(guarded_routes())
each_route = pytest.mark.parametrize(("method", "path"), ROUTES, ids=lambda value: str(value))
WITH_BODY = [route for route in ROUTES if route.method in {"POST", "PATCH"}]
each_body = pytest.mark.parametrize(("method", "path"), WITH_BODY, ids=lambda value: str(value))


class TestNul:
    """Q1: refused before the database, on every route there is."""

    @each_route
    def test_in_a_query_string(self, api, method, path):
        for tail in ("?x=%00", "?%00=x", "?task=a%00&find=a%00&ref=a%00&q=a%00&cursor=%00"):
            assert error_of(api.call(method, address(path) + tail, {}))["status"] == 400

    @each_route
    def test_in_a_path(self, api, method, path):
        if "<" in path:
            assert error_of(api.call(method, address(path, "a%00b"), {}))["status"] == 400

    @each_body
    @pytest.mark.parametrize("text", [r"\u0000", r"\ud83d"])
    def test_in_a_body(self, api, method, path, text):
        for body in (f'{{"content": "a{text}b"}}', f'{{"x{text}": 1}}', f'{{"a": [{{"b": ["{text}"]}}]}}'):
            response = api.call(method, address(path), raw=body.encode())
            assert error_of(response)["status"] in {400, 404, 422}
            if not path.startswith(("memories/<", "conflicts/<", "import")):  # import judges line by line
                assert response.status_code == 400

    @pytest.mark.parametrize("value", ["a\0b", "\0"])
    def test_in_a_header(self, api, value):
        for name in ("Idempotency-Key", "X-Request-Id", "X-Cortex-Vault"):
            response = api.post("memories", {"content": "The key is here"}, **{name.replace("-", "_"): value})
            assert response.status_code in {200, 201, 400, 422}


class TestShapes:
    """Q2: depth, size, number and type."""

    @each_body
    def test_ten_thousand_levels_are_no_recursion(self, api, method, path):
        for raw in (b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000):
            response = api.call(method, address(path), raw=raw)
            assert error_of(response)["status"] in ({400, 422} if path == "import" else {400, 404})

    @each_body
    def test_fifty_megabytes_are_413(self, api, method, path):
        response = api.call(method, address(path), raw=b'{"content": "' + b"x" * (50 * 1024 * 1024) + b'"}')
        assert error_of(response)["status"] in {404, 413}

    def test_a_word_is_no_switch_and_no_number(self, api):
        for field, value in (("pin", "false"), ("legend", "true"), ("token_budget", "600"), ("since", "x")):
            response = ask(api, "key", session_id="chat", **{field: value})
            assert response.status_code == 422
        for field, value in (("valid_only", "false"), ("k", "5"), ("min_trust", "0.5")):
            assert api.post("query", {"find": "key", field: value}).status_code == 422

    def test_a_hundred_thousand_entries_are_refused(self, api):
        many = ["x"] * 100_000
        assert api.post("memories", {"content": "The key", "tags": many}).status_code == 422
        assert ask(api, "key", entities=many).status_code == 422
        assert ask(api, "key", layers=many).status_code == 422
        assert ask(api, "key", session_id="chat", dropped=many).status_code == 422
        assert api.post("query", {"find": "key", "entities": many}).status_code == 422
        assert len(ask(api, "key", entities=many).content) < 20_000

    def test_a_thousand_unknown_fields_are_one_short_refusal(self, api):
        response = ask(api, "key", **{f"field_{number}": number for number in range(1_000)})
        assert response.status_code == 422
        assert len(response.content) < 20_000

    @pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "1" * 5_000])
    def test_numbers_beyond_all_measure_are_refused(self, api, number):
        for path, field in (("context", "token_budget"), ("query", "k")):
            raw = f'{{"task": "key", "{field}": {number}}}'.encode()
            assert api.call("POST", path, raw=raw).status_code in {400, 422}


class TestBulk:
    """Q3: what is accepted is stored, and every item is told what became of it."""

    def test_every_item_has_its_answer(self, api):
        items: list[Any] = [{"content": f"Note number {number}"} for number in range(12)]
        items[3] = {"content": ""}
        items[7] = {"content": "x", "confidence": 2}
        results = ok(api.post("memories/bulk", {"memories": items}))["results"]
        assert [result["status"] for result in results] == [201] * 3 + [422] + [201] * 3 + [422] + [201] * 4
        accepted = {result["ref"] for result in results if result["status"] == 201}
        assert accepted == set(Memory.objects.filter(vault=api.vault).values_list("ref", flat=True))

    def test_a_list_over_the_limit_stores_nothing(self, api):
        items = [{"content": f"Note number {number}"} for number in range(1_001)]
        assert error_of(api.post("memories/bulk", {"memories": items}))["status"] == 422
        assert not Memory.objects.filter(vault=api.vault).exists()

    def test_singles_over_the_limit_are_told_when_to_come_back_and_the_others_are_stored(self, api, settings):
        settings.CORTEX_THROTTLE = "20/min"
        told = [api.post("memories", {"content": f"Note number {number}"}) for number in range(30)]
        assert [response.status_code for response in told] == [201] * 20 + [429] * 10
        assert all(int(response["Retry-After"]) >= 1 for response in told[20:])
        assert Memory.objects.filter(vault=api.vault).count() == 20


class TestLiveness:
    """Q8: the process lives whether or not its database does."""

    @pytest.fixture
    def _no_database(self, monkeypatch):
        def refuse(*_: Any, **__: Any) -> Any:
            raise OperationalError("could not connect to server: secret.example.org")

        monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", refuse)
        monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", refuse)

    @pytest.mark.usefixtures("_no_database")
    def test_alive_but_not_ready(self, client):
        assert client.get("/healthz").status_code == 200
        response = client.get("/readyz")
        assert response.status_code == 503
        assert "secret" not in response.content.decode()

    @pytest.mark.usefixtures("_no_database")
    def test_a_question_is_told_to_come_back(self):
        from tests.clients import Api

        response = Api("ctx_whatever").get("query?find=key")
        assert error_of(response)["status"] == 503
        assert "secret" not in response.content.decode()

    def test_ready_names_every_part(self, client):
        body = client.get("/readyz").json()
        assert {"status", "database", "migrations", "indexes", "embedder"} <= body.keys()


class TestRetries:
    """Q11: a retry after a time-out finds what the first call did (parallel twins: tests/wire/test_idempotency)."""

    @pytest.mark.parametrize("path", ["memories", "captures"])
    def test_the_same_body_under_the_same_key_is_one_row(self, api, path):
        body = {"content": "The key is under the oak."}
        first = api.post(path, body, Idempotency_Key="k")
        again = api.post(path, body, Idempotency_Key="k")
        assert again.json() == first.json()
        assert again.status_code == first.status_code == 201
        (memory,) = Memory.objects.filter(vault=api.vault)
        assert memory.occurrences == 1

    def test_another_body_under_the_same_key_is_refused(self, api):
        api.post("memories", {"content": "The key is under the oak"}, Idempotency_Key="k")
        response = api.post("memories", {"content": "The key is in the barn"}, Idempotency_Key="k")
        assert response.status_code in {409, 422}
        assert Memory.objects.filter(vault=api.vault).count() == 1

    def test_the_order_of_keys_and_spaces_is_no_other_body(self, api):
        api.post("memories", {"content": "The key", "kind": "claim"}, Idempotency_Key="k")
        raw = json.dumps({"kind": "claim", "content": "The key"}, indent=3).encode()
        assert api.call("POST", "memories", raw=raw, Idempotency_Key="k").status_code == 201
        assert Memory.objects.get(vault=api.vault).occurrences == 1
