"""Moments: in UTC, half-open, and each on its own axis (J1, J7, J8)."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from tests.clients import api_of
from tests.wire.asking import ask, blamed, expand, items, ok, query, refs, smp, use

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def api():
    return api_of()


def at(day: int) -> datetime:
    return BEGIN + DAY * (day - 1)


class TestForms:
    """J1: naive, Zulu and offset moments, mixed."""

    WRITTEN = (
        "2026-01-15T10:30:00",
        "2026-01-15T10:30:00Z",
        "2026-01-15T19:30:00+09:00",
        "2026-01-15T05:30-05:00",
    )

    def test_all_forms_of_one_moment_are_that_moment(self, api):
        for number, written in enumerate(self.WRITTEN):
            told = api.remember(f"The gate was locked, entry {number}", occurred_at=written)
            assert told["occurred_at"] == "2026-01-15T10:30:00+00:00"
        assert {item["occurred_at"] for item in items(smp(api, "gate entry"))} == {
            "2026-01-15T10:30:00+00:00"
        }

    @pytest.mark.parametrize("form", ["{}", "{}Z", "{}+00:00"])
    def test_a_moment_asked_for_in_any_form_is_compared_in_utc(self, api, form):
        for number, written in enumerate(self.WRITTEN):
            api.remember(f"The gate was locked, entry {number}", occurred_at=written)
        just_before, just_then = (
            form.format(text) for text in ("2026-01-15T10:29:59", "2026-01-15T10:30:00")
        )
        assert refs(smp(api, "gate", as_of=just_before)) == []
        assert len(refs(smp(api, "gate", as_of=just_then))) == 4
        assert refs(query(api, find="gate", as_of=just_before)) == []
        assert len(refs(query(api, find="gate", as_of=just_then))) == 4

    @pytest.mark.parametrize(
        "odd",
        ["yesterday", "2026-13-01", "2026-02-30", "15.01.2026", "1768473000", "", "0000-01-01", "10:30"],
    )
    def test_what_is_no_moment_is_refused(self, api, odd):
        assert blamed(ask(api, "gate", as_of=odd)) == {"as_of"}
        assert blamed(ask(api, "gate", known_at=odd)) == {"known_at"}
        assert blamed(api.post("query", {"find": "gate", "as_of": odd})) == {"as_of"}
        assert blamed(api.post("memories", {"content": "x", "occurred_at": odd})) == {"occurred_at"}

    @pytest.mark.parametrize(
        "edge", ["0001-01-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "9999-12-31"]
    )
    def test_the_ends_of_the_calendar_are_no_500(self, api, edge):
        api.remember("The gate was locked")
        assert ask(api, "gate", as_of=edge, known_at=edge).status_code in {200, 422}
        assert api.post("query", {"find": "gate", "as_of": edge}).status_code in {200, 422}
        assert api.post("memories", {"content": "x", "occurred_at": edge}).status_code in {201, 422}


class TestTwoAxes:
    """J7: written down on day five about day one; asked as of day two."""

    @pytest.fixture
    def written(self, api):
        with time_machine.travel(at(5), tick=False):
            return api.remember("The gate was locked", occurred_at=at(1).isoformat())["ref"]

    @pytest.mark.parametrize(
        ("as_of", "known_at", "seen"),
        [
            (2, 10, True),
            (2, 5, True),
            (2, 4, False),
            (10, 4, False),
            (0, 10, False),
            (1, 5, True),
            (10, 10, True),
        ],
    )
    def test_each_axis_is_judged_by_itself(self, api, written, as_of, known_at, seen):
        with time_machine.travel(at(20), tick=False):
            moments = {"as_of": at(as_of).isoformat(), "known_at": at(known_at).isoformat()}
            expected = [written] if seen else []
            assert refs(smp(api, "gate", **moments)) == expected
            assert refs(query(api, find="gate", **moments)) == expected
            assert refs(query(api, ask="gate", **moments)) == expected

    def test_a_supersession_counts_from_when_it_was_known_and_true(self, api):
        with time_machine.travel(at(1), tick=False):
            old = api.remember("The gate is red")["ref"]
        with time_machine.travel(at(5), tick=False):
            new = api.post(f"memories/{old}/supersede", {"content": "The gate is blue"}).json()["ref"]
        with time_machine.travel(at(20), tick=False):
            for moments, expected in (
                ({}, [new]),
                ({"as_of": at(3)}, [old]),
                ({"known_at": at(3)}, [old]),
                ({"as_of": at(6)}, [new]),
                ({"as_of": at(6), "known_at": at(3)}, [old]),
            ):
                asked = {name: moment.isoformat() for name, moment in moments.items()}
                assert refs(smp(api, "gate", **asked)) == expected, moments
                assert refs(query(api, find="gate", **asked)) == expected, moments

    def test_a_look_into_the_past_is_stable(self, api, written):
        moments = {"as_of": at(6).isoformat(), "known_at": at(6).isoformat()}
        with time_machine.travel(at(7), tick=False):
            before = smp(api, "gate", model="claude", **moments)
        with time_machine.travel(at(90), tick=False):
            api.remember("The gate is blue")
            after = smp(api, "gate", model="claude", **moments)
        assert refs(after) == refs(before) == [written]
        assert [item["content"] for item in after["items"]] == [item["content"] for item in before["items"]]


class TestEdges:
    """J8: half-open intervals, and days that are not like the others."""

    @pytest.mark.parametrize(("second", "seen"), [(-1, True), (0, False), (1, False)])
    def test_what_is_valid_until_then_is_not_valid_then(self, api, second, seen):
        end = at(5)
        ref = api.remember("The gate is red", valid_from=at(1).isoformat(), valid_to=end.isoformat())["ref"]
        as_of = (end + timedelta(seconds=second)).isoformat()
        assert refs(smp(api, "gate", as_of=as_of)) == ([ref] if seen else [])
        assert refs(query(api, find="gate", as_of=as_of)) == ([ref] if seen else [])

    @pytest.mark.parametrize(("second", "seen"), [(-1, False), (0, True), (1, True)])
    def test_what_is_valid_from_then_is_valid_then(self, api, second, seen):
        ref = api.remember("The gate is red", valid_from=at(5).isoformat())["ref"]
        as_of = (at(5) + timedelta(seconds=second)).isoformat()
        assert refs(smp(api, "gate", as_of=as_of)) == ([ref] if seen else [])

    @pytest.mark.parametrize("second", [-1, 0, 1])
    def test_what_expires_then_is_expired_then(self, api, second):
        with time_machine.travel(at(1), tick=False):
            ref = api.remember("The gate is red", expires_at=at(5).isoformat())["ref"]
        with time_machine.travel(at(5) + timedelta(seconds=second), tick=False):
            assert refs(smp(api, "gate")) == ([ref] if second < 0 else [])

    def test_a_date_is_the_start_of_its_day(self, api):
        ref = api.remember("The gate is red", valid_from="2026-03-05")["ref"]
        assert refs(smp(api, "gate", as_of="2026-03-04T23:59:59Z")) == []
        assert refs(smp(api, "gate", as_of="2026-03-05")) == [ref]
        assert refs(query(api, find="gate", as_of="2026-03-05")) == [ref]

    @pytest.mark.parametrize(
        ("written", "utc"),
        [
            ("2028-02-29", "2028-02-29T00:00:00+00:00"),  # a leap day
            ("2026-10-25T02:30:00+02:00", "2026-10-25T00:30:00+00:00"),  # the hour that comes twice, first
            ("2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00+00:00"),  # and second
            ("2026-W10-1", "2026-03-02T00:00:00+00:00"),  # an ISO week
            ("20260302T090000Z", "2026-03-02T09:00:00+00:00"),  # the basic form
            ("2026-03-02T09:00:00.123456Z", "2026-03-02T09:00:00.123456+00:00"),
        ],
    )
    def test_odd_days_are_read_alike_everywhere(self, api, written, utc):
        assert api.remember("The gate is red", valid_from=written)["valid_from"] == utc
        assert query(api, find="gate", as_of=written)["mql"]["as_of"] == utc
        assert len(refs(smp(api, "gate", as_of=written))) == 1
        just_before = (datetime.fromisoformat(utc) - timedelta(microseconds=1)).isoformat()
        assert refs(smp(api, "gate", as_of=just_before)) == []

    def test_a_leap_day_in_a_common_year_is_refused(self, api):
        assert blamed(ask(api, "gate", as_of="2026-02-29")) == {"as_of"}

    def test_the_future_is_not_true_yet(self, api):
        with time_machine.travel(at(1), tick=False):
            ref = api.remember("The gate will be blue", valid_from=at(9).isoformat())["ref"]
            assert refs(smp(api, "gate")) == []
            assert refs(smp(api, "gate", as_of=at(9).isoformat())) == [ref]
            assert ok(expand(api, ref))["document"]["ref"] == ref

    def test_a_plan_for_the_future_is_known_today(self, api):
        with time_machine.travel(at(1), tick=False):
            ref = api.remember("The gate will be painted", occurred_at=at(30).isoformat())["ref"]
            assert refs(smp(api, "gate")) == [ref]

    def test_recency_is_measured_from_as_of(self, api):
        """What was said lately then is as recent as if it were then."""
        task, old, new = "gate paint", "The gate got red paint", "The gate needs new paint"
        with time_machine.travel(at(1), tick=False):
            api.remember(old)
        with time_machine.travel(at(25), tick=False):
            api.remember(new)
            then = smp(api, task, model="claude")
        later = datetime(2029, 3, 1, tzinfo=UTC)
        with time_machine.travel(later, tick=False):
            moments = {"as_of": at(25).isoformat(), "known_at": at(25).isoformat()}
            assert smp(api, task, model="claude", **moments)["items"] == then["items"]
            ids = {
                name: smp(api, task, model="claude", **asked)["receipt"]["id"]
                for name, asked in (("then", moments), ("now", {}))
            }
            utility = {
                name: [item["utility"] for item in api.get(f"receipts/{ref}").json()["items"]]
                for name, ref in ids.items()
            }
        assert all(a > b for a, b in zip(utility["then"], utility["now"], strict=True))

    def test_the_tools_take_both_moments(self, api):
        with time_machine.travel(at(5), tick=False):
            ref = api.remember("The gate was locked", occurred_at=at(1).isoformat())["ref"]
        for known_at, expected in ((4, []), (6, [ref])):
            moments = {"as_of": at(2).isoformat(), "known_at": at(known_at).isoformat()}
            assert refs(use(api, "get_context", task="gate", format="smp", **moments)) == expected
            assert refs(use(api, "query_memory", find="gate", **moments)) == expected
