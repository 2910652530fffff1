"""Idempotency-Key: the first answer again, and one row, however often and however parallel."""

import json
import threading
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import time_machine
from django.db import connection

from memories.models import IdempotencyRecord, Memory
from memories.upkeep import sweep_vault
from tests.clients import Api, api_of
from tests.factories import make_token, make_vault


def in_parallel(count, act):
    """Run something in threads that start together; return what each answered."""
    gate, answers = threading.Barrier(count), [None] * count

    def run(number):
        try:
            gate.wait()
            answers[number] = act(number)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.django_db
class TestReplay:
    def test_the_same_body_gets_the_first_answer(self):
        api = api_of()
        first = api.post("memories", {"content": "It is so", "tags": ["a"]}, Idempotency_Key="k1")
        again = api.post("memories", {"tags": ["a"], "content": "It is so"}, Idempotency_Key="k1")
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert "Idempotency-Replayed" not in first
        assert again["Idempotency-Replayed"] == "true"
        assert Memory.objects.get(vault=api.vault).occurrences == 1

    def test_another_body_under_the_key_is_422(self):
        api = api_of()
        api.post("memories", {"content": "It is so"}, Idempotency_Key="k1")
        response = api.post("memories", {"content": "It is otherwise"}, Idempotency_Key="k1")
        assert response.status_code == 422
        assert response.json()["errors"][0]["field"] == "Idempotency-Key"
        assert Memory.objects.filter(vault=api.vault).count() == 1

    def test_another_route_under_the_key_is_422(self):
        api = api_of()
        api.post("memories", {"content": "It is so"}, Idempotency_Key="k1")
        assert api.post("captures", {"content": "It is so"}, Idempotency_Key="k1").status_code == 422

    def test_a_refused_call_leaves_the_key_free(self):
        api = api_of()
        refused = api.post(
            "memories", {"content": "It is so", "expires_at": "2020-01-01"}, Idempotency_Key="k1"
        )
        assert refused.status_code == 422
        assert api.post("memories", {"content": "It is so"}, Idempotency_Key="k1").status_code == 201

    def test_every_post_may_carry_a_key(self):
        api = api_of()
        old = api.remember("We use A", author="user")["ref"]
        bodies = [
            ("memories/bulk", {"memories": [{"content": "One"}, {"content": ""}]}),
            ("captures", {"content": "Ana likes tea."}),
            (f"memories/{old}/supersede", {"content": "We moved to B", "author": "user"}),
            (f"memories/{old}/approve", {}),
            (f"memories/{old}/archive", {}),
            (f"memories/{old}/redact", {}),
        ]
        for number, (path, body) in enumerate(bodies):
            first, again = (api.post(path, body, Idempotency_Key=f"k{number}") for _ in range(2))
            assert first.status_code in {200, 201}, first.content
            assert (first.status_code, first.json()) == (again.status_code, again.json())

    def test_the_key_is_the_tokens_own(self):
        vault = make_vault()
        first, second = api_of(vault), api_of(vault)
        first.post("memories", {"content": "It is so"}, Idempotency_Key="k1")
        assert (
            second.post("memories", {"content": "It is otherwise"}, Idempotency_Key="k1").status_code == 201
        )
        assert api_of().post("memories", {"content": "Theirs"}, Idempotency_Key="k1").status_code == 201

    @pytest.mark.parametrize("key", ["", "x" * 201, "tab\there"])
    def test_an_unusable_key_is_422(self, key):
        response = api_of().post("memories", {"content": "It is so"}, Idempotency_Key=key)
        assert response.status_code == 422

    def test_a_key_is_forgotten_after_a_day(self):
        with time_machine.travel(datetime(2030, 1, 1, tzinfo=UTC), tick=False) as clock:
            api = api_of()
            api.post("memories", {"content": "It is so"}, Idempotency_Key="k1")
            assert (
                sweep_vault(api.vault, now=datetime(2030, 1, 1, 23, tzinfo=UTC))["idempotency records"] == 0
            )
            clock.shift(timedelta(hours=25))
            assert sweep_vault(api.vault, now=datetime.now(UTC))["idempotency records"] == 1
        assert not IdempotencyRecord.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_parallel_calls_with_one_key_make_one_row_and_one_answer(self):
        vault = make_vault()
        secret = make_token(vault)[1]
        responses = in_parallel(
            16, lambda _: Api(secret).post("memories", {"content": "It is so"}, Idempotency_Key="k1")
        )
        assert {response.status_code for response in responses} == {201}
        assert len({json.dumps(response.json(), sort_keys=True) for response in responses}) == 1
        assert Memory.objects.get(vault=vault).occurrences == 1

    def test_parallel_twins_make_one_row(self):
        vault = make_vault()
        secret = make_token(vault)[1]
        responses = in_parallel(16, lambda _: Api(secret).post("memories", {"content": "It is so"}))
        statuses = sorted(response.status_code for response in responses)
        assert statuses == [200] * 15 + [201]
        assert Memory.objects.get(vault=vault).occurrences == 16

    def test_parallel_batches_of_twins_make_each_row_once(self):
        vault = make_vault()
        secret = make_token(vault)[1]
        items = [{"content": f"Fact {n} about Ana", "kind": "event"} for n in range(20)]
        responses = in_parallel(6, lambda _: Api(secret).post("memories/bulk", {"memories": items}))
        assert {response.status_code for response in responses} == {200}
        assert set(Memory.objects.filter(vault=vault).values_list("occurrences", flat=True)) == {6}
        assert Memory.objects.filter(vault=vault).count() == 20

    def test_of_parallel_successors_one_wins(self):
        vault = make_vault()
        api = api_of(vault)
        old = api.remember("We use A")["ref"]
        responses = in_parallel(
            8,
            lambda n: Api(api.headers["Authorization"][7:]).post(
                f"memories/{old}/supersede", {"content": f"We moved to {n}"}
            ),
        )
        statuses = sorted(response.status_code for response in responses)
        assert statuses == [201] + [409] * 7
        assert Memory.objects.filter(vault=vault).count() == 2

    def test_a_copy_of_what_is_being_forgotten_is_stored(self):
        vault = make_vault()
        api = api_of(vault)
        secret = api.headers["Authorization"][7:]

        def forget_or_repeat(ref, number):
            one = Api(secret)
            return (
                one.delete(f"memories/{ref}")
                if number == 0
                else one.post("memories", {"content": "It is so"})
            )

        for _ in range(5):
            ref = api.remember("It is so")["ref"]
            gone, told = in_parallel(2, partial(forget_or_repeat, ref))
            assert gone.status_code == 200
            assert told.status_code in {200, 201}
            assert Memory.objects.filter(vault=vault).count() == (1 if told.json()["ref"] != ref else 0)
            api.delete(f"memories/{told.json()['ref']}")
