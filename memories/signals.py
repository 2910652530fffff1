"""The messages that travel upward: content was withdrawn, a vault or the server is swept; whoever keeps a
copy, or something else of it, does its part."""

from django.dispatch import Signal

content_withdrawn = Signal()
"""Sent inside the withdrawing transaction.

Arguments: vault_id (str), refs (frozenset[str]), erase (bool: forgotten or redacted, so copies of the text go too),
texts (tuple[str, ...]: what is erased, so that a quote of it can be cut out of what stays; empty unless `erase`).
A receiver returns a mapping of what it erased to how much, or None.
"""

vault_swept = Signal()
"""Sent by the upkeep of a vault, for the rows of apps further up that have had their time.

Arguments: vault_id (str), now (datetime). A receiver returns a mapping of what it dropped to how much, or None.
"""

server_swept = Signal()
"""Sent by the upkeep of what belongs to no vault.

Arguments: now (datetime). A receiver returns a mapping of what it dropped to how much, or None.
"""

capture_waits = Signal()
"""Sent once a capture is committed that a language model has yet to read. No arguments, no answer."""
