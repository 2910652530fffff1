"""Writing the year down: through the verbs and the answering path, each call at the moment it happened."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import singledispatchmethod
from typing import Final

from django.db import transaction

from contextpack.answering import answer_context
from contextpack.core.profiles import clamp_budget, resolve_profile
from contextpack.core.types import ContextRequest, DeltaMode, PackFormat
from contextpack.demo.year.script import Correction, Note, Paste, Question, Step, Verdict, year_until
from contextpack.models import Probe, Receipt
from cortex.errors import StateConflict
from memories.access import Caller
from memories.core.kinds import Author, Kind
from memories.models import ALL_SCOPES, AccessToken, Memory, Scope, Tombstone, Vault
from memories.writing import (
    CaptureInput,
    MemoryInput,
    SourceInput,
    archive,
    capture,
    forget,
    propose,
    redact,
    remember,
    supersede,
)
from sessions.models import WorkingSession

SEED: Final = "brightwater"
_DECIDING: Final[Mapping[str, Callable[..., object]]] = {
    "archive": archive,
    "forget": forget,
    "redact": redact,
}

# Who asks by which token: its scopes, its projects, and on which day of the year it was made.
_TOKENS: Final = {
    "editor": ("Claude Code of the engineers", (Scope.READ, Scope.WRITE), (), 2),
    "support": ("Support assistant", (Scope.READ, Scope.WRITE), ("lagoon", "office", "pier"), 24),
    "field": ("Phone of the field team", (Scope.READ,), ("pier", "kelp"), 60),
    "office": ("Office connector", (Scope.READ,), (), 140),
    "importer": ("Nightly importer", (Scope.WRITE,), (), 10),
}
_REVOKED_ON: Final = 352

# What somebody wants to hear: the beginnings of texts that a pack must and must not carry. The last one is outdated.
_PROBES: Final = (
    (
        "Battery of the Kelp 3",
        "How long does the battery of a Kelp 3 last?",
        "claude",
        ("The battery of a Kelp 3 lasts 13 months",),
        ("The battery of a Kelp 3 lasts 14 months", "The battery of a Kelp 3 lasts 11 months"),
    ),
    (
        "Customers apart",
        "May I tell a farm what its neighbour's readings are?",
        "claude",
        ("Never name one customer's readings",),
        (),
    ),
    (
        "Our stand in Trondheim",
        "How large is our stand in Trondheim?",
        "gpt-4o",
        ("We speak at the fair in Trondheim with a stand of six",),
        (),
    ),
)


def fill(vault: Vault, *, until: datetime, seed: str = SEED) -> dict[str, int]:
    """Write a year of Brightwater into an empty vault.

    Returns: what was written, by class.
    Raises: StateConflict for a vault that holds, or ever held, anything.
    """
    for model in (Memory, Receipt, WorkingSession, Tombstone):
        if model._default_manager.filter(vault_id=vault.pk).exists():
            raise StateConflict(f"the vault {vault.slug} is not empty; make a new one for the demo")
    with transaction.atomic():  # all of the year or nothing; and one wait for the disk, not a thousand
        scribe = _Scribe(vault=vault, callers=_issue_tokens(vault, until=until))
        for step in year_until(until, seed=seed):
            scribe.carry_out(step)
        AccessToken.objects.get(vault_id=vault.pk, name=_TOKENS["importer"][0]).revoke(
            at=until - timedelta(days=365 - _REVOKED_ON)
        )
        _write_probes(vault)
    return dict(scribe.counts)


def _write_probes(vault: Vault) -> None:
    for name, task, model, must, must_not in _PROBES:
        Probe.objects.create(
            vault=vault,
            name=name,
            task=task,
            model=model,
            must=_refs_beginning(vault, must),
            must_not=_refs_beginning(vault, must_not),
        )


def _refs_beginning(vault: Vault, beginnings: tuple[str, ...]) -> list[str]:
    rows = Memory.objects.in_vault(vault.pk)
    return [
        row.ref for text in beginnings for row in rows.filter(content__startswith=text).order_by("pk")[:1]
    ]


def _issue_tokens(vault: Vault, *, until: datetime) -> dict[str, Caller]:
    """Make the tokens by which the year's agents ask; nobody is told their secrets."""
    callers: dict[str, Caller] = {}
    for key, (name, scopes, projects, day) in _TOKENS.items():
        token, _ = AccessToken.issue(vault, name=name, scopes=scopes, projects=projects)
        made_at = until - timedelta(days=365 - day)
        AccessToken.objects.filter(vault_id=vault.pk, pk=token.pk).update(
            created_at=made_at, last_used_at=until - timedelta(hours=3 + day)
        )
        callers[key] = Caller(
            vault=vault,
            scopes=frozenset(scopes),
            projects=frozenset(projects) or None,
            actor=f"token:{token.pk}",
            token_id=token.pk,
        )
    return callers


