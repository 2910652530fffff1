"""Entities with their aliases, conflicts to settle, and what is left of forgotten memories."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memories.access import Caller
from memories.admin.deciding import back, confirmation, decide, tell_erasures
from memories.admin.evidence import first_texts
from memories.admin.filters import SetOrNot
from memories.admin.linking import list_url, row_url
from memories.admin.scoping import VaultFilter, VaultScopedAdmin, chosen_vault
from memories.admin.texts import texts_by_id
from memories.models import Alias, Conflict, Decision, Entity, Memory, Mention, Tombstone, Vault
from memories.writing.forgetting import forget_entity
from memories.writing.inputs import EntityErasure
from memories.writing.resolving import KEEP_BOTH, resolve_conflict

# -- Entities ------------------------------------------------------------------------------------


@admin.register(Entity)
class EntityAdmin(VaultScopedAdmin):
    change_form_template = "admin/memories/entity/change_form.html"
    actions = ("forget",)
    list_display = ("name", "also_called", "memory_count", "created_at")
    ordering = ("name", "pk")
    search_fields = ("name",)
    search_says = "A name, an alias, or a ref."
    fields = ("ref", "vault", "name", "created_at")

    def has_forget_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("memories.delete_memory"))

    @admin.action(description="Forget…", permissions=["forget"])
    def forget(self, request: HttpRequest, entities: QuerySet[Entity]) -> HttpResponse | None:
        question = confirmation(
            self,
            request,
            entities,
            action="forget",
            title="Forget all memories about it for good?",
            warning="Every memory about it goes, with every copy of its text, and so do all its names. No way back.",
        )
        if question is not None:
            return question
        answers = decide(self, request, entities, _forget, did="forgotten", flag=DELETION).answers
        if answers:
            count = sum(len(erasure.forgotten) for erasure in answers)
            self.message_user(request, f"Memories forgotten: {count}.")
        tell_erasures(self, request, answers)
        return None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Entity], search_term: str
    ) -> tuple[QuerySet[Entity], bool]:
        vault, term = chosen_vault(request), search_term.strip()
        if vault is None or not term:
            return queryset, False
        called = Alias.objects.filter(vault_id=vault.pk, name__icontains=term).values("entity_id")
        return queryset.filter(Q(name__icontains=term) | Q(ref=term) | Q(pk__in=called)), False

    def load_companions(self, vault: Vault, rows: Sequence[Any]) -> None:
        pks = [row.pk for row in rows]
        names = aliases_of(vault.pk, pks)
        mentions = Mention.objects.filter(vault_id=vault.pk, entity_id__in=pks)
        counts = dict(mentions.values_list("entity_id").annotate(Count("pk")).order_by())
        for row in rows:
            row.other_names = [name for name in names.get(row.pk, []) if name != row.name]
            row.mentioned_in = counts.get(row.pk, 0)

    @admin.display(description="also called")
    def also_called(self, entity: Any) -> str:
        return ", ".join(entity.other_names)

    @admin.display(description="memories")
    def memory_count(self, entity: Any) -> SafeString:
        url = list_url(Memory, entity.vault_id, entity=entity.ref)
        return format_html('<a href="{}">{}</a>', url, entity.mentioned_in)

    def sections(self, request: HttpRequest, row: Entity) -> dict[str, Any]:
        mentions = Mention.objects.filter(vault_id=row.vault_id, entity_id=row.pk).values("memory_id")
        return {
            "aliases": aliases_of(row.vault_id, [row.pk]).get(row.pk, []),
            "memories": first_texts(Memory.objects.in_vault(row.vault_id).filter(pk__in=mentions)),
            "memories_url": list_url(Memory, row.vault_id, entity=row.ref),
        }


def _forget(caller: Caller, entity: Entity) -> EntityErasure:
    return forget_entity(caller, entity.ref, now=timezone.now())


def aliases_of(vault_id: str, entity_ids: Sequence[int]) -> dict[int, list[str]]:
    """Return entity id → its names, in alphabetical order."""
    found: dict[int, list[str]] = {}
    rows = Alias.objects.filter(vault_id=vault_id, entity_id__in=entity_ids).order_by("name", "pk")
    for entity, name in rows.values_list("entity_id", "name"):
        found.setdefault(entity, []).append(name)
    return found


# -- Conflicts -----------------------------------------------------------------------------------


class ResolvedFilter(SetOrNot):
    title = "state"
    parameter_name = "state"
    column = "resolved_at"
    words = ("open", "resolved")


@admin.register(Conflict)
class ConflictAdmin(VaultScopedAdmin):
    change_form_template = "admin/memories/conflict/change_form.html"
    actions = ("keep_left", "keep_right", "keep_both")
    list_display = ("ref", "left_text", "right_text", "reason", "detected_at", "resolution", "resolved_at")
    list_filter = (VaultFilter, ResolvedFilter, "detected_at")
    ordering = ("-detected_at", "-pk")
    search_fields = ("=ref", "reason")
    fields = ("ref", "vault", "reason", "detected_at", "resolution", ("resolved_at", "resolved_by"))

    def load_companions(self, vault: Vault, rows: Sequence[Any]) -> None:
        texts = texts_by_id(vault.pk, [pk for row in rows for pk in (row.left_id, row.right_id)])
        for row in rows:
            row.sides = (texts.get(row.left_id), texts.get(row.right_id))

    @admin.display(description="left")
    def left_text(self, conflict: Any) -> SafeString | str:
        return _side(conflict, 0)

    @admin.display(description="right")
    def right_text(self, conflict: Any) -> SafeString | str:
        return _side(conflict, 1)

    def sections(self, request: HttpRequest, row: Conflict) -> dict[str, Any]:
        pair = Memory.objects.in_vault(row.vault_id).filter(pk__in=(row.left_id, row.right_id))
        found = {memory.pk: memory for memory in pair.defer("term_hashes")}
        return {
            "sides": [("Left", found.get(row.left_id)), ("Right", found.get(row.right_id))],
            "now": timezone.now(),
        }

    def is_open_to(self, decision: str, row: Conflict) -> bool:
        return row.resolved_at is None

    @admin.action(description="Keep left", permissions=["decide"])
    def keep_left(self, request: HttpRequest, conflicts: QuerySet[Conflict]) -> HttpResponse | None:
        return self._keep(request, conflicts, "left_id")

    @admin.action(description="Keep right", permissions=["decide"])
    def keep_right(self, request: HttpRequest, conflicts: QuerySet[Conflict]) -> HttpResponse | None:
        return self._keep(request, conflicts, "right_id")

    @admin.action(description="Keep both", permissions=["decide"])
    def keep_both(self, request: HttpRequest, conflicts: QuerySet[Conflict]) -> HttpResponse | None:
        return self._keep(request, conflicts, None)

    def _keep(
        self, request: HttpRequest, conflicts: QuerySet[Conflict], side: str | None
    ) -> HttpResponse | None:
        rows = list(conflicts[:2])
        decide(self, request, conflicts, partial(_resolve, side), did="resolved")
        return back(self, request, rows)


def _resolve(side: str | None, caller: Caller, conflict: Conflict) -> Conflict:
    """Keep a side by its place in the row, or both."""
    keep = KEEP_BOTH
    if side is not None:
        kept = Memory.objects.in_vault(conflict.vault_id).filter(pk=getattr(conflict, side))
        keep = kept.values_list("ref", flat=True).first() or ""
    return resolve_conflict(caller, conflict.ref, keep=keep, now=timezone.now())


def _side(conflict: Any, place: int) -> SafeString | str:
    told = conflict.sides[place]
    if told is None:
        return "(gone)"
    url = row_url(Memory, conflict.vault_id, told["ref"])
    return format_html('<a href="{}">{}</a> {}', url, told["ref"], told["text"])


# -- Tombstones ----------------------------------------------------------------------------------


@admin.register(Tombstone)
class TombstoneAdmin(VaultScopedAdmin):
    list_display = ("ref", "forgotten_at", "actor")
    list_filter = (VaultFilter, "forgotten_at")
    ordering = ("-forgotten_at", "-pk")
    search_fields = ("=ref", "actor")
    fields = ("ref", "vault", "forgotten_at", "actor")


# -- Decisions -----------------------------------------------------------------------------------


@admin.register(Decision)
class DecisionAdmin(VaultScopedAdmin):
    """Who decided what and when; the words that a decision keeps stand on the page of its memory."""

    list_display = ("ref", "verb", "memory", "other", "actor", "at", "undone_at")
    list_filter = (VaultFilter, "verb", "at")
    ordering = ("-at", "-pk")
    search_fields = ("=ref", "=memory", "=other", "actor")
    fields = ("ref", "vault", "verb", ("memory", "other"), ("actor", "at"), ("undoes", "undone_at"))
