"""The login of the admin, slowed down for whoever guesses: so many tries for a name from one address, and in all from one.

A try counts before it is judged, so that many at once gain nothing, and is taken back where it was right. Names and
addresses are kept as one of a fixed number of files, by a keyed digest: no list of strangers grows on the disk.
"""

from typing import Any, Final

from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from cortex.api.addresses import origin_of
from cortex.api.meters import Count, meters
from memories.access import TokenThrottle

FILES: Final = 4_096
TRIES_FOR_A_NAME: Final = "20/hour"
TRIES_FROM_AN_ADDRESS: Final = "100/hour"


class _NameThrottle(TokenThrottle):
    def get_rate(self) -> str:
        return TRIES_FOR_A_NAME


class _AddressThrottle(TokenThrottle):
    def get_rate(self) -> str:
        return TRIES_FROM_AN_ADDRESS


class PatientLoginForm(AdminAuthenticationForm):
    """The admin's own form, which judges no password beyond the rate."""

    retry_after: int = 0  # seconds, where the try was refused unseen

    def clean(self) -> dict[str, Any]:
        tries = _tries(self.request, str(self.cleaned_data.get("username", "")))
        for throttle, name in tries:
            if not throttle.lets_in(name):
                meters.count(Count.LOGINS_REFUSED)
                self.retry_after = max(1, round(throttle.wait() or 1))
                raise ValidationError(
                    "Too many tries. Wait a while, and try again.", code="too_many", params={}
                )
        cleaned = super().clean()  # raises where the password is wrong
        for throttle, name in tries:
            throttle.take_back(name)
        return cleaned


def _tries(request: HttpRequest | None, username: str) -> list[tuple[TokenThrottle, str]]:
    address = "" if request is None else origin_of(request)
    return [
        (_AddressThrottle(), _file_of(address)),
        (_NameThrottle(), _file_of(f"{username}\n{address}")),
    ]


def _file_of(who: str) -> str:
    digest = salted_hmac("cortex.logins", who, secret=settings.SECRET_KEY, algorithm="sha256").digest()
    return f"login-{int.from_bytes(digest[:4], 'big') % FILES}"
