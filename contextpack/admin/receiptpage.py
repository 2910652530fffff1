"""What the page of a receipt tells: where the budget went, each item's why, what lost its place, and, when asked, how
another pack of the conversation differs, what would be packed today, and the bytes that were sent."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from contextpack.books import why_not
from contextpack.core.types import PackLayer
from contextpack.models import Receipt
from contextpack.rebuilding import Sent, content_tokens, sent_again
from contextpack.replaying import replay
from cortex.errors import CortexError, NotHere
from memories.access import operator_of, scope_digest
from memories.admin.actors import names_of
from memories.admin.charts import TONES, Chart, Part, stacked_bar
from memories.admin.evidence import (
    WITHHELD_TEXT,
    excerpt_of,
    excerpts_of,
    is_expired,
    memories_excerpted,
    standing_of,
)
from memories.admin.linking import row_url
from memories.models import Memory, Vault
from memories.rows import in_chunks
from memories.templatetags.cortex_ui import span_between
from sessions.models import WorkingSession

ASKED: Final = "why_not"
AGAINST: Final = "against"
REPLAYED: Final = "replay"
SENT: Final = "sent"
GONE: Final = "(not here any more)"
OTHERS_OFFERED: Final = 60
TONE_OF: Final = {layer.value: TONES[place] for place, layer in enumerate(PackLayer)}
OUTCOMES: Final = {
    "outbid": "Lost its place to others",
    "folded_into": "Says what another one says",
    "already_sent": "Was on an earlier page",
}


def told_of(receipt: Receipt, asked: Mapping[str, str], *, now: datetime) -> dict[str, Any]:
    """Return all that the page shows.

    Args:
        asked: the address's parameters; what costs more than a few statements is shown only when asked for.
    """
    known = _known(receipt.vault, sorted(set(_refs_in(receipt))), now=now)
    about = asked.get(ASKED, "").strip()
    return {
        "bar": budget_bar(receipt),
        "text_bar": text_bar(receipt, now=now),
        "asker": names_of(receipt.vault_id, [receipt.actor])[receipt.actor],
        "question": _question(receipt),
        "session_url": _session_url(receipt),
        "items": [_item(receipt, number, line, known) for number, line in enumerate(receipt.items, start=1)],
        "fates": [_lost(line, known) for line in receipt.fates],
        "lost": _grouped(receipt, known),
        "asked": ASKED,
        "asked_about": about,
        "answer": _explain(receipt, about),
        "others": _others(receipt),
        "against": _compared(receipt, asked.get(AGAINST, ""), known, now=now),
        "replayed": _replayed(receipt, known, now=now) if REPLAYED in asked else None,
        "sent": _sent(receipt, now=now) if SENT in asked else None,
    }


# -- Budget ----------------------------------------------------------------------------------------


def budget_bar(receipt: Receipt) -> Chart:
    """Draw where the budget went: to the items of each layer, to the pack's own headings, or nowhere."""
    spent = {layer.value: 0 for layer in PackLayer}
    for line in receipt.items:
        spent[line["layer"]] = spent.get(line["layer"], 0) + line["tokens"]
    around = max(receipt.budget_used - sum(spent.values()), 0)
    free = max(receipt.budget_tokens - receipt.budget_used, 0)
    parts = [
        *(
            Part(name=layer.replace("_", " "), value=tokens, tone=TONE_OF.get(layer, "brown"))
            for layer, tokens in spent.items()
        ),
        Part(name="headings", value=around, tone="grey"),
        Part(name="not used", value=free, tone="none"),
    ]
    return stacked_bar(
        parts,
        label=f"{receipt.budget_used:,} of {receipt.budget_tokens:,} tokens",
        unit="tokens",
        total=receipt.budget_tokens,
    )


