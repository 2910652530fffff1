"""Each history is written into a vault of its own, and each question asked of it as a client would ask.

A vault stands alone in a throw-away SQLite database, whatever database is configured: the operator's data are neither
read nor touched, and a run that is killed leaves a folder in the temporary directory and nothing else. What is ranked
does not depend on the engine, so one is enough to judge by.
"""

import hashlib
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

from django.test.utils import override_settings
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from contextpack.answering import Answer, answer_context
from contextpack.core.profiles import resolve_profile
from contextpack.core.tokens import TokenFamily, estimate_tokens, family_of
from contextpack.core.types import PackFormat
from contextpack.evaluation.histories import History, Question, Turn, sampled
from contextpack.evaluation.report import Report, Setup, Written
from contextpack.evaluation.scoring import Answered, Served, Source, Stray, recall
from contextpack.evaluation.throwaway import database_like, throwaway_databases
from contextpack.serializers import ContextRequestSerializer, context_request
from cortex.errors import CortexError
from memories.access import Caller, operator_of
from memories.core.kinds import Flag, Kind
from memories.ids import repeatable_ids
from memories.models import Vault
from memories.search.backlog import work_off
from memories.search.embedding import active_embedder
from memories.serializers import MemorySerializer, memory_input
from memories.writing import Outcome, remember_many

BUDGETS: Final = (500, 1_000, 2_000, 3_000)
MODEL: Final = "claude"
STRANGERS: Final = 25  # questions of other histories that each history is asked
ABSTENTION_BUDGET: Final = 1_000
WRITTEN_AT_ONCE: Final = 500
PROGRESS_EVERY: Final = 25  # questions
WEIGHTS_MODULE: Final = "contextpack.core.weights"
WEIGHTS_DIGITS: Final = 12
VAULT: Final = "evaluation"

_REF: Final = re.compile(r"\bmem_[0-9A-Za-z]+")

Progress = Callable[[str], object]
Evidence = TypeVar("Evidence")
ON_TOPIC: Final = "on topic"


class TurnRefused(Exception):
    """A turn that the writing verb does not take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a run asks.

    `embedder` and `language` None: what the settings and the histories say. `asked_at` None: the clock, as a client
    has it; a moment makes two runs alike that are days apart. `off_topic`: questions beside each history, by its name.
    `seed`: of the ids, which decide between memories that match alike; another seed shows how much hangs on that.
    """

    budgets: tuple[int, ...] = BUDGETS
    model: str = MODEL
    limit: int | None = None
    embedder: str | None = None
    language: str | None = None
    asked_at: datetime | None = None
    off_topic: Mapping[str, Sequence[str]] = field(default_factory=dict)
    strangers: int = STRANGERS
    seed: int = 0


def evaluate(histories: Sequence[History], options: Options, *, progress: Progress | None = None) -> Report:
    """Measure how much of each question's evidence its pack carries.

    Args:
        progress: gets a line now and then.
    Raises: TurnRefused, where a history holds what cannot be stored; EmbedderUnavailable; ImproperlyConfigured where
        the embedder is not installed.
    """
    chosen = sampled(histories, options.limit)
    written: list[Written] = []
    answered: list[Answered] = []
    strays: list[Stray] = []
    with _embedder(options.embedder), throwaway_databases() as empty:
        setup = _setup(options)
        for number, history in enumerate(chosen, start=1):
            with database_like(empty), repeatable_ids(f"{options.seed} {history.name}"):
                run = _Run.begin(history, options)
                written.append(run.written)
                answered += run.answer(_counted(history, f"{number}/{len(chosen)}", progress))
                strays += run.answer_strays(_strays(history, chosen, options))
    return Report(
        setup=setup,
        budgets=options.budgets,
        written=tuple(written),
        answered=tuple(answered),
        strays=tuple(strays),
    )


def evidence_of(
    histories: Sequence[History], options: Options, *, features: Callable[[Caller, str, date], Evidence]
) -> Iterator[tuple[str, str, Evidence]]:
    """Read something of every question, on topic and off, in its history's vault, without packing an answer.

    Args:
        features: is given the caller, the question and the day on which it is asked.
    Yields: the history's name, the kind of question, and what was read.
    """
    with _embedder(options.embedder), throwaway_databases() as empty:
        for history in sampled(histories, options.limit):
            with database_like(empty), repeatable_ids(f"{options.seed} {history.name}"):
                caller = _Run.begin(history, options).caller
                own = ((question.text, ON_TOPIC, question.as_of) for question in history.questions)
                others = (
                    (text, str(source), at) for text, source, at in _strays(history, histories, options)
                )
                for text, kind, as_of in (*own, *others):
                    today = (as_of or options.asked_at or timezone.now()).date()
                    yield history.name, kind, features(caller, text, today)


@contextmanager
def _embedder(name: str | None) -> Iterator[None]:
    with override_settings(CORTEX_EMBEDDER=name) if name else nullcontext():
        yield


def _setup(options: Options) -> Setup:
    embedder = active_embedder()
    return Setup(
        model=options.model,
        embedder=embedder.name if embedder else None,
        weights=weights_digest(),
        asked_at=options.asked_at.isoformat() if options.asked_at else None,
        limit=options.limit,
        seed=options.seed,
    )


def weights_digest() -> str | None:
    """Name the ranking's weights by the bytes of their module; None where there is no such module."""
    found = find_spec(WEIGHTS_MODULE)
    if found is None or found.origin is None:
        return None
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()[:WEIGHTS_DIGITS]


def _counted(history: History, number: str, progress: Progress | None) -> Iterator[Question]:
    total = len(history.questions)
    for index, question in enumerate(history.questions):
        if progress and index % PROGRESS_EVERY == 0:
            progress(f"{number} {history.name}: {len(history.turns)} turns, {index} of {total} questions")
        yield question


