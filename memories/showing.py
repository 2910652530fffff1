"""One memory whole: what it says and cites, whom it names, what replaced it, what it contradicts."""

from typing import Any

from memories.access import Caller
from memories.models import Memory
from memories.reading import chain_of, companions_of
from memories.wire import memory_as_wire, source_as_wire, step_as_wire


def memory_document(caller: Caller, memory: Memory) -> dict[str, Any]:
    beside = companions_of(caller.vault.pk, [memory])
    sources = beside.sources.get(memory.pk, [])
    shown = memory_as_wire(
        memory, sources, beside.entities.get(memory.pk, ()), conflicted=memory.pk in beside.conflicts
    )
    return {
        **shown,
        "sources": [source_as_wire(source) for source in sources],
        "chain": [step_as_wire(step) for step in chain_of(caller, memory)],
    }
