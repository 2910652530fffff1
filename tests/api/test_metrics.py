"""`/metrics` of a server with two workers: right whichever answers, for its operator alone, and without anybody's data."""

import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client as Page
from prometheus_client.parser import text_string_to_metric_families

from contextpack.demo.client import Client
from contextpack.demo.server import HOST, Server, throwaway_server
from cortex.api.meters import Count, Meters, meters
from memories.models import ALL_SCOPES, Scope
from tests.clients import Api, api_of

WATCHER, OPERATOR = "watching-only", "operators-own"
SECRET = "Zebulon"

Figures = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    settings = {"CORTEX_METRICS_TOKEN": WATCHER, "CORTEX_API_KEY": OPERATOR, "CORTEX_THROTTLE": "40/min"}
    with throwaway_server(workers=2, settings=settings) as server:
        yield server


def text_of(server: Server, token: str = WATCHER) -> str:
    with_token = Client(host=HOST, port=server.port, token=token)
    try:
        return with_token.get("/metrics").body.decode()
    finally:
        with_token.close()


def figures(text: str) -> Figures:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def since(before: Figures, after: Figures) -> Figures:
    return {named: value - before.get(named, 0.0) for named, value in after.items()}


def figure(told: Figures, name: str, **labels: str) -> float:
    return told.get((name, frozenset(labels.items())), 0.0)


def each_from_a_new_connection(server: Server, token: str, calls: list[tuple[str, str, Any]]) -> None:
    for method, path, body in calls:
        client = Client(host=HOST, port=server.port, token=token)
        client.call(method, path, body=body, expect=None)
        client.close()


def workers_of(server: Server) -> set[int]:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return {int(pid) for pid in children.read_text().split()}


class TestTwoWorkers:
    def test_every_answer_counts_once_whoever_gave_it_and_a_killed_worker_takes_none_along(self, running):
        asked: list[tuple[str, str, Any]] = [
            ("POST", "/v1/memories", {"content": f"{SECRET} keeps ledger {n}"}) for n in range(8)
        ]
        asked += [("GET", "/v1/memories/mem_zzzzzzzzzzzz", None)] * 8
        asked += [("POST", "/v1/context", {"task": f"{SECRET}?"})] * 4
        turn: dict[str, Any] = {"task": f"{SECRET}?", "session_id": "s", "delta": "content"}
        asked += [("POST", "/v1/context", {**turn, "token_budget": 1_000 + n}) for n in range(2)]
        before = figures(text_of(running))
        each_from_a_new_connection(running, OPERATOR, asked)
        told = since(before, figures(text_of(running)))
        requests = "cortex_requests_total"
        missing = {"route": "/v1/memories/<str:ref>", "method": "GET", "status": "404"}
        assert figure(told, requests, route="/v1/memories", method="POST", status="201") == 8
        assert figure(told, requests, **missing) == 8
        assert figure(told, "cortex_request_seconds_count", route="/v1/context") == 6
        assert sum(value for (name, _), value in told.items() if name == "cortex_packs_total") == 6
        assert figure(told, "cortex_pack_tokens_total") > 0
        assert figure(told, "cortex_delta_tokens_saved_total") > 0
        workers = workers_of(running)
        os.kill(min(workers), signal.SIGKILL)
        ends_at = time.monotonic() + 20
        while len(workers_of(running) - {min(workers)}) < 2 and time.monotonic() < ends_at:
            time.sleep(0.02)
        each_from_a_new_connection(running, OPERATOR, [("GET", "/v1/memories/mem_zzzzzzzzzzzz", None)] * 8)
        assert figure(since(before, figures(text_of(running))), requests, **missing) == 16
        seats = [path.name for path in (running.folder / "metrics").glob("counter_*.db")]
        assert len(seats) == 2

    def test_it_tells_how_the_server_is(self, running):
        told = figures(text_of(running))
        assert figure(told, "cortex_database_up") == 1
        assert sum(value for (name, _), value in told.items() if name == "cortex_embedder_info") == 1
        for quiet in ("receipts_waiting", "embedding_trouble", "pending_vectors", "degraded_answers_total"):
            assert (f"cortex_{quiet}", frozenset()) in told
            assert figure(told, f"cortex_{quiet}") == 0

    def test_refusals_are_counted(self, running):
        before = figures(text_of(running))
        each_from_a_new_connection(running, running.token, [("GET", "/v1/sessions", None)] * 45)
        told = since(before, figures(text_of(running)))
        assert figure(told, "cortex_throttle_refusals_total") == 5
        refused = {"route": "/v1/sessions", "method": "GET", "status": "429"}
        assert figure(told, "cortex_requests_total", **refused) == 5

    def test_no_label_holds_a_slug_a_ref_a_token_or_a_text(self, running):
        client = Client(host=HOST, port=running.port, token=OPERATOR)
        path = f"/v1/sessions/{SECRET}"
        ref = client.post(
            "/v1/memories", {"content": f"{SECRET} lives at the quay", "project": "quay"}, expect=201
        ).json()["ref"]
        for method, address in (
            ("GET", f"/v1/memories/{ref}"), ("GET", path), ("DELETE", path), ("GET", f"/m/{ref}"),
            ("GET", f"/{SECRET}/{ref}"), ("GET", f"/v1/query?find={SECRET}"), (SECRET.upper(), "/v1/memories"),
            ("GET", f"/admin/memories/memory/{ref}/change/"), ("GET", f"/static/{SECRET}.js"),
        ):  # fmt: skip
            client.call(method, address, expect=None)
        client.close()
        text = text_of(running)
        assert "/v1/sessions/<path:session_id>" in text
        for hidden in (SECRET, SECRET.upper(), ref, "quay", OPERATOR, WATCHER, running.token, "default"):
            assert hidden not in text
        assert not re.search(r"\b(mem|cap|ent|con|rcp|pin|ctx)_\w+", text.replace("session_id", ""))

    def test_each_figure_says_what_it_is(self, running):
        for family in text_string_to_metric_families(text_of(running)):
            assert family.name.startswith("cortex_")
            assert family.documentation


