"""The search arms: index a memory, look up a task. They answer ids and scores, never rows.

`fulltext` finds words, `vectors` finds meaning (by way of `embedding`), `naming` finds who and what is named;
`facade` keeps the first two in step.
"""

from memories.search.facade import drop_memories, index_memories, probe, reindex

__all__ = ["drop_memories", "index_memories", "probe", "reindex"]
