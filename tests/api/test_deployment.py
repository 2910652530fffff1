"""A deployment as it should be: what Django's own check finds, who may guess passwords, and what is known of our packages."""

import re
import threading
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from cortex.api.addresses import origin_of
from memories.logins import FILES
from tests.api.test_starting import manage
from tests.audit import verdict

PRODUCTION = {
    "CORTEX_PRODUCTION": "1",
    "CORTEX_SECRET_KEY": "a-key-of-a-test-8dJ2nQ5xLw0Zr3Yb7Vt1Gm6Kc9Hs4Pf-AeUiOyTqWx",
    "CORTEX_ALLOWED_HOSTS": "memory.example.org",
}
OAUTH = {"CORTEX_OAUTH": "1", "CORTEX_PUBLIC_URL": "https://memory.example.org"}


@pytest.mark.parametrize("more", [{}, OAUTH], ids=["plain", "oauth"])
def test_the_check_for_deployments_finds_nothing(tmp_path, more):
    ended = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION, **more)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.django_db
class TestGuessing:
    PASSWORD = "a long and honest password"

    @pytest.fixture(autouse=True)
    def _fresh(self, settings, tmp_path):
        settings.THROTTLE_DIR = tmp_path
        User.objects.create_superuser("ana", password=self.PASSWORD)

    def login(self, password: str, name: str = "ana", address: str = "192.0.2.1", **headers: str) -> Any:
        form = {"username": name, "password": password}
        return Client(headers=headers).post("/admin/login/?next=/admin/", form, REMOTE_ADDR=address)

    def test_after_twenty_wrong_tries_not_even_the_right_one_is_judged(self):
        assert {self.login("wrong").status_code for _ in range(20)} == {200}
        refused = self.login(self.PASSWORD)
        assert refused.status_code == HTTPStatus.TOO_MANY_REQUESTS
        assert 0 < int(refused["Retry-After"]) <= 3_600
        assert "Too many tries" in refused.content.decode()
        assert self.login(self.PASSWORD, address="192.0.2.2").status_code == HTTPStatus.FOUND

    def test_whoever_knows_the_password_logs_in_as_often_as_they_like(self):
        assert {self.login(self.PASSWORD).status_code for _ in range(25)} == {302}

    def test_one_address_guesses_many_names_no_faster(self):
        told = [self.login("wrong", name=f"name-{number}").status_code for number in range(105)]
        assert told.count(429) >= 5
        assert set(told[:90]) == {200}

    def test_many_at_once_gain_nothing(self):
        told: list[bool] = []
        barrier = threading.Barrier(8)

        def guess() -> None:
            from memories.logins import _NameThrottle

            barrier.wait()
            told.extend(_NameThrottle().lets_in("login-x") for _ in range(10))

        threads = [threading.Thread(target=guess) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert told.count(True) == 20

    def test_strangers_fill_no_disk(self, settings, tmp_path):
        for number in range(30):
            self.login("wrong", name=f"name-{number}" * 50, address=f"198.51.100.{number}")
        kept = [path.name for path in Path(settings.THROTTLE_DIR).iterdir()]
        assert all(re.fullmatch(r"login-\d+", name) and int(name[6:]) < FILES for name in kept)


class TestOrigin:
    def origin(self, address: str, forwarded: str = "") -> str:
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        return origin_of(RequestFactory().get("/", REMOTE_ADDR=address, headers=headers))

    def test_without_a_proxy_no_header_is_believed(self, settings):
        settings.PROXY = False
        assert self.origin("192.0.2.1", "10.0.0.1") == "192.0.2.1"

    def test_behind_one_it_is_what_the_proxy_wrote_last(self, settings):
        settings.PROXY = True
        assert self.origin("10.0.0.1", "made.up, 192.0.2.7") == "192.0.2.7"
        assert self.origin("10.0.0.1") == "10.0.0.1"

    def test_a_network_of_version_six_is_one_origin(self):
        assert self.origin("2001:db8::1") == self.origin("2001:db8::ffff:1") == "2001:db8::/64"
        assert self.origin("::ffff:192.0.2.1") == "192.0.2.1"


class TestAudit:
    SAFE = {"name": "django", "version": "6.0", "vulns": []}
    UNSAFE = {"name": "gone", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}
    UNKNOWN = {"name": "ours", "skip_reason": "not found"}

    def test_a_flaw_fails_and_is_named(self):
        code, lines = verdict({"dependencies": [self.SAFE, self.UNSAFE, self.UNKNOWN]})
        assert code == 1
        assert lines == [
            "Advisories: 2 packages asked about, 1 unknown, 1 found",
            "  gone 1: PYSEC-1, mended in 2",
        ]

    @pytest.mark.parametrize("report", [None, {"dependencies": [UNKNOWN]}])
    def test_where_nobody_can_be_asked_it_says_so(self, report):
        code, lines = verdict(report)
        assert code == 0
        assert "SKIPPED" in lines[0]
