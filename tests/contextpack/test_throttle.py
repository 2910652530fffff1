"""The rate of a token, whichever of the machine's workers it meets."""

import multiprocessing
from typing import Any

import pytest
import time_machine
from django.conf import settings as deployed
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from memories.access import Caller, TokenThrottle
from memories.models import Scope, Vault

_numbers = iter(range(10**15, 10**16))


@pytest.fixture(autouse=True)
def _limited(settings, tmp_path):
    settings.CORTEX_THROTTLE = "20/min"
    settings.THROTTLE_DIR = tmp_path


def request_of(token_id: int | None) -> Any:
    request: Any = Request(APIRequestFactory().get("/"))
    request.user = Caller(vault=Vault(slug="ana"), scopes=frozenset({Scope.READ}), token_id=token_id)
    return request


def let_in(token_id: int | None, calls: int) -> int:
    """Call as a worker does, with a throttle for each call; answer how many were let in."""
    return sum(TokenThrottle().allow_request(request_of(token_id), APIView()) for _ in range(calls))


def work(token_id: int, calls: int, told: Any) -> None:
    told.put(let_in(token_id, calls))


def test_workers_share_one_rate():
    token_id = next(_numbers)
    forking = multiprocessing.get_context("fork")
    told = forking.Queue()
    workers = [forking.Process(target=work, args=(token_id, 15, told)) for _ in range(4)]
    for worker in workers:
        worker.start()
    granted = [told.get(timeout=20) for _ in workers]
    for worker in workers:
        worker.join()
    assert sum(granted) == 20
    assert let_in(token_id, 1) == 0


def test_each_token_has_its_own():
    assert (let_in(next(_numbers), 25), let_in(next(_numbers), 25)) == (20, 20)


def test_the_operators_key_has_none():
    assert let_in(None, 50) == 50


def test_room_comes_back_as_calls_grow_old():
    token_id = next(_numbers)
    with time_machine.travel(1_000_000.0, tick=False) as clock:
        assert let_in(token_id, 5) == 5
        clock.shift(30)
        assert let_in(token_id, 20) == 15
        refused = TokenThrottle()
        assert not refused.allow_request(request_of(token_id), APIView())
        assert 0 < (refused.wait() or 0) <= 60
        clock.shift(31)
        assert let_in(token_id, 20) == 5


def test_a_write_that_was_cut_off_stops_nobody():
    token_id = next(_numbers)
    assert let_in(token_id, 3) == 3
    kept = deployed.THROTTLE_DIR / str(token_id)
    kept.write_bytes(kept.read_bytes()[:-3])
    assert let_in(token_id, 30) == 18
