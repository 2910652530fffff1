"""Memories and the captures that they cite: to read, to search, and to decide about. Their text is never edited."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR, SEARCH_VAR, ChangeList
from django.db.models import CharField, Func, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat, StrIndex
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memories.access import Caller, operator_of
from memories.admin.actors import names_of
from memories.admin.beside import Finding, found_by_agents, sections_beside
from memories.admin.deciding import back, confirmation, decide, tell_erasures
from memories.admin.filters import BY_AGENTS, MEMORY_FILTERS, ProjectOfCapture, SearchMode, is_by_agents
from memories.admin.linking import list_url, row_url
from memories.admin.memorypage import drawn_chain, drawn_neighbours, open_beside
from memories.admin.scoping import VaultChangeList, VaultFilter, VaultScopedAdmin, chosen_vault
from memories.admin.texts import (
    EXCERPT_LENGTH,
    WITHHELD_TEXT,
    excerpt_of,
    excerpts_of,
    is_expired,
    memories_excerpted,
    texts_by_id,
    with_excerpt,
)
from memories.core.kinds import Flag, Status
from memories.decisions import decisions_beside
from memories.models import Capture, Conflict, Entity, Memory, Mention, ProposedSupersession, Source, Vault
from memories.reading import Step, chain_of, open_conflicts, sources_of
from memories.search import fulltext
from memories.writing.decisions import is_reversible
from memories.writing.forgetting import forget
from memories.writing.reviewing import approve, archive, decline, redact
from memories.writing.undoing import undo

__all__ = [
    "EXCERPT_LENGTH",
    "WITHHELD_TEXT",
    "CaptureAdmin",
    "MemoryAdmin",
    "excerpt_of",
    "excerpts_of",
    "is_expired",
    "memories_excerpted",
    "standing_of",
    "texts_by_id",
]

STEPS_SHOWN: Final = 50  # of a chain, before and behind the memory
_FOUND: Final = "cortex_found"  # on the request: what agents would find
_COLUMNS_OF_A_SEARCH: Final = ("ref", "excerpt", "answers", "standing", "project")
_WAYS: Final = {"fts": "words", "vector": "meaning", "entity": "a name", "recency": "a day"}
ROWS_SHOWN: Final = 100  # of what hangs on a row; the list shows the rest


def standing_of(memory: Memory, *, at: datetime) -> list[str]:
    """Name everything that keeps a memory out of packs, or that a reviewer should see."""
    holds = {
        "pending": memory.status == Status.PENDING,
        "archived": memory.status == Status.ARCHIVED,
        "superseded": memory.superseded_by is not None,
        "redacted": memory.redacted_at is not None,
        "expired": is_expired(memory, at=at),
        "withheld": memory.withheld,
        "no longer true": memory.valid_to is not None and memory.valid_to <= at,
        "not yet true": memory.true_since > at,
    }
    return [name for name, held in holds.items() if held] + [str(flag) for flag in memory.flags]


def as_badges(names: Sequence[str]) -> SafeString:
    return format_html_join(" ", '<span class="badge">{}</span>', ((name,) for name in names))


# -- Memories ------------------------------------------------------------------------------------


class MemoryChangeList(VaultChangeList):
    """The list of memories; in a search as agents do, each with how well it answers."""

    finding: Finding | None = None

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.finding = request.__dict__.get(_FOUND)
        hits = {hit.ref: hit for hit in self.finding.hits} if self.finding is not None else {}
        for row in self.result_list:
            row.hit = hits.get(row.ref)


@admin.register(Memory)
class MemoryAdmin(VaultScopedAdmin):
    change_form_template = "admin/memories/memory/change_form.html"
    change_list_template = "admin/memories/memory/change_list.html"
    actions = ("approve", "decline", "archive", "undo", "redact", "forget")
    list_display = ("ref", "excerpt", "standing", "kind", "layer", "author", "project", "captured_at")
    list_filter = (VaultFilter, *MEMORY_FILTERS)
    ordering = ("-captured_at", "-pk")
    search_fields = ("content",)  # that there is a search; get_search_results says how
    search_says = "Words of the text, best match first; else any part of it. Or a ref."
    fields = (
        "ref",
        "vault",
        ("kind", "layer"),
        ("status", "author"),
        ("project", "confidence"),
        ("occurred_at", "captured_at", "recorded_at"),
        ("valid_from", "valid_to", "expires_at"),
        "tags",
        ("thread", "position", "speaker"),
        "occurrences",
        "flags",
        ("reviewed_at", "reviewed_by", "redacted_at"),
        ("superseded_by", "superseded_at", "superseded_from"),
    )

    def get_list_display(self, request: HttpRequest) -> Any:
        asked = is_by_agents(request) and request.GET.get(SEARCH_VAR, "").strip()
        return _COLUMNS_OF_A_SEARCH if asked else self.list_display

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return MemoryChangeList

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        here = request.GET.copy()
        for name in (SearchMode.parameter_name, PAGE_VAR, ORDER_VAR):
            here.pop(name, None)
        modes = {
            "by_agents": is_by_agents(request),
            "by_words_url": f"?{here.urlencode()}",
            "by_agents_url": f"?{here.urlencode()}&{SearchMode.parameter_name}={BY_AGENTS}",
        }
        return super().changelist_view(request, modes | (extra_context or {}))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Memory]:
        return memories_excerpted(super().get_queryset(request))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Memory], search_term: str
    ) -> tuple[QuerySet[Memory], bool]:
        vault, term = chosen_vault(request), search_term.strip()
        if vault is None or not term:
            return queryset, False
        if is_by_agents(request):
            return _found_by_agents(request, vault, queryset, term), False
        if term.startswith("mem_") and (named := queryset.filter(ref=term)).exists():
            return named, False
        found = _ids_matching(vault, queryset, term)
        if not found:
            return queryset.filter(content__icontains=term), False
        matching = queryset.filter(pk__in=found)
        return (matching if ORDER_VAR in request.GET else matching.order_by(_in_order_of(found))), False

    def load_companions(self, vault: Vault, rows: Sequence[Any]) -> None:
        conflicted = open_conflicts(vault.pk, [row.pk for row in rows], projects=None)
        now = timezone.now()
        for row in rows:
            row.standing_names = standing_of(row, at=now) + ["conflict"] * (row.pk in conflicted)
            row.beginning = WITHHELD_TEXT if is_expired(row, at=now) else row.beginning

    @admin.display(description="text")
    def excerpt(self, memory: Any) -> str:
        return excerpt_of(memory)

    @admin.display(description="relevance, and why")
    def answers(self, memory: Any) -> SafeString | str:
        if memory.hit is None:
            return "–"
        share = f"{memory.hit.relevance:.2f}"
        ways = ", ".join(_WAYS.get(way, way) for way in memory.hit.retrievers)
        words = format_html_join(" ", "<mark>{}</mark>", ((word,) for word in memory.hit.words))
        meter = format_html('<meter min="0" max="1" value="{}" aria-label="relevance"></meter>', share)
        return format_html("{} {} <br>by {}<br>{}", share, meter, ways, words)

    @admin.display(description="standing")
    def standing(self, memory: Any) -> SafeString:
        return as_badges(memory.standing_names or ["current"])

    def sections(self, request: HttpRequest, row: Memory) -> dict[str, Any]:
        now = timezone.now()
        caller, expired = operator_of(row.vault), is_expired(row, at=now)
        entities = _entities_of(row)
        text = WITHHELD_TEXT if expired else row.content
        return {
            "text": text,
            "summary": None if expired else row.summary,
            "standing": standing_of(row, at=now),
            "sources": sources_of(row.vault_id, [row.pk]).get(row.pk, []),
            "entities": entities,
            "neighbours": drawn_neighbours(row, entities, text),
            "conflicts": _conflicts_of(row),
            "proposals": _proposals_about(row),
            "decided": _decisions_about(caller, row, at=now),
            "thread_url": list_url(Memory, row.vault_id, thread=row.thread) if row.thread else None,
            "beside": sections_beside(request, row),
            "here": row_url(Memory, row.vault_id, row.ref),
            **open_beside(request, caller, row),
            **_chain(row, at=now),
        }

    def is_open_to(self, decision: str, row: Memory) -> bool:
        waits = row.withheld or Flag.CONTRADICTS_USER in row.flags
        text_is_there = row.redacted_at is None and not is_expired(row, at=timezone.now())
        makes_a_difference = {
            "approve": text_is_there and (row.status != Status.APPROVED or waits),
            "decline": text_is_there and row.status == Status.PENDING,
            "archive": text_is_there and row.status != Status.ARCHIVED,
            "undo": text_is_there and is_reversible(row),
            "redact": text_is_there,
        }
        return makes_a_difference.get(decision, True)

    def has_forget_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("memories.delete_memory"))

    @admin.action(description="Approve", permissions=["decide"])
    def approve(self, request: HttpRequest, memories: QuerySet[Memory]) -> HttpResponse | None:
        return self._review(request, memories, approve, did="approved")

    @admin.action(description="Decline", permissions=["decide"])
    def decline(self, request: HttpRequest, memories: QuerySet[Memory]) -> HttpResponse | None:
        said = request.POST.get("reason", "").strip()
        return self._review(request, memories, partial(decline, reason=said), did="declined")

    @admin.action(description="Undo the last decision", permissions=["decide"])
    def undo(self, request: HttpRequest, memories: QuerySet[Memory]) -> HttpResponse | None:
        return self._review(request, memories, undo, did="put back")

    @admin.action(description="Archive", permissions=["decide"])
    def archive(self, request: HttpRequest, memories: QuerySet[Memory]) -> HttpResponse | None:
        return self._review(request, memories, archive, did="archived")

    @admin.action(description="Redact…", permissions=["decide"])
    def redact(self, request: HttpRequest, memories: QuerySet[Memory]) -> HttpResponse | None:
        question = confirmation(
            self,
            request,
            memories,
            action="redact",
            title="Redact for good?",
            warning="The text, its sources, entities and index entries go; the empty row stays. No way back.",
        )
        return question or self._review(request, memories, redact, did="redacted")

    @admin.action(description="Forget…", permissions=["forget"])
    def forget(self, request: HttpRequest, memories: QuerySet[Memory]) -> HttpResponse | None:
        question = confirmation(
            self,
            request,
            memories,
            action="forget",
            title="Forget for good?",
            warning="Every copy of the text goes, also from pins; a tombstone without content stays. No way back.",
        )
        if question is not None:
            return question
        verb = partial(by_ref, forget, timezone.now())
        erasures = decide(self, request, memories, verb, did="forgotten", flag=DELETION).answers
        tell_erasures(self, request, erasures)
        return None

    def _review(
        self, request: HttpRequest, memories: QuerySet[Memory], verb: Any, *, did: str
    ) -> HttpResponse | None:
        rows = list(memories[:2])
        decide(self, request, memories, partial(by_ref, verb, timezone.now()), did=did)
        return back(self, request, rows)


def by_ref(verb: Any, now: datetime, caller: Any, memory: Memory) -> Any:
    """Let a writing verb decide about a row of a list."""
    return verb(caller, memory.ref, now=now)


def _ids_matching(vault: Vault, queryset: QuerySet[Memory], term: str) -> list[int]:
    """Ask the text index; where it is full of what the filters refuse, ask again among what they keep."""
    hits = fulltext.lookup(term, vault_id=vault.pk, language=vault.language)
    if len(hits) == fulltext.LIMIT:
        kept = set(queryset.order_by().values_list("pk", flat=True))
        hits = fulltext.lookup(term, vault_id=vault.pk, language=vault.language, allowed=kept)
    return [hit.memory_id for hit in hits]


def _found_by_agents(
    request: HttpRequest, vault: Vault, queryset: QuerySet[Memory], term: str
) -> QuerySet[Memory]:
    """Keep what an agent would find, the best answer first; the page is told how well each answers."""
    finding = request.__dict__[_FOUND] = found_by_agents(operator_of(vault), term)
    refs = [hit.ref for hit in finding.hits]
    keys = dict(queryset.order_by().filter(ref__in=refs).values_list("ref", "pk"))
    ordered = [keys[ref] for ref in refs if ref in keys]
    matching = queryset.filter(pk__in=ordered)
    return matching.order_by(_in_order_of(ordered)) if ordered else matching


def _in_order_of(ids: Sequence[int]) -> Func:
    """Sort by the place in a list: one expression, since a thousand cases take a second to compile."""
    listed = f",{','.join(map(str, ids))},"
    key = Concat(Value(","), Cast("pk", CharField()), Value(","), output_field=CharField())
    return StrIndex(Value(listed), key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """A step of a chain with the beginning of its text."""

    step: Step
    text: str
    is_this: bool


def _decisions_about(caller: Caller, memory: Memory, *, at: datetime) -> list[dict[str, Any]]:
    told = decisions_beside(caller, memory, at=at)
    names = names_of(memory.vault_id, [each["actor"] for each in told])
    return [
        each | {"who": names[each["actor"]], "moment": datetime.fromisoformat(each["at"])} for each in told
    ]


def _chain(memory: Memory, *, at: datetime) -> dict[str, Any]:
    steps = chain_of(operator_of(memory.vault), memory)
    here = next((place for place, step in enumerate(steps) if step.ref == memory.ref), 0)
    first, last = max(0, here - STEPS_SHOWN), here + STEPS_SHOWN + 1
    shown = steps[first:last]
    texts = excerpts_of(memory.vault_id, [step.ref for step in shown])
    return {
        "drawn_chain": drawn_chain(memory, shown, texts, at=at) if shown else None,
        "chain": [
            ShownStep(step=step, text=texts.get(step.ref, ""), is_this=step.ref == memory.ref)
            for step in shown
        ],
        "older_steps": first,
        "newer_steps": max(0, len(steps) - last),
    }


def _entities_of(memory: Memory) -> list[Entity]:
    mentioned = Mention.objects.filter(vault_id=memory.vault_id, memory_id=memory.pk).values("entity_id")
    rows = Entity.objects.filter(vault_id=memory.vault_id, pk__in=mentioned).order_by("name", "pk")
    return list(rows[:ROWS_SHOWN])


def _conflicts_of(memory: Memory) -> list[dict[str, Any]]:
    """Return the conflicts of a memory, open ones first, each with the other side."""
    either = Q(left_id=memory.pk) | Q(right_id=memory.pk)
    rows = Conflict.objects.filter(either, vault_id=memory.vault_id).order_by(
        "resolved_at", "-detected_at", "pk"
    )
    conflicts = list(rows[:ROWS_SHOWN])
    others = {c.pk: c.right_id if c.left_id == memory.pk else c.left_id for c in conflicts}
    texts = texts_by_id(memory.vault_id, list(others.values()))
    return [{"conflict": c, "other": texts.get(others[c.pk])} for c in conflicts]


def _proposals_about(memory: Memory) -> list[dict[str, Any]]:
    either = Q(old_id=memory.pk) | Q(new_id=memory.pk)
    rows = ProposedSupersession.objects.filter(either, vault_id=memory.vault_id).order_by("at", "pk")
    proposals = list(rows[:ROWS_SHOWN])
    texts = texts_by_id(memory.vault_id, [pk for p in proposals for pk in (p.old_id, p.new_id)])
    return [{"proposal": p, "old": texts.get(p.old_id), "new": texts.get(p.new_id)} for p in proposals]


# -- Captures ------------------------------------------------------------------------------------


@admin.register(Capture)
class CaptureAdmin(VaultScopedAdmin):
    change_form_template = "admin/memories/capture/change_form.html"
    list_display = ("ref", "excerpt", "title", "source", "author", "project", "captured_at")
    list_filter = (VaultFilter, "author", ProjectOfCapture, "captured_at")
    ordering = ("-captured_at", "-pk")
    search_fields = ("=ref", "title", "url", "source", "content")
    fields = (
        "ref",
        "vault",
        "title",
        "url",
        ("source", "author"),
        "project",
        ("occurred_at", "captured_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Capture]:
        return with_excerpt(super().get_queryset(request))

    @admin.display(description="text")
    def excerpt(self, capture: Any) -> str:
        return excerpt_of(capture)

    def sections(self, request: HttpRequest, row: Capture) -> dict[str, Any]:
        citing = Source.objects.filter(vault_id=row.vault_id, capture_id=row.pk).values("memory_id")
        memories = Memory.objects.in_vault(row.vault_id).filter(pk__in=citing)
        return {"text": row.content, "memories": first_texts(memories)}


def first_texts(memories: QuerySet[Memory]) -> list[dict[str, str]]:
    """Return ref and beginning of the newest memories among these."""
    now = timezone.now()
    rows = memories_excerpted(memories).order_by("-captured_at", "-pk")[:ROWS_SHOWN]
    return [
        {"ref": row.ref, "text": WITHHELD_TEXT if is_expired(row, at=now) else excerpt_of(row)}
        for row in rows
    ]
