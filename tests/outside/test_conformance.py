"""What `make conformance` makes of the suite's findings."""

import pytest

from tests.outside.conformance import Check, _expected, _report

pytestmark = pytest.mark.engine_free


def found(name: str, status: str) -> Check:
    return Check(revision="2026-07-28", scenario="some", name=name, status=status, message="because")


@pytest.mark.parametrize(
    ("checks", "code", "said"),
    [
        ([], 2, "ran nothing"),
        ([found("ping", "SUCCESS"), found("known", "FAILURE")], 0, "1 passed, 1 expected failures, 0 others"),
        ([found("ping", "FAILURE"), found("known", "FAILURE")], 1, "FAILED   2026-07-28 some ping: because"),
        ([found("ping", "SUCCESS"), found("known", "SUCCESS")], 1, "PASSES   known: take it off"),
        ([found("ping", "WARNING"), found("known", "FAILURE")], 0, "0 passed, 1 expected failures, 0 others"),
    ],
)
def test_it_ends_with_what_it_found(checks, code, said, capsys):
    assert _report(checks, {"known": "a reason"}) == code
    assert said in capsys.readouterr().out


def test_every_expected_failure_has_its_reason_and_is_named_once():
    expected = _expected()
    assert all(len(reason) > 20 for reason in expected.values())
    assert "ping" not in expected
    assert "tools-list" not in expected
