"""The admin of what was served, and of what would be. Django finds the pages by importing this package."""

from contextpack.admin import overview, playground
from contextpack.admin.pins import PinAdmin
from contextpack.admin.probes import ProbeAdmin
from contextpack.admin.receipts import ReceiptAdmin
from contextpack.models import Pin, Receipt
from memories.admin.front import counted, site

__all__ = ["PinAdmin", "ProbeAdmin", "ReceiptAdmin"]

site().add_page(overview.PAGE)
site().add_page(playground.PAGE)
site().add_card(
    "receipts", counted("Receipts", Receipt.objects.all(), says="packs that were served, and why")
)
site().add_card("pins", counted("Pins", Pin.objects.all(), says="packs that are kept byte for byte"))
