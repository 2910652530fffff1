"""Hashed terms of memories, written anew where words are read otherwise than when they were stored."""

from collections.abc import Collection

from memories.core.text import hash_terms, pack_hashes, terms
from memories.models import Memory, Vault


def rehash(vault: Vault, memory_ids: Collection[int]) -> int:
    """Bring the hashed terms of some memories up to date; what is redacted keeps none.

    Args:
        memory_ids: as many as a statement may carry.
    Returns: how many had changed.
    """
    memories = Memory.objects.in_vault(vault.pk).filter(redacted_at__isnull=True)
    stored = memories.filter(pk__in=memory_ids).order_by("pk").values_list("pk", "content", "term_hashes")
    changed = 0
    for memory_id, content, held in stored:
        fresh = pack_hashes(hash_terms(terms(content, vault.language), vault.language))
        if fresh != bytes(held):
            changed += memories.filter(pk=memory_id).update(term_hashes=fresh)
    return changed