def text_bar(receipt: Receipt, *, now: datetime) -> Chart | None:
    """Draw how much of the budget went to words of memories; None where their text, or a request, is gone."""
    texts = (
        content_tokens(operator_of(receipt.vault), receipt, now=now) if "format" in receipt.request else None
    )
    if texts is None:
        return None
    parts = (
        Part(name="text", value=texts, tone="green"),
        Part(name="keys, citations, headings", value=max(receipt.budget_used - texts, 0), tone="grey"),
        Part(name="not used", value=max(receipt.budget_tokens - receipt.budget_used, 0), tone="none"),
    )
    return stacked_bar(parts, label="Text and overhead", unit="tokens", total=receipt.budget_tokens)


# -- Items -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a memory is today."""

    text: str
    moment: datetime | None
    standing: tuple[str, ...]


def _refs_in(receipt: Receipt) -> Iterator[str]:
    for item in receipt.items:
        yield from (item["ref"], *item.get("folded_refs", ()))
    for fate in receipt.fates:
        yield from (ref for ref in (fate["ref"], fate.get("into")) if ref)


def _known(vault: Vault, refs: Sequence[str], *, now: datetime) -> dict[str, Known]:
    known: dict[str, Known] = {}
    for chunk in in_chunks(refs):
        rows = memories_excerpted(Memory.objects.in_vault(vault.pk).filter(ref__in=chunk))
        for row in rows:
            known[row.ref] = Known(
                text=WITHHELD_TEXT if is_expired(row, at=now) else excerpt_of(row) or "(redacted)",
                moment=row.occurred_at or row.captured_at,
                standing=tuple(standing_of(row, at=now)),
            )
    return known


