"""Saved probes: questions whose answers are known, asked to see whether they still come. Running one only reads."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from contextpack.answering import Trial, try_context
from contextpack.core.profiles import clamp_budget, resolve_profile
from contextpack.core.types import ContextRequest, PackFormat
from contextpack.explaining import Explanation, explain
from contextpack.models import Probe
from contextpack.recording import WITHDRAWN_TASK, quoting, refs_in
from memories.access import operator_of
from memories.models import Vault
from memories.rows import delete_rows

WITHDRAWN_NAME: Final = "[a name that quoted what was forgotten since]"
_CHANGEABLE: Final = ("name", "task", "model", "token_budget", "project", "must", "must_not")


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    VOID = "void"  # what it was about was forgotten: there is nothing left to check


_TONES: Final = {Verdict.PASSED: "good", Verdict.FAILED: "bad", Verdict.VOID: "warn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run of a probe went."""

    probe: Probe
    verdict: Verdict
    missing: tuple[Explanation, ...] = ()  # of what must be there
    unwanted: tuple[str, ...] = ()  # of what must not
    items: int = 0
    used: int = 0
    budget: int = 0

    @property
    def tone(self) -> str:
        return _TONES[self.verdict]


def run_probe(vault: Vault, probe: Probe, *, now: datetime) -> Outcome:
    """Ask a probe's question in the operator's place, and compare. What is folded into an item counts as there."""
    if probe.task == WITHDRAWN_TASK or not (probe.must or probe.must_not):
        return Outcome(probe=probe, verdict=Verdict.VOID)
    caller = operator_of(vault)
    trial = try_context(caller, _question(probe, now=now))
    there = frozenset(refs_in(trial.pack))
    missing = tuple(explain(caller, trial, ref, now=now) for ref in probe.must if ref not in there)
    unwanted = tuple(ref for ref in probe.must_not if ref in there)
    return _outcome(probe, trial, missing=missing, unwanted=unwanted)


def _outcome(
    probe: Probe, trial: Trial, *, missing: tuple[Explanation, ...], unwanted: tuple[str, ...]
) -> Outcome:
    return Outcome(
        probe=probe,
        verdict=Verdict.FAILED if missing or unwanted else Verdict.PASSED,
        missing=missing,
        unwanted=unwanted,
        items=len(trial.pack.items),
        used=trial.pack.budget.used,
        budget=trial.pack.budget.tokens,
    )


def _question(probe: Probe, *, now: datetime) -> ContextRequest:
    profile = resolve_profile(probe.model)
    return ContextRequest(
        task=probe.task,
        format=PackFormat.MARKDOWN,
        model=probe.model or None,
        profile=profile,
        budget=clamp_budget(probe.token_budget, profile),
        now=now,
        as_of=now,
        known_at=now,
        project=probe.project or None,
    )


def change_probe(probe: Probe) -> None:
    """Save what may be changed of a probe."""
    values = {name: getattr(probe, name) for name in _CHANGEABLE}
    Probe.objects.filter(vault_id=probe.vault_id, pk=probe.pk).update(**values)


def remove_probe(probe: Probe) -> None:
    delete_rows(Probe.objects.filter(vault_id=probe.vault_id, pk=probe.pk))


# -- Forgetting ------------------------------------------------------------------------------------


def on_content_withdrawn(
    sender: object,
    *,
    vault_id: str,
    refs: frozenset[str],
    erase: bool,
    texts: tuple[str, ...] = (),
    **_: object,
) -> Mapping[str, int]:
    """Take forgotten memories, and whatever quotes them, out of probes (receiver of `content_withdrawn`)."""
    if not erase:
        return {}
    return {"saved_probes": blank_probes(vault_id, refs, texts)}


def blank_probes(vault_id: str, refs: frozenset[str], texts: Collection[str]) -> int:
    """Drop these refs from probes, and tasks and names that quote any of these texts.

    Returns: how many probes had any.
    """
    is_quote = quoting(texts)
    touched = 0
    for probe in list(Probe.objects.filter(vault_id=vault_id)):
        kept = {
            "must": [ref for ref in probe.must if ref not in refs],
            "must_not": [ref for ref in probe.must_not if ref not in refs],
            "task": WITHDRAWN_TASK if is_quote(probe.task) else probe.task,
            "name": WITHDRAWN_NAME if is_quote(probe.name) else probe.name,
        }
        if any(getattr(probe, name) != value for name, value in kept.items()):
            touched += Probe.objects.filter(vault_id=vault_id, pk=probe.pk).update(**kept)
    return touched
