"""What is kept of an answer: receipts, pins, and their withdrawal."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial, reduce
from operator import or_
from typing import Any, Final

from django.conf import settings
from django.db.models import Q, TextField
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from contextpack.core.canonical import canonical_bytes, digest, pack_digest
from contextpack.core.envelope import build_envelope, coverage_block
from contextpack.core.receipts import fates_as_wire, pool_as_wire, pool_without_words, receipt_items
from contextpack.core.rendering import as_json, as_markdown
from contextpack.core.types import ContextRequest, Pack, PackFormat, PinStub, Pool, ReceiptStub
from contextpack.models import Pin, Receipt
from memories.access import Caller, scope_digest
from memories.core.passages import quotes
from memories.core.text import normalise
from memories.models import Memory
from memories.patience import deferred, write_soon

JSON_TYPE: Final = "application/json"
MARKDOWN_TYPE: Final = "text/markdown; charset=utf-8"
WITHDRAWN_TASK: Final = "[a task that quoted what was forgotten since]"
_PIN_LENGTH: Final = 40
_SENTENCE_ENDS: Final = " \t\n.!?…。！？"
_PLAIN_WORD: Final = re.compile(r"[a-z0-9]+")


def refs_in(pack: Pack) -> list[str]:
    """Return every memory whose text, or whose fact, an answer carries: the folded ones, too."""
    return sorted({ref for item in pack.items for ref in (item.ref, *item.folded_refs)})


def is_still_served(caller: Caller, pack: Pack, *, at: datetime, hold: bool) -> bool:
    """Tell whether all of a pack may still be served; one statement, inside the transaction that records it.

    Args:
        at: the moment for which the pack was gathered: time alone takes nothing out of it.
        hold: let nobody withdraw any of it before this transaction ends. SQLite runs a writing transaction alone;
            PostgreSQL locks the rows, and only where text is about to be copied.
    """
    refs = refs_in(pack)
    rows = Memory.objects.visible_to(caller).servable(at).filter(ref__among=refs)
    if hold:
        rows = rows.order_by("pk").select_for_update(
            no_key=True
        )  # in one order: two pins never wait in a ring
    return not refs or len(rows.values_list("ref", flat=True)) == len(refs)


# -- Receipts ------------------------------------------------------------------------------------


def draft_receipt(caller: Caller, request: ContextRequest, pool: Pool, pack: Pack) -> Receipt:
    """Write down what is served to whom and why; nothing is saved yet."""
    return Receipt(
        vault_id=caller.vault.pk,
        actor=caller.actor,
        projects=_projects_of(caller),
        session_id=request.session_id or "",
        assembled_at=request.now,
        task=request.task,
        request=_asked(request),
        profile=request.profile.name,
        budget_tokens=pack.budget.tokens,
        budget_used=pack.budget.used,
        coverage=coverage_block(pack.coverage, stated=pack.stated),
        items=receipt_items(pack),
        fates=fates_as_wire(fate for fate in pack.fates if fate.outcome != "packed"),
        pool=pool_as_wire(pool.candidates),
        pack_digest=pack_digest(pack),
    )


def stub_of(receipt: Receipt | None) -> ReceiptStub | None:
    """Return what the answer itself tells of its receipt."""
    if receipt is None:
        return None
    return ReceiptStub(
        id=receipt.ref,
        assembled_at=receipt.assembled_at,
        pack_digest=receipt.pack_digest,
        items=len(receipt.items),
    )


def wanted_receipt(caller: Caller, request: ContextRequest, pool: Pool, pack: Pack) -> Receipt | None:
    return draft_receipt(caller, request, pool, pack) if settings.CORTEX_RECEIPTS == "all" else None


def save_patiently(receipt: Receipt) -> None:
    """Save a receipt without letting its answer wait for another writer.

    A read must not queue behind a long write: where the database stays busy, the receipt is written, and can be
    read, as soon as it is free again.
    """
    save = partial(receipt.save, force_insert=True)
    # Where other writes wait already, the database is known to be busy.
    if not deferred.is_idle or not write_soon(save):
        deferred.add(save)


def _projects_of(caller: Caller) -> list[str] | None:
    return None if caller.projects is None else sorted(caller.projects)


def _asked(request: ContextRequest) -> dict[str, Any]:
    return {
        "format": request.format.value,
        "model": request.model,
        "as_of": request.as_of.isoformat(),
        "known_at": request.known_at.isoformat(),
        "project": request.project,
        "layers": [layer.value for layer in request.layers],
        "entities": list(request.entities),
        "delta": request.delta.value,
        "since": request.since,
        "page": bool(request.already_sent),
        "legend": request.legend,
        "pin": request.pin,
    }


def blank_receipts(vault_id: str, refs: Collection[str]) -> int:
    """Take from the receipts the words that these memories shared with a task: they are words of their text.

    Returns: how many receipts had any.
    """
    rows = Receipt.objects.filter(vault_id=vault_id).annotate(
        text=Concat(Cast("items", TextField()), Cast("pool", TextField()))
    )
    named = reduce(or_, (Q(text__contains=json.dumps(ref)) for ref in refs), Q(pk__in=[]))
    for pk, items, pool in (holding := list(rows.filter(named).values_list("pk", "items", "pool"))):
        blanked = [_without_words(item) if item["ref"] in refs else item for item in items]
        Receipt.objects.filter(vault_id=vault_id, pk=pk).update(
            items=blanked, pool=pool_without_words(pool, refs)
        )
    return len(holding)


def _without_words(item: Mapping[str, Any]) -> dict[str, Any]:
    return {**item, "why": {**item["why"], "matched_terms": []}}


def cut_tasks(vault_id: str, texts: Collection[str]) -> int:
    """Take the tasks from receipts in which they quote any of these texts, however it is spelled there.

    Returns: how many receipts lost theirs.
    """
    is_quote = quoting(texts)
    rows = Receipt.objects.filter(vault_id=vault_id).exclude(task=WITHDRAWN_TASK).values_list("pk", "task")
    holding = [pk for pk, task in rows.iterator() if is_quote(task)] if texts else []
    return Receipt.objects.filter(vault_id=vault_id, pk__among=holding).update(task=WITHDRAWN_TASK)


def quoting(texts: Collection[str]) -> Callable[[str], bool]:
    """Return whether a task quotes any of the texts; the end of a sentence is none of its words."""
    passages = [passage for text in texts if (passage := text.strip().rstrip(_SENTENCE_ENDS))]
    telling = {
        passage: max(_PLAIN_WORD.findall(normalise(passage)), key=len, default="") for passage in passages
    }

    def is_quote(task: str) -> bool:
        # Most tasks are plain and lack the passage's longest plain word: no need to take them apart.
        plain = task.casefold() if task.isascii() else None
        return any(
            quotes(task, passage) for passage in passages if plain is None or telling[passage] in plain
        )

    return is_quote


# -- Pins ----------------------------------------------------------------------------------------


def keep_pin(caller: Caller, request: ContextRequest, pack: Pack) -> PinStub:
    """Keep a pack under its content address.

    Returns: the handle; the same pack always has the same.
    """
    body, content_type = pinned_bytes(pack, request)
    stub = _stub_of_pin(body)
    Pin.objects.get_or_create(
        vault_id=caller.vault.pk,
        ref=stub.id,
        scope=scope_digest(caller.projects),
        defaults={
            "projects": _projects_of(caller),
            "digest": stub.digest,
            "content_type": content_type,
            "body": body,
            "refs": refs_in(pack),
        },
    )
    return stub


def pin_of(pack: Pack, request: ContextRequest) -> PinStub:
    """Return the handle under which a pack is, or would be, kept."""
    return _stub_of_pin(pinned_bytes(pack, request)[0])


def _stub_of_pin(body: bytes) -> PinStub:
    content = digest(body)
    return PinStub(id=f"pin_{content.removeprefix('sha256:')[:_PIN_LENGTH]}", digest=content)


def pinned_bytes(pack: Pack, request: ContextRequest) -> tuple[bytes, str]:
    """Return what a pin keeps: the answer without receipt, session and pin parts, and its content type."""
    if request.format is PackFormat.MARKDOWN:
        return as_markdown(pack, request).encode(), MARKDOWN_TYPE
    body = build_envelope(pack, request) if request.format is PackFormat.SMP else as_json(pack, request)
    return canonical_bytes(body), JSON_TYPE


def withdraw_pins(vault_id: str, refs: Collection[str]) -> int:
    """Erase every pin that holds the text of any of these memories; its address answers 410 from then on."""
    gone = frozenset(refs)
    rows = Pin.objects.filter(vault_id=vault_id, withdrawn_at__isnull=True).values_list("pk", "refs")
    holding = [pk for pk, held in rows.iterator() if gone.intersection(held)]
    Pin.objects.filter(vault_id=vault_id, pk__in=holding).update(body=b"", withdrawn_at=timezone.now())
    return len(holding)


def on_content_withdrawn(
    sender: object,
    *,
    vault_id: str,
    refs: frozenset[str],
    erase: bool,
    texts: tuple[str, ...] = (),
    **_: object,
) -> Mapping[str, int]:
    """Drop the copies that this app keeps of withdrawn text (receiver of `content_withdrawn`)."""
    if not erase:
        return {}
    return {
        "pins": withdraw_pins(vault_id, refs),
        "receipts": blank_receipts(vault_id, refs),
        "tasks": cut_tasks(vault_id, texts),
    }
