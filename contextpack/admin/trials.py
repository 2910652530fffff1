"""What the playground shows of a question: who asks and what that reaches, the pack row by row, what was left out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from contextpack.admin.receiptpage import TONE_OF, budget_bar
from contextpack.answering import Trial
from contextpack.core.types import Item, PackFormat
from contextpack.explaining import OUT_OF_SIGHT, Explanation, explain
from memories.access import Caller, holder_of, operator_of
from memories.admin.charts import Chart
from memories.admin.evidence import excerpts_of
from memories.models import AccessToken, Memory, Scope, Vault

LOST_SHOWN: Final = 40
GONE: Final = "(not here any more)"


# -- Who asks --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """In whose place a question is asked, and what that one reaches."""

    caller: Caller
    name: str
    servable: int  # memories that it could be served at this moment
    of: int  # all that could be served in the vault
    closed: str = ""  # why the token opens nothing any more

    @property
    def may_read(self) -> bool:
        return self.caller.may(Scope.READ)

    @property
    def scopes(self) -> list[str]:
        return sorted(self.caller.scopes)

    @property
    def projects(self) -> list[str] | None:
        return None if self.caller.projects is None else sorted(self.caller.projects)


def asker_for(vault: Vault, token: AccessToken | None, *, now: datetime) -> Asker:
    """Take a token's place, or the operator's; no secret is needed for it, and no use is noted."""
    if token is not None:
        token.vault = vault
    caller = operator_of(vault) if token is None else holder_of(token)
    rows = Memory.objects.in_vault(vault.pk).servable(now).unsuperseded()
    seen = Memory.objects.visible_to(caller).servable(now).unsuperseded()
    return Asker(
        caller=caller,
        name="the operator" if token is None else token.name,
        servable=seen.count(),
        of=rows.count(),
        closed="" if token is None else state_of(token, now=now),
    )


def state_of(token: AccessToken, *, now: datetime) -> str:
    """Say since when a token opens nothing; nothing for one that is open."""
    if token.revoked_at is not None:
        return f"revoked on {token.revoked_at:%d %b %Y}"
    if not token.is_valid_at(now):
        return f"expired on {token.expires_at:%d %b %Y}"
    return ""


# -- The pack --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One model's answer beside another's."""

    name: str
    trial: Trial
    bar: Chart
    body: str
    lost: Sequence[Mapping[str, Any]]  # nearest to a place first
    lost_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One memory that at least one of the packs carries."""

    ref: str
    layer: str
    tone: str
    text: str
    relevance: float | None
    why: Mapping[str, Any]
    channels: Sequence[tuple[str, float]]
    folded: tuple[str, ...]
    cells: Sequence[Mapping[str, Any]]  # one for each model
    only: str  # the one model that gets it; empty where all do

    @property
    def only_one(self) -> str:
        return f"only {self.only}"


def columns_of(vault: Vault, trials: Mapping[str, Trial]) -> list[Column]:
    """Lay out each answer; one statement for the texts of all that was left out."""
    lost = {name: _nearest(trial) for name, trial in trials.items()}
    texts = excerpts_of(vault.pk, sorted({line["ref"] for lines in lost.values() for line in lines}))
    return [
        Column(
            name=name,
            trial=trial,
            bar=budget_bar(trial.receipt),
            body=_readable(trial),
            lost=[{**line, "text": texts.get(line["ref"], GONE)} for line in lost[name]],
            lost_count=len(trial.receipt.fates),
        )
        for name, trial in trials.items()
    ]


def _nearest(trial: Trial) -> list[dict[str, Any]]:
    by_worth = sorted(trial.receipt.fates, key=lambda line: (-(line["density"] or 0), line["ref"]))
    return by_worth[:LOST_SHOWN]


def _readable(trial: Trial) -> str:
    """Return an answer's body; what is JSON with its lines broken."""
    text = trial.answer.content.decode()
    if trial.request.format is PackFormat.MARKDOWN:
        return text
    return json.dumps(json.loads(text), ensure_ascii=False, indent=2)


def rows_of(trials: Mapping[str, Trial]) -> list[Row]:
    """Return the memories of all packs, each once: in the order of the first, then what only others carry."""
    fullest: dict[str, tuple[Item, Mapping[str, Any]]] = {}
    for trial in trials.values():
        for item, line in zip(trial.pack.items, trial.receipt.items, strict=True):
            known = fullest.get(item.ref)
            if known is None or len(item.text) > len(known[0].text):
                fullest[item.ref] = (item, line)
    return [_row(item, line, trials) for item, line in fullest.values()]


def _row(item: Item, line: Mapping[str, Any], trials: Mapping[str, Trial]) -> Row:
    cells = [_cell(item.ref, name, trial) for name, trial in trials.items()]
    having = [cell["name"] for cell in cells if cell["served"]]
    return Row(
        ref=item.ref,
        layer=str(line["layer"]).replace("_", " "),
        tone=TONE_OF.get(line["layer"], "brown"),
        text=item.text,
        relevance=line["relevance"],
        why=line["why"],
        channels=sorted(line["channels"].items(), key=lambda pair: -pair[1]),
        folded=item.folded_refs,
        cells=cells,
        only=having[0] if len(having) < len(cells) else "",
    )


def _cell(ref: str, name: str, trial: Trial) -> dict[str, Any]:
    for number, line in enumerate(trial.receipt.items, start=1):
        if line["ref"] == ref:
            return {"name": name, "served": True, "number": number, **line}
    fate = next((fate for fate in trial.receipt.fates if fate["ref"] == ref), None)
    return {"name": name, "served": False, **(fate or {"outcome": "not_retrieved"})}


# -- Why not ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What each model's pack has to say of one memory."""

    ref: str
    text: str | None  # only where the asker sees it
    is_here: bool
    answers: Sequence[tuple[str, Explanation]]


def reasons_for(asker: Asker, trials: Mapping[str, Trial], ref: str, *, now: datetime) -> Reason:
    """Tell for each model what kept a memory out of its pack, or that it is in it."""
    texts = excerpts_of(asker.caller.vault.pk, [ref])
    answers = [(name, explain(asker.caller, trial, ref, now=now)) for name, trial in trials.items()]
    is_seen = all(answer.reason != OUT_OF_SIGHT for _, answer in answers)
    return Reason(ref=ref, text=texts.get(ref) if is_seen else None, is_here=ref in texts, answers=answers)