def _strays(
    history: History, among: Sequence[History], options: Options
) -> Iterator[tuple[str, Source, datetime | None]]:
    """Yield what to ask off topic, from where it is, and as of when."""
    own = {question.text for question in history.questions}
    pool = [
        asked.text for one in among if one is not history for asked in one.questions if asked.text not in own
    ]
    as_of = history.questions[0].as_of if history.questions else None
    for text in random.Random(history.name).sample(pool, min(options.strangers, len(pool))):
        yield text, Source.OTHERS, as_of
    for text in options.off_topic.get(history.name, ()):
        yield text, Source.GIVEN, as_of


# -- One history ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A history in its vault, ready to be asked."""

    history: History
    options: Options
    caller: Caller
    family: TokenFamily
    turns: Mapping[str, frozenset[str]]  # ref → ids of turns: an equal text is one memory
    written: Written

    @classmethod
    def begin(cls, history: History, options: Options) -> "_Run":
        language = options.language or history.language
        caller = operator_of(Vault.objects.create(slug=VAULT, language=language))
        started = time.perf_counter()
        stored = _write(caller, history)
        _make_searchable(caller.vault)
        turns: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        for turn, memory in stored:
            turns[memory.memory.ref] |= {turn.id}
        return cls(
            history=history,
            options=options,
            caller=caller,
            family=family_of(resolve_profile(options.model), options.model),
            turns=turns,
            written=Written(
                history=history.name,
                language=language,
                turns=len(history.turns),
                withheld=sum(Flag.INSTRUCTION_LIKE in memory.memory.flags for _, memory in stored),
                left_out=history.left_out,
                seconds=round(time.perf_counter() - started, 3),
            ),
        )

    def answer(self, questions: Iterable[Question]) -> Iterator[Answered]:
        for number, question in enumerate(questions):
            if not number:
                self._served(question, self.options.budgets[0])  # the first call fills caches
            weak, relevance = self._judge(question.text, question.as_of)
            yield Answered(
                history=self.history.name,
                question_id=question.id,
                question=question.text,
                category=question.category,
                evidence=len(question.evidence),
                served=tuple(self._served(question, budget) for budget in self.options.budgets),
                weak=weak,
                relevance=relevance,
            )

    def answer_strays(self, asked: Iterable[tuple[str, Source, datetime | None]]) -> Iterator[Stray]:
        for text, source, as_of in asked:
            weak, relevance = self._judge(text, as_of)
            yield Stray(
                history=self.history.name, question=text, source=source, weak=weak, relevance=relevance
            )

    def _served(self, question: Question, budget: int) -> Served:
        started = time.perf_counter()
        answer = self._ask(question.text, question.as_of, PackFormat.MARKDOWN, budget)
        spent = time.perf_counter() - started
        text = answer.content.decode()
        found = {turn for ref in _REF.findall(text) if ref in self.turns for turn in self.turns[ref]}
        return Served(
            budget=budget,
            recall=recall(question.evidence, found),
            tokens=estimate_tokens(text, self.family),
            characters=len(text),
            milliseconds=round(1_000 * spent, 3),
        )

    def _judge(self, text: str, as_of: datetime | None) -> tuple[bool, float]:
        """Return whether the answer calls itself weak, and its strongest match."""
        body: Any = self._ask(text, as_of, PackFormat.SMP, ABSTENTION_BUDGET).body
        strengths = [item["relevance"] or 0.0 for item in body["items"]]
        return body["coverage"]["status"] in {"weak", "empty"}, max(strengths, default=0.0)

    def _ask(self, text: str, as_of: datetime | None, form: PackFormat, budget: int) -> Answer:
        stated = {"task": text, "format": form.value, "model": self.options.model, "token_budget": budget}
        if as_of:
            stated["as_of"] = as_of.isoformat()
        now = self.options.asked_at or timezone.now()
        return answer_context(
            self.caller, context_request(self.caller, ContextRequestSerializer.read(stated), now=now)
        )


# -- Writing -------------------------------------------------------------------------------------


def _write(caller: Caller, history: History) -> list[tuple[Turn, Outcome]]:
    """Write the turns as `POST /v1/memories/bulk` does.

    Raises: TurnRefused.
    """
    reader = MemorySerializer()
    stored: list[tuple[Turn, Outcome]] = []
    for start in range(0, len(history.turns), WRITTEN_AT_ONCE):
        portion = history.turns[start : start + WRITTEN_AT_ONCE]
        drafts = [memory_input(_validated(reader, history, turn)) for turn in portion]
        for turn, result in zip(portion, remember_many(caller, drafts, now=timezone.now()), strict=True):
            if isinstance(result, CortexError):
                raise TurnRefused(f"{history.name}: {turn.id}: {result.detail}")
            stored.append((turn, result))
    return stored


def _validated(reader: MemorySerializer, history: History, turn: Turn) -> Mapping[str, Any]:
    try:
        return dict(reader.run_validation(_body(history, turn)))
    except ValidationError as error:
        raise TurnRefused(f"{history.name}: {turn.id}: {error.detail}") from None


def _body(history: History, turn: Turn) -> dict[str, Any]:
    return {
        "content": f"{turn.speaker}: {turn.text}",
        "occurred_at": turn.said_at.isoformat(),
        "kind": Kind.EVENT.value,
        "thread": f"{history.name}-{turn.session}",
        "position": turn.position,
        "speaker": turn.speaker,
        "source": {"url": f"evaluation://{history.name}/{turn.id}"},
    }


def _make_searchable(vault: Vault) -> None:
    """Make the vectors that a slow embedder left for later, so that none is missing from the first question on."""
    for _ in work_off(vault.pk):
        pass
