"""Decisions are written down by the verb that takes them, in its transaction; with what taking them back needs."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Length

from memories.access import Caller
from memories.core.kinds import Verb
from memories.core.passages import Passages, cut, telling_word
from memories.lookups import OctetLength
from memories.models import Decision, KeptRef, Memory, ProposedSupersession, Supersession
from memories.rows import delete_rows, in_chunks

WORDS_AT_ONCE: Final = 100  # an engine takes an expression of a thousand terms, and no more
MEMORY_REF: Final = re.compile(r"mem_[0-9a-z]{12}")
_TICK: Final = timedelta(microseconds=1)
_REASON_LENGTH: Final = 2_000


def keep_decision(
    caller: Caller,
    verb: Verb,
    ref: str,
    *,
    other: str = "",
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    kept: Mapping[str, Any] | None = None,
    undoes: str = "",
    now: datetime,
) -> Decision:
    """Write down who decided what.

    Args:
        other: the second memory that it is about.
        reason: free of secrets.
        kept: what taking it back needs; None where that is impossible.
        now: where the memory's last decision is as late, the moment after that.
    """
    last = decisions_about(caller.vault.pk, [name for name in (ref, other) if name]).aggregate(at=Max("at"))[
        "at"
    ]
    decision = Decision.objects.create(
        vault_id=caller.vault.pk,
        memory=ref,
        other=other,
        verb=verb,
        actor=caller.actor,
        at=now if last is None else max(now, last + _TICK),
        reason=reason,
        before=before,
        after=after,
        kept=kept,
        undoes=undoes,
    )
    if named := refs_kept(kept) - {ref, other}:
        KeptRef.objects.bulk_create(
            [KeptRef(vault_id=caller.vault.pk, decision_id=decision.pk, ref=each) for each in sorted(named)]
        )
    return decision


def refs_kept(kept: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the refs of all memories that are named in what taking a decision back needs, also within its texts."""
    return frozenset(MEMORY_REF.findall(json.dumps(kept)))


def decisions_about(vault_id: str, refs: Collection[str]) -> QuerySet[Decision, Decision]:
    return Decision.objects.filter(Q(memory__in=refs) | Q(other__in=refs), vault_id=vault_id)


def last_decision(vault_id: str, ref: str) -> Decision | None:
    """Return the last decision about a memory that was not taken back."""
    standing = decisions_about(vault_id, [ref]).exclude(verb=Verb.UNDO).filter(undone_at__isnull=True)
    return standing.order_by("-at", "-pk").first()


def is_reversible(memory: Memory) -> bool:
    """Whether there is a decision about a memory that holds all that taking it back needs."""
    last = last_decision(memory.vault_id, memory.ref)
    return last is not None and last.kept is not None


# -- What taking back needs ----------------------------------------------------------------------


def standing_of(memory: Memory) -> dict[str, Any]:
    """What a decision may change in a memory's row, as plain values that are shown."""
    return {
        "status": str(memory.status),
        "withheld": memory.withheld,
        "flags": [str(flag) for flag in memory.flags],
    }


def row_of(memory: Memory) -> dict[str, Any]:
    """The same with what is not shown: how the memory was reviewed, and what it replaced already."""
    replaced = Supersession.objects.filter(
        vault_id=memory.vault_id, new_id=memory.pk, old__vault_id=memory.vault_id
    )
    return {
        **standing_of(memory),
        "reviewed_at": None if memory.reviewed_at is None else memory.reviewed_at.isoformat(),
        "reviewed_by": memory.reviewed_by,
        "superseded_by": memory.superseded_by,
        "replaced": sorted(replaced.values_list("old__ref", flat=True)),
    }


def proposals_of(memory: Memory) -> list[dict[str, Any]]:
    """What a memory would replace, as plain values."""
    vault_id = memory.vault_id
    rows = ProposedSupersession.objects.filter(vault_id=vault_id, new_id=memory.pk, old__vault_id=vault_id)
    told = rows.order_by("at", "pk").values("old__ref", "reason", "actor", "at")
    return [
        {
            "old": row["old__ref"],
            "new": memory.ref,
            "reason": row["reason"],
            "actor": row["actor"],
            "at": row["at"].isoformat(),
        }
        for row in told
    ]


# -- Words in decisions --------------------------------------------------------------------------


def hush_decisions(vault_id: str, refs: Collection[str], texts: Sequence[str], *, mark: str) -> int:
    """Take away whatever decisions keep of memories; what is left of those about them is ref, verb, who and when.

    Returns: how many decisions lost something.
    """
    hushed = 0
    for some in in_chunks(refs):
        about = decisions_about(vault_id, some)
        told = ~Q(reason="") | Q(before__isnull=False) | Q(after__isnull=False) | Q(kept__isnull=False)
        hushed += about.filter(told).update(reason="", before=None, after=None, kept=None)
        naming = KeptRef.objects.filter(vault_id=vault_id, ref__in=some).values("decision_id")
        holding = Decision.objects.filter(vault_id=vault_id, pk__in=naming, kept__isnull=False)
        hushed += holding.update(kept=None)
        spent = about.values("pk").union(naming)
        delete_rows(KeptRef.objects.filter(vault_id=vault_id, decision_id__in=[row["pk"] for row in spent]))
    return hushed + _cut_reasons(vault_id, texts, mark=mark)


def _cut_reasons(vault_id: str, texts: Sequence[str], *, mark: str) -> int:
    count, passages = 0, Passages.of(texts)
    for pk, reason in _reasons_near(vault_id, texts):
        if held := passages.quoted_in(reason):
            left = cut(reason, held, mark=mark)[:_REASON_LENGTH]
            count += Decision.objects.filter(vault_id=vault_id, pk=pk).update(reason=left)
    return count


def _reasons_near(vault_id: str, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the reasons that may quote a text: the plain ones that have its longest word, and all that are not plain.

    The engine sorts them out, for a long-lived vault has very many that have nothing to do with what is forgotten.
    """
    words = sorted({word for text in texts if (word := telling_word(text)) is not None})
    near = [
        Q(*(Q(reason__icontains=word) for word in some), _connector=Q.OR)
        for some in in_chunks(words, WORDS_AT_ONCE)
    ]
    if texts:
        near.append(Q(octets__gt=Length("reason")))
    rows = Decision.objects.filter(vault_id=vault_id).exclude(reason="")
    found = dict[int, str]()
    for condition in near:
        sized = rows.annotate(octets=OctetLength("reason"))
        found.update(sized.filter(condition).order_by("pk").values_list("pk", "reason"))
    yield from found.items()