@dataclass(slots=True, kw_only=True)
class _Scribe:
    vault: Vault
    callers: Mapping[str, Caller]
    refs: dict[str, str] = field(default_factory=dict)  # a note's key → its memory's ref
    counts: Counter[str] = field(default_factory=Counter)

    def _writer(self, who: str) -> tuple[Caller, Author]:
        if who == "importer":
            return self.callers["importer"], Author.IMPORT
        if who == "agent":
            return replace(self.callers["editor"], projects=None), Author.AGENT
        name = who.split()[0].lower()
        person = Caller(vault=self.vault, scopes=frozenset(ALL_SCOPES), actor=f"user:{name}")
        return person, Author.USER

    @singledispatchmethod
    def carry_out(self, step: Step) -> None:
        raise NotImplementedError(type(step))

    @carry_out.register
    def _(self, step: Note) -> None:
        caller, author = self._writer(step.who)
        draft = MemoryInput(
            content=step.text,
            kind=Kind(step.kind),
            project=step.project,
            author=author,
            summary=step.summary,
            confidence=step.confidence,
            occurred_at=step.at,
            captured_at=step.at,
            expires_at=step.expires_at,
            tags=step.tags,
            thread=step.thread,
            speaker=step.who if author is Author.USER else None,
            sources=(SourceInput(url=step.url, title=step.title),) if step.url else (),
        )
        outcome = (propose if step.proposed else remember)(caller, draft, now=step.at)
        self.refs[step.key] = outcome.memory.ref
        self.counts["memories"] += outcome.created

    @carry_out.register
    def _(self, step: Correction) -> None:
        caller, author = self._writer(step.who)
        stated = {"author": author, "occurred_at": step.at, "captured_at": step.at}
        succession = supersede(
            caller, self.refs[step.of], content=step.text, stated=stated, reason=step.reason, now=step.at
        )
        self.refs[step.key] = succession.memory.ref
        self.counts["memories"] += succession.created
        self.counts["replaced"] += succession.carried_out

    @carry_out.register
    def _(self, step: Paste) -> None:
        caller, _ = self._writer("Ines Moreau")
        given = CaptureInput(
            content=step.text,
            title=step.title,
            source="notes",
            project=step.project,
            author=Author.USER,
            occurred_at=step.at,
        )
        outcome = capture(caller, given, now=step.at)
        self.counts["memories"] += len(outcome.memories)
        self.counts["captures"] += outcome.created

    @carry_out.register
    def _(self, step: Verdict) -> None:
        caller, _ = self._writer("Leila Haddad")
        _DECIDING[step.verb](caller, self.refs[step.of], now=step.at)
        self.counts["decided"] += 1

    @carry_out.register
    def _(self, step: Question) -> None:
        profile = resolve_profile(step.model)
        once = step.content_once and step.talk is not None
        answer_context(
            self.callers[step.asker],
            ContextRequest(
                task=step.task,
                format=PackFormat.SMP,
                model=step.model,
                profile=profile,
                budget=clamp_budget(step.budget, profile),
                now=step.at,
                as_of=step.at,
                known_at=step.at,
                project=step.project,
                session_id=step.talk,
                delta=DeltaMode.CONTENT if once else DeltaMode.IDS,
                pin=step.pin,
            ),
        )
        self.counts["questions"] += 1
        self.counts["pins"] += step.pin
