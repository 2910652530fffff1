"""Addresses within the admin, and which addresses of others may be followed from it."""

from typing import Any, Final
from urllib.parse import urlsplit

from django.contrib.admin.utils import quote
from django.db import models
from django.urls import reverse
from django.utils.http import urlencode

from memories.models import Capture
from memories.writing.citing import CAPTURE_PREFIX

WEB_SCHEMES: Final = frozenset({"http", "https"})


def row_key(vault_id: str, key: object) -> str:
    """Name a row of a vault; a page of the admin is found by its vault first."""
    return f"{vault_id}.{key}"


def row_url(model: type[models.Model], vault_id: str, key: object) -> str:
    """Return the address of a row's page."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
    return reverse(name, args=(quote(row_key(vault_id, key)),))


def list_url(model: type[models.Model], vault_id: str, **narrowed_by: Any) -> str:
    """Return the address of a vault's list of rows."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
    return f"{reverse(name)}?{urlencode({'vault': vault_id, **narrowed_by})}"


def followable(vault_id: str, url: str) -> str | None:
    """Turn a citation into what a person may click: a web address, or the page of a capture.

    Returns: None for any other scheme; what is stored may be hostile, and is then shown as plain text.
    """
    if url.startswith(CAPTURE_PREFIX):
        return row_url(Capture, vault_id, url.removeprefix(CAPTURE_PREFIX))
    return url if _is_web_address(url) else None


def _is_web_address(url: str) -> bool:
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in WEB_SCHEMES and bool(parts.hostname)