@pytest.mark.django_db
class TestWhoMayLook:
    def status(self, token: str | None, word: str = "Bearer") -> int:
        headers = {} if token is None else {"Authorization": f"{word} {token}"}
        return Page().get("/metrics", headers=headers).status_code

    def test_the_keys_of_the_operator_open_it_and_nothing_else_where_one_is_set_for_it(self, settings):
        settings.CORTEX_METRICS_TOKEN, settings.CORTEX_API_KEY = WATCHER, OPERATOR
        assert (self.status(WATCHER), self.status(OPERATOR)) == (200, 200)
        assert (self.status(WATCHER, "bearer"), self.status(WATCHER, "Basic")) == (200, 401)
        assert (self.status(None), self.status("ctx_nobody"), self.status("")) == (401, 401, 401)
        admin = api_of(scopes=ALL_SCOPES)
        assert admin.client.get("/metrics", headers=admin.headers).status_code == 403

    def test_without_such_a_key_a_vaults_admin_reads_it_and_no_lesser_token(self):
        for scope, status in ((Scope.ADMIN, 200), (Scope.READ, 403), (Scope.WRITE, 403), (Scope.REVIEW, 403)):
            api = api_of(scopes=[scope])
            response = api.client.get("/metrics", headers=api.headers)
            assert response.status_code == status
            assert (response["Content-Type"] == "application/problem+json") == (status == 403)

    def test_the_watchers_key_opens_nothing_else(self, settings):
        settings.CORTEX_METRICS_TOKEN = WATCHER
        assert Api(WATCHER).get("stats").status_code == 401

    def test_it_answers_the_operator_while_the_database_is_down(self, settings, monkeypatch):
        settings.CORTEX_METRICS_TOKEN = WATCHER

        def refuse(*_: Any, **__: Any) -> Any:
            raise OperationalError("no route to host")

        monkeypatch.setattr("cortex.metrics.connection.cursor", refuse)
        response = Page().get("/metrics", headers={"Authorization": f"Bearer {WATCHER}"})
        assert response.status_code == 200
        assert "cortex_database_up 0.0" in response.content.decode()


class TestCounting:
    def test_what_is_no_server_counts_nothing_and_loads_nothing(self):
        assert not meters.collect_into(None)  # type: ignore[arg-type] # nothing is registered
        Meters().count(Count.PACKS, format="json", coverage="complete")

    def test_a_folder_that_cannot_be_made_stops_no_server(self, tmp_path, caplog):
        (tmp_path / "taken").write_text("")
        own = Meters()
        own.start(tmp_path / "taken")
        own.answered("v1/context", "GET", 200, 0.1)
        assert "nothing is counted" in caplog.text
