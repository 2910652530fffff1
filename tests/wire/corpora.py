"""Vaults with enough in them to fill, and to overfill, a pack."""

from datetime import timedelta
from random import Random

from memories.core.kinds import Kind
from memories.models import Memory, Vault
from memories.search.facade import index_memories
from tests.factories import LONG_AGO, make_memory

TASK = "Plan the launch of Atlas: what was decided about the search index and the release?"

_SUBJECTS = (
    "The Atlas launch", "The search index", "The release checklist", "The billing service", "Ana",
    "The mobile client", "The on-call rota", "Bob", "The import job", "The Lisbon office",
)  # fmt: skip
_CLAIMS = (
    "depends on the migration of the ledger, which {number} tables still wait for",
    "was moved to week {number} after the rehearsal",
    "keeps its settings in a file of {number} lines that nobody may edit by hand",
    "needs {number} reviewers before anything is merged",
    "is watched by {number} alerts, each with its own runbook",
    "costs {number} euros a month since the contract was renewed",
)
_DETAILS = (
    "The reason is written down in the minutes of the spring workshop. ",
    "Whoever changes it tells the team in the morning meeting first. ",
    "It had been tried another way before, and that way took twice as long. ",
    "A rehearsal on a copy of last month's data showed no surprises. ",
)
_KINDS = (
    Kind.CLAIM, Kind.DECISION, Kind.CLAIM, Kind.PROCEDURE, Kind.EVENT, Kind.CLAIM, Kind.PREFERENCE,
    Kind.QUESTION, Kind.NEGATIVE, Kind.ACTION,
)  # fmt: skip


def make_corpus(vault: Vault, count: int, *, seed: int = 1) -> list[Memory]:
    """Store memories of every kind, from a few words to a few hundred; equal seeds say the same."""
    chance = Random(seed)
    made = [_make(vault, number, chance, ref=f"mem_{seed:02d}{number:010d}") for number in range(count)]
    index_memories(vault, [(memory.pk, memory.content) for memory in made])
    return made


def _make(vault: Vault, number: int, chance: Random, *, ref: str) -> Memory:
    subject = _SUBJECTS[number % len(_SUBJECTS)]
    claim = f"{subject} {chance.choice(_CLAIMS).format(number=100 + number)}."
    details = "".join(chance.choices(_DETAILS, k=chance.choice((0, 0, 1, 3, 12))))
    return make_memory(
        vault,
        content=f"{claim} {details}".strip(),
        summary=f"{claim} {_DETAILS[0]}".strip() if len(details) > 300 else None,
        kind=_KINDS[number % len(_KINDS)],
        at=LONG_AGO + timedelta(hours=number),
        ref=ref,
        index=False,
        source_url=f"https://example.org/notes/{number}",
    )
