"""The admin of vaults and what they hold. Django finds the pages by importing this package."""

from memories.admin.evidence import CaptureAdmin, MemoryAdmin
from memories.admin.front import add_cards, site
from memories.admin.inbox import add_inbox
from memories.admin.links import ConflictAdmin, DecisionAdmin, EntityAdmin, TombstoneAdmin
from memories.admin.vaults import AccessTokenAdmin, VaultAdmin
from memories.logins import PatientLoginForm

__all__ = [
    "AccessTokenAdmin",
    "CaptureAdmin",
    "ConflictAdmin",
    "DecisionAdmin",
    "EntityAdmin",
    "MemoryAdmin",
    "TombstoneAdmin",
    "VaultAdmin",
]

add_inbox()
site().login_form = PatientLoginForm
add_cards()