def texts_of(vault: Vault, refs: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for chunk in in_chunks(refs):
        texts |= excerpts_of(vault.pk, chunk)
    return texts


_NOTHING: Final = Known(text=GONE, moment=None, standing=())


def _item(
    receipt: Receipt, number: int, line: Mapping[str, Any], known: Mapping[str, Known]
) -> dict[str, Any]:
    memory = known.get(line["ref"], _NOTHING)
    return {
        **line,
        "number": number,
        "text": memory.text,
        "standing": memory.standing,
        "tone": TONE_OF.get(line["layer"], "brown"),
        "age": span_between(memory.moment, receipt.assembled_at) if memory.moment else None,
        "channels": sorted((line.get("channels") or {}).items(), key=lambda pair: -pair[1]),
        "folded": [
            {"ref": ref, "text": known.get(ref, _NOTHING).text} for ref in line.get("folded_refs", ())
        ],
    }


def _lost(line: Mapping[str, Any], known: Mapping[str, Known]) -> dict[str, Any]:
    memory = known.get(line["ref"], _NOTHING)
    return {**line, "text": memory.text, "standing": memory.standing}


def _grouped(receipt: Receipt, known: Mapping[str, Known]) -> list[dict[str, Any]]:
    """Return what is not in the pack by what became of it, the nearest to a place first."""
    groups = []
    for outcome, words in OUTCOMES.items():
        lines = [_lost(line, known) for line in receipt.fates if line["outcome"] == outcome]
        if outcome == "outbid":
            lines.sort(key=lambda line: (-line["density"], line["ref"]))
        if lines:
            groups.append({"outcome": outcome, "words": words, "lines": lines})
    return groups


def _question(receipt: Receipt) -> list[tuple[str, str]]:
    """Return what was asked beside the task, without what says nothing."""
    asked = receipt.request
    moment = receipt.assembled_at.isoformat()
    told = {
        "format": asked.get("format"),
        "model": asked.get("model"),
        "project": asked.get("project"),
        "layers": ", ".join(asked.get("layers") or ()),
        "entities": ", ".join(asked.get("entities") or ()),
        "as of": None if asked.get("as_of") == moment else asked.get("as_of"),
        "known at": None if asked.get("known_at") == moment else asked.get("known_at"),
        "delta": asked.get("delta"),
        "since": asked.get("since"),
        "page": "a further one" if asked.get("page") else None,
    }
    return [(name, str(value)) for name, value in told.items() if value not in (None, "")]


def _session_url(receipt: Receipt) -> str | None:
    rows = WorkingSession.objects.filter(
        vault_id=receipt.vault_id, session_id=receipt.session_id, scope=scope_digest(receipt.projects)
    )
    key = rows.values_list("pk", flat=True).first() if receipt.session_id else None
    return None if key is None else row_url(WorkingSession, receipt.vault_id, key)


def _explain(receipt: Receipt, ref: str) -> dict[str, Any] | None:
    """Answer why a memory is not in the pack, as the API does; `unknown` for one that is not this vault's."""
    if not ref:
        return None
    try:
        told = why_not(operator_of(receipt.vault), receipt, ref)
    except NotHere:
        return {"reason": "unknown", "figures": {}}
    figures = {name: value for name, value in told.items() if name not in {"receipt", "ref", "reason"}}
    return {"reason": told["reason"], "figures": figures}


# -- Another pack of the conversation --------------------------------------------------------------


def _others(receipt: Receipt) -> list[Mapping[str, Any]]:
    """Return the other receipts of the same conversation, oldest first."""
    if not receipt.session_id:
        return []
    rows = Receipt.objects.filter(vault_id=receipt.vault_id, session_id=receipt.session_id)
    newest = rows.order_by("-assembled_at", "-pk").values("ref", "assembled_at", "task", "projects")
    same: list[Mapping[str, Any]] = [
        row for row in newest[:OTHERS_OFFERED] if row["projects"] == receipt.projects
    ]
    return [row for row in reversed(same) if row["ref"] != receipt.ref]


def _compared(
    receipt: Receipt, ref: str, known: Mapping[str, Known], *, now: datetime
) -> dict[str, Any] | None:
    """Tell how this pack differs from another one of the same conversation: what that one had, and what is new."""
    if not ref or not receipt.session_id:
        return None
    rows = Receipt.objects.filter(vault_id=receipt.vault_id, session_id=receipt.session_id, ref=ref)
    other = rows.first()
    if other is None:
        return None
    theirs = {line["ref"]: line for line in other.items}
    ours = {line["ref"]: line for line in receipt.items}
    missing = sorted(theirs.keys() - known.keys())
    texts = {**known, **_known(receipt.vault, missing, now=now)} if missing else known
    staying = [ref for ref in ours if ref in theirs]
    return {
        "receipt": other,
        "url": row_url(Receipt, receipt.vault_id, other.ref),
        "lines": list(_differences(theirs, ours, texts)),
        "entered": len(ours.keys() - theirs.keys()),
        "left": len(theirs.keys() - ours.keys()),
        "stayed": len(staying),
        "reordered": staying != [ref for ref in theirs if ref in ours],
    }


def _differences(
    theirs: Mapping[str, Mapping[str, Any]],
    ours: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, Known],
) -> Iterator[dict[str, Any]]:
    for ref, line in ours.items():
        text = known.get(ref, _NOTHING).text
        if ref not in theirs:
            yield {"sign": "+", "ref": ref, "text": text, "now": line, "was": None}
        else:
            yield {"sign": "", "ref": ref, "text": text, "now": line, "was": theirs[ref]}
    for ref, line in theirs.items():
        if ref not in ours:
            yield {"sign": "−", "ref": ref, "text": known.get(ref, _NOTHING).text, "now": None, "was": line}


# -- Today, and the bytes --------------------------------------------------------------------------


def _replayed(receipt: Receipt, known: Mapping[str, Known], *, now: datetime) -> dict[str, Any]:
    """Pack the same candidates again, and put words beside the refs; or say why that cannot be."""
    try:
        told = replay(operator_of(receipt.vault), receipt, now=now)
    except CortexError as refusal:
        return {"refused": refusal.detail}
    lines = ("changes", "left", "entered", "reshaped")
    return told | {
        name: [{**line, "text": known.get(line["ref"], _NOTHING).text} for line in told[name]]
        for name in lines
    }


def _sent(receipt: Receipt, *, now: datetime) -> dict[str, Any]:
    again = sent_again(operator_of(receipt.vault), receipt, now=now)
    return {"again": again, "size": len(again.body), "text": _shown(again), "bytes": again.body.decode()}


def _shown(sent: Sent) -> str:
    """Return a body as a person reads it; JSON with its lines broken."""
    text = sent.body.decode()
    if not sent.content_type.startswith("application/json"):
        return text
    return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
