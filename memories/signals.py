"""The one message that travels upward: content was withdrawn, whoever keeps a copy must drop it."""

from django.dispatch import Signal

content_withdrawn = Signal()
"""Sent inside the withdrawing transaction.

Arguments: vault_id (str), refs (frozenset[str]), erase (bool: forgotten or redacted, so copies of the text go too).
A receiver returns a mapping of what it erased to how much, or None.
"""
