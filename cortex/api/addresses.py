"""From where a request comes, as far as that can be believed."""

from ipaddress import AddressValueError, IPv6Address, IPv6Network
from typing import Final

from django.conf import settings
from django.http import HttpRequest

_HOMES_BITS: Final = 64  # whoever has one address of version 6 has all that begin so


def origin_of(request: HttpRequest) -> str:
    """Return the client's address, or its network where it has many.

    Behind a proxy (CORTEX_PROXY) that is the last one in X-Forwarded-For, which the proxy itself wrote; whatever
    stands before it a client may have made up.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    if settings.PROXY:
        address = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip() or address
    try:
        parsed = IPv6Address(address)
    except AddressValueError:
        return address
    mapped = parsed.ipv4_mapped
    return str(mapped or IPv6Network((int(parsed), _HOMES_BITS), strict=False))
