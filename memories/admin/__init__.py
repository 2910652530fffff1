"""The admin of vaults and what they hold. Django finds the pages by importing this package."""

from django.contrib import admin

from memories.admin.evidence import CaptureAdmin, MemoryAdmin
from memories.admin.links import ConflictAdmin, EntityAdmin, TombstoneAdmin
from memories.admin.vaults import AccessTokenAdmin, VaultAdmin

__all__ = [
    "AccessTokenAdmin",
    "CaptureAdmin",
    "ConflictAdmin",
    "EntityAdmin",
    "MemoryAdmin",
    "TombstoneAdmin",
    "VaultAdmin",
]

admin.site.site_url = None  # there is no site beside the API that "View site" could lead to
